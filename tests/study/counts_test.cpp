#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "study/study_world.hpp"

// The trials of a study that has ended are those that were begun, in whichever
// way it ended; docs/state.md and reports count no others.

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verb = study_command::verb;
using test::options_of;
using test::world;

constexpr auto four = "algorithm: random\nbudget: {trials: 4, seconds: 60}\n";

struct way_to_end {
  std::string name;
  std::string more; ///< of the study file
  study_phase state;
  std::function<void(world&)> end;
};

void PrintTo(const way_to_end& x, std::ostream* out) {
  *out << x.name;
}

const way_to_end ways[]{
  {"value", "algorithm: random\nstop_when: {value: 0}\n", study_phase::complete,
   [](world&) {}},
  {"time", four, study_phase::complete,
   [](world& x) {
     x.pass(61s);
     x.tell(study_core_event::time_passed{});
   }},
  {"device_time", "algorithm: random\nbudget: {trials: 4, device_hours: 1}\n",
   study_phase::complete,
   [](world& x) { x.tell(study_core_event::spent{study_limit::device_time}); }},
  {"cancel", four, study_phase::cancelled,
   [](world& x) { x.command(verb::cancel, 0, 0, "enough"); }},
  {"stop", four, study_phase::complete,
   [](world& x) {
     x.command(verb::stop);
     x.commit_all();
     x.tell(study_core_event::quiesced{});
   }},
  {"failures", "algorithm: random\nbudget: {failed: 1}\n", study_phase::failed,
   [](world& x) { x.fail_one(x.waiting().back()); }},
};

class Counts : public testing::TestWithParam<way_to_end> {};

TEST_P(Counts, ATrialThatWasNeverBegunIsNone) {
  const auto& way = GetParam();
  world x{options_of(way.more)};
  x.commit_all();
  const auto all = x.waiting();
  ASSERT_GT(all.size(), 2u);
  x.expect_counted();
  x.train_one(all[1]);
  x.commit_all();
  way.end(x);
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, way.state);
  ASSERT_TRUE(x.end_);
  x.expect_replayed();
  const auto begun = way.name == "failures" ? 2u : 1u;
  EXPECT_EQ(x.core().status(x.now_).view.trials, begun);
  EXPECT_EQ(x.core().record().trials.size(), begun);
  // A restored study has the same trials.
  world again{x.stored_options()};
  again.commit_all();
  EXPECT_EQ(again.core().status(x.now_).view.trials, begun);
}

TEST_P(Counts, NoneMayHaveBegun) {
  const auto& way = GetParam();
  if (way.name == "value" || way.name == "failures")
    GTEST_SKIP() << "ends by what a trial has measured";
  world x{options_of(way.more)};
  x.commit_all();
  way.end(x);
  x.commit_all();
  ASSERT_TRUE(x.end_);
  x.expect_replayed();
  EXPECT_EQ(x.core().record().trials.size(), 0u);
  EXPECT_EQ(x.core().status(x.now_).view.asked_steps, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ways, Counts, testing::ValuesIn(ways),
                         [](const auto& x) { return x.param.name; });

TEST(Counts, ATrialThatWasNeverBegunIsOneOnceTheStudyGoesOn) {
  world x{options_of(four)};
  x.commit_all();
  x.train_one(x.waiting().front());
  x.pass(61s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  ASSERT_EQ(x.core().status(x.now_).view.trials, 1u);
  x.command(verb::extend, 0, 0, R"({"seconds": 30})");
  x.commit_all();
  EXPECT_EQ(x.core().status(x.now_).view.trials, 4u);
  x.expect_replayed();
  for (auto all = x.waiting(); !all.empty(); all = x.waiting()) {
    x.train_one(all.back());
    x.commit_all();
  }
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(x.core().record().trials.size(), 4u);
  for (const auto& trial : x.core().record().trials)
    EXPECT_FALSE(trial.params.empty());
  x.expect_replayed();
}

TEST(Counts, AStateThatComesAfterTheEndIsOfATrial) {
  world x{options_of(four)};
  x.commit_all();
  const auto last = x.waiting().back();
  x.train_one(last); // on its way
  x.command(verb::cancel, 0, 0, "enough");
  std::swap(x.journal_.front(), x.journal_.back());
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, study_phase::cancelled);
  ASSERT_EQ(x.core().record().trials.size(), 1u);
  EXPECT_EQ(x.core().record().trials.front().id, last);
  EXPECT_EQ(x.core().record().trials.front().state, trial_state::cancelled);
  x.expect_replayed();
}

TEST(Counts, ATrialThatFailsAfterTheEndWasBegun) {
  world x{options_of("algorithm: grid\non_error: end\n")};
  x.commit_all();
  for (const auto no : x.waiting())
    x.fail_one(no);
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, study_phase::failed);
  EXPECT_EQ(x.core().record().trials.size(), 6u);
  EXPECT_EQ(x.core().trials().failed(), 3u);
  x.expect_replayed();
}

TEST(Counts, AClientsTrialsAreItsOwn) {
  world x{options_of("algorithm: client\n")};
  x.commit_all();
  for (int i = 0; i < 3; ++i)
    x.command(verb::ask);
  x.commit_all();
  x.command(verb::cancel);
  x.commit_all();
  EXPECT_EQ(x.core().record().trials.size(), 3u);
  x.expect_replayed();
}

} // namespace
} // namespace hippo
