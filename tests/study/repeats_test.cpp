#include <gtest/gtest.h>

#include "study/study_world.hpp"

// Studies whose trials are trained with several seeds.

namespace hippo {
namespace {

using verb = study_command::verb;
using test::options_of;
using test::world;

constexpr auto three_seeds =
  "algorithm: random\nbudget: {trials: 2}\nrepeats: 3\neval_every: 12\n";

/// One seed of a trial has measured a step.
void hear(world& x, trial_no no, std::uint32_t seed_no, step_t at, bool is_part,
          double value = .5, step_t shared = 0) {
  study_effect::commit entry;
  trial_measured what{no,     node_id{seed_no}, at,     {{"accuracy", value}},
                      shared, seed_no,          is_part};
  entry.records.emplace_back(event_added{study_id{7}, "key", what});
  entry.news.emplace_back(std::move(what));
  x.journal_.push_back(std::move(entry));
  x.commit_all();
}

TEST(Repeats, AreToldToTheMerger) {
  world x{options_of(three_seeds)};
  EXPECT_EQ(x.core().registration().repeats.spec.seeds, 3u);
  EXPECT_EQ(x.core().registration().repeats.first_seed, 1u);
}

TEST(Repeats, APartIsNoResultYet) {
  world x{options_of(three_seeds)};
  x.commit_all();
  const auto end = x.core().registration().when.rungs.back();
  hear(x, 0, 2, end, true, .1);
  hear(x, 0, 3, end, true, .2);
  EXPECT_EQ(x.core().trials()[0].acked, 0u);
  EXPECT_FALSE(x.core().trials().best());
  EXPECT_EQ(x.core().status({}).view.finished, 0u);
  hear(x, 0, 1, end, false, .6);
  EXPECT_EQ(x.core().trials()[0].acked, end);
  EXPECT_EQ(x.core().trials().best()->value, .6);
  EXPECT_EQ(x.core().status({}).view.finished, 1u);
  EXPECT_EQ(x.core().trials()[0].results.size(), 1u);
  x.expect_replayed();
}

TEST(Repeats, StepsCountForEachSeed) {
  world x{options_of(three_seeds)};
  x.commit_all();
  const auto end = x.core().registration().when.rungs.back();
  EXPECT_EQ(x.core().status({}).view.asked_steps, 2 * 3 * end);
  EXPECT_EQ(x.core().trials().waiting_steps(), 2 * 3 * end);
  hear(x, 0, 1, end, true, .1, 4);
  hear(x, 0, 2, end, true, .1, end);
  hear(x, 0, 3, end, false, .1, 0);
  EXPECT_EQ(x.core().trials()[0].shared, end + 4);
  EXPECT_EQ(x.core().record().delivered_steps, 3 * end);
  EXPECT_EQ(x.core().record().shared_steps, end + 4);
  EXPECT_EQ(x.core().trials().waiting_steps(), 3 * end);
  x.expect_replayed();
}

TEST(Repeats, WhatIsToldAgainAfterARestartCountsOnce) {
  world before{options_of(three_seeds)};
  before.commit_all();
  const auto end = before.core().registration().when.rungs.back();
  hear(before, 0, 1, end, true, .1, 4);
  world x{before.stored_options()};
  x.begin_after(before);
  EXPECT_EQ(x.core().trials()[0].shared, 4u);
  hear(x, 0, 2, end, true, .1);
  hear(x, 0, 1, end, true, .1, end);
  hear(x, 0, 3, end, false, .1);
  EXPECT_EQ(x.core().trials()[0].shared, 4u);
  x.expect_replayed();
}

TEST(Repeats, ATrialOfWhichOneSeedWasHeardWasBegun) {
  world x{options_of(three_seeds)};
  x.commit_all();
  const auto end = x.core().registration().when.rungs.back();
  hear(x, 1, 2, end, true);
  x.command(verb::cancel, 0, 0, "enough");
  x.commit_all();
  EXPECT_EQ(x.core().status({}).view.trials, 1u);
  EXPECT_TRUE(x.has_row(1));
  EXPECT_FALSE(x.has_row(0));
  x.expect_replayed();
}

TEST(Repeats, OneSeedThatFailsEndsItsTrial) {
  world x{options_of(three_seeds)};
  x.commit_all();
  const auto end = x.core().registration().when.rungs.back();
  hear(x, 0, 1, end, true);
  x.fail_one(0, {errc::training_failed, "seed 2: broken"});
  x.commit_all();
  EXPECT_EQ(x.core().trials()[0].state, trial_state::failed);
  EXPECT_EQ(x.core().trials()[0].failure, "seed 2, at step 1: broken");
  EXPECT_EQ(x.dropped_, std::vector<trial_no>{0});
  hear(x, 0, 3, end, true); // was on its way
  EXPECT_EQ(x.core().trials()[0].state, trial_state::failed);
  x.expect_replayed();
}

TEST(Repeats, TrialsThatFailAlikeMayFailWithAnySeed) {
  world x{options_of(
    "algorithm: random\nbudget: {trials: 4}\nrepeats: 3\non_error: end\n")};
  x.commit_all();
  for (trial_no no = 0; no < 3; ++no) {
    x.fail_one(no, {errc::training_failed,
                    "seed " + std::to_string(1 + no) + ": in step 0: broken"});
    x.commit_all();
  }
  EXPECT_EQ(x.core().stored().state, study_phase::failed);
  EXPECT_EQ(x.core().stored().reason,
            "its first 3 trials failed alike: in step 0: broken");
  EXPECT_EQ(x.core().trials()[2].failure, "seed 3, in step 0: broken");
  x.expect_replayed();
}

TEST(Repeats, DamagedPartsAreFound) {
  const auto damage = [](trial_measured what) {
    world x{options_of(three_seeds)};
    x.commit_all();
    auto options = x.stored_options();
    options.history.push_back({9, study_id{7}, 0, std::move(what)});
    study_core again{options, {}};
    again.catch_up();
    return again.damage() ? again.damage()->message : std::string{};
  };
  world x{options_of(three_seeds)};
  const auto end = x.core().registration().when.rungs.back();
  const metrics values{{"accuracy", 1}};
  EXPECT_EQ(damage({0, node_id{1}, end, values, 0, 3, true}), "");
  EXPECT_EQ(damage({0, node_id{1}, end, values, 0, 4, true}),
            "event 9: trial 0 has no seed 4");
  EXPECT_EQ(damage({0, node_id{1}, end, values, 0, 0, false}),
            "event 9: trial 0 has no seed 0");
  EXPECT_EQ(damage({0, node_id{1}, end + 1, values, 0, 1, true}),
            "event 9: trial 0 is not to be measured next at step "
              + std::to_string(end + 1));
  EXPECT_EQ(damage({0, node_id{1}, end, values, end + 1, 1, true}),
            "event 9: trial 0 shares more steps than it has at step "
              + std::to_string(end));
}

} // namespace
} // namespace hippo
