#include "hippo/service/study/waiting.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

waiting_facts well() {
  waiting_facts result;
  result.trainers = 2;
  return result;
}

TEST(WaitingFor, NothingWhileAllIsWell) {
  EXPECT_EQ(waiting_for(well()), "");
}

TEST(WaitingFor, WhateverIsInTheWayIsSaidAndWhatIsMoreInTheWayFirst) {
  // Each of these bits is something in the way, the first ones more so.
  for (unsigned bits = 1; bits < 32; ++bits) {
    auto x = well();
    if (bits & 1)
      x.trouble = "database or disk is full";
    if (bits & 2)
      x.trainers = 0;
    if (bits & 4)
      x.stuck = "none can train it";
    if (bits & 8)
      x.hindered = "No space left on device";
    if (bits & 16) {
      x.sick = x.trainers;
      x.illness = "trainer 1 (a:1) failed";
    }
    const auto why = waiting_for(x);
    const auto* const expected = bits & 1   ? "database or disk is full"
                                 : bits & 2 ? "no trainer is connected"
                                 : bits & 4 ? "none can train it"
                                 : bits & 8 ? "No space left on device"
                                            : "sick";
    EXPECT_NE(why.find(expected), std::string::npos) << bits << ": " << why;
    x.state = study_phase::complete;
    EXPECT_EQ(waiting_for(x), "") << bits;
    x.state = study_phase::paused;
    x.reason = "2 trials have failed";
    EXPECT_EQ(waiting_for(x), "2 trials have failed") << bits;
  }
}

TEST(WaitingFor, OneHealthyTrainerIsEnough) {
  auto x = well();
  x.sick = 1;
  EXPECT_EQ(waiting_for(x), "");
}

TEST(WaitingFor, TrainersThatDoNotReturnAreSaid) {
  auto x = well();
  x.held_up = 1;
  x.hold_up = "trainer 1 (a:1) does not return since 40 s";
  EXPECT_EQ(waiting_for(x), "") << "the other one trains";
  x.held_up = 2;
  EXPECT_EQ(waiting_for(x), "all 2 trainers are held up: " + x.hold_up);
  x.held_up = x.sick = 1;
  EXPECT_EQ(waiting_for(x),
            "every trainer is sick or held up: " + x.hold_up);
  x.trainers = 1;
  x.sick = 0;
  EXPECT_EQ(waiting_for(x), "the only trainer is held up: " + x.hold_up);
}

class WaitingNotes : public testing::Test {
protected:
  strings at(std::chrono::seconds when, const std::string& why) {
    return notes.note({{"a", why}}, waiting_notes::time_point{when});
  }

  waiting_notes notes;
};

TEST_F(WaitingNotes, TellsOnceOfWhatHasLasted) {
  EXPECT_EQ(at(0s, "no trainer"), strings{});
  EXPECT_EQ(notes.shown("a"), "");
  EXPECT_EQ(at(4s, "no trainer"), strings{});
  EXPECT_EQ(at(5s, "no trainer"), strings{"study a waits: no trainer"});
  EXPECT_EQ(notes.shown("a"), "no trainer");
  EXPECT_EQ(at(1000s, "no trainer"), strings{});
  EXPECT_EQ(at(1001s, ""), strings{"study a goes on"});
  EXPECT_EQ(notes.shown("a"), "");
  EXPECT_EQ(at(1002s, ""), strings{});
}

TEST_F(WaitingNotes, SaysNothingOfWhatPassesAtOnce) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(at(std::chrono::seconds{8 * i}, "no trainer"), strings{});
    EXPECT_EQ(at(std::chrono::seconds{8 * i + 4}, ""), strings{});
  }
}

TEST_F(WaitingNotes, WhateverChangesAllTheTimeIsToldWithinTenSecondsAndRarely) {
  std::size_t told = 0;
  for (int i = 0; i < 600; ++i) {
    told += at(std::chrono::seconds{i}, "file " + std::to_string(i)).size();
    if (i == 10) {
      EXPECT_EQ(told, 1u);
    }
  }
  EXPECT_EQ(told, 10u);
}

TEST_F(WaitingNotes, AStudyThatIsNotThereAnyMoreGoesOnOnce) {
  at(0s, "x");
  at(9s, "x");
  EXPECT_EQ(notes.note({}, waiting_notes::time_point{10s}),
            strings{"study a goes on"});
  EXPECT_EQ(notes.note({}, waiting_notes::time_point{11s}), strings{});
}

} // namespace
} // namespace hippo
