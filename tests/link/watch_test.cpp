#include "hippo/net/link/link_watch.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verdict = link_watch::verdict;

struct LinkWatchTest : testing::Test {
  link_limits limits{.silent_beats_max = 6, .hello_beats_max = 3,
                     .end_beats_max = 2};
  link_watch watch{limits};

  /// Returns the first verdict of another kind than `usual`, and when.
  std::pair<verdict, int> first_other(bool any_unsent, bool receives,
                                      verdict usual = verdict::fine) {
    for (int i = 1; i < 100; ++i) {
      if (receives)
        watch.note_received();
      if (const auto x = watch.beat(any_unsent); x != usual)
        return {x, i};
    }
    return {usual, 100};
  }
};

TEST_F(LinkWatchTest, WhoDoesNotSayWhoItIsIsLateHoweverMuchItSends) {
  EXPECT_EQ(first_other(false, true), std::pair(verdict::late, 4));
}

TEST_F(LinkWatchTest, WhoIsSilentIsNoticed) {
  watch.note_hello();
  EXPECT_EQ(first_other(false, false), std::pair(verdict::silent, 7));
}

TEST_F(LinkWatchTest, WhoTakesNothingIsNoticedHoweverMuchItSends) {
  watch.note_hello();
  EXPECT_EQ(first_other(true, true), std::pair(verdict::stuck, 7));
}

TEST_F(LinkWatchTest, WhoTakesALittleInTimeMayGoOn) {
  watch.note_hello();
  for (int i = 0; i < 50; ++i) {
    if (i % 6 == 0)
      watch.note_taken();
    watch.note_received();
    EXPECT_EQ(watch.beat(true), verdict::fine);
  }
}

TEST_F(LinkWatchTest, SpeaksInEveryBeatInWhichNothingElseWasSaid) {
  watch.note_hello();
  EXPECT_EQ(watch.beat(false), verdict::fine); // not before the first word
  watch.note_sent();
  EXPECT_EQ(watch.beat(false), verdict::fine);
  EXPECT_EQ(watch.beat(false), verdict::speak);
  watch.note_sent();
  EXPECT_EQ(watch.beat(false), verdict::fine);
}

TEST_F(LinkWatchTest, WhoDoesNotCloseAfterUsIsNoticed) {
  watch.note_hello();
  watch.note_finishing();
  EXPECT_EQ(first_other(false, true), std::pair(verdict::over, 3));
}

TEST(LinkLimits, FollowHowLongAPeerMayBeSilent) {
  const auto usual = limits_for(15s);
  EXPECT_EQ(usual.beat, 1s);
  EXPECT_EQ(usual.silent_beats_max, 30u);
  const auto fast = limits_for(1s);
  EXPECT_EQ(fast.beat, 250ms);
  EXPECT_EQ(fast.silent_beats_max, 8u);
}

TEST_F(LinkWatchTest, WhoDoesNotGoOnWithAMessageIsSlow) {
  watch.note_hello();
  for (int i = 1; i < 20; ++i) {
    watch.note_received(); // now and then a byte
    const auto x = watch.beat(false, 100);
    ASSERT_EQ(x, i <= 6 ? verdict::fine : verdict::slow) << i;
  }
}

TEST_F(LinkWatchTest, AMessageMayComeSlowlyAsLongAsItComes) {
  watch.note_hello();
  const auto rate = limits.message_bytes_per_second_min;
  for (std::size_t i = 1; i < 200; ++i) {
    watch.note_received();
    ASSERT_EQ(watch.beat(false, rate * i), verdict::fine) << i;
  }
  EXPECT_EQ(watch.beats_begun(), 199u);
  watch.note_message();
  EXPECT_EQ(watch.beats_begun(), 0u);
  for (int i = 0; i < 20; ++i) {
    watch.note_received();
    ASSERT_EQ(watch.beat(false), verdict::fine) << "there is none now";
  }
}

} // namespace
} // namespace hippo
