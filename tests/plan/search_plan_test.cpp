#include "hippo/plan/search_plan.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "plan/workload_model.hpp"

namespace hippo {
namespace {

configuration lr(double x) { return {{"lr", form::constant(x)}}; }

TEST(Measuring, ListsMultiplesAndRungsUpToTheLast) {
  const measuring x{4, {3, 9}};
  std::vector<step_t> seen;
  for (auto t = x.next(0); t != 0; t = x.next(t))
    seen.push_back(t);
  EXPECT_EQ(seen, (std::vector<step_t>{3, 4, 8, 9}));
  for (step_t t = 0; t < 14; ++t)
    EXPECT_EQ(x.covers(t), std::count(seen.begin(), seen.end(), t) > 0) << t;
}

TEST(SearchPlan, SharesWhatIsEqualUntilItDiffers) {
  search_plan plan;
  const auto study = plan.add_study({1, {10}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}, {6, lr(.01)}});
  const auto b = plan.add_trial(study, {{0, lr(.1)}, {8, lr(.01)}});
  plan.ask(a, 10);
  plan.ask(b, 10);
  EXPECT_EQ(plan.figures().asked_steps, 20u);
  EXPECT_EQ(plan.figures().unique_steps, 14u); // 8 + 4 + 2
  EXPECT_EQ(plan.shared_steps(), (std::vector<step_t>{6, 6}));
  EXPECT_EQ(plan.size(), 4u); // root, one trunk, two children
}

TEST(SearchPlan, LanesShareNothing) {
  search_plan plan;
  const auto study = plan.add_study({1, {10}});
  for (std::uint64_t lane : {1, 2})
    plan.ask(plan.add_trial(study, {{0, lr(.1)}}, lane), 10);
  EXPECT_EQ(plan.figures().unique_steps, 20u);
  EXPECT_EQ(plan.shared_steps(), (std::vector<step_t>{0, 0}));
}

TEST(SearchPlan, StopsWhereTrialsLeavePauseOrAreMeasured) {
  search_plan plan;
  const auto study = plan.add_study({4, {3, 12}});
  plan.add_trial(study, {{0, lr(.1)}});
  plan.add_trial(study, {{0, lr(.1)}, {6, lr(.01)}});
  const std::vector<stop_point> want{{3, true, true},
                                     {4, true, false},
                                     {6, false, true},
                                     {8, true, false},
                                     {12, true, true}};
  EXPECT_EQ(plan.stops_of(1, 0, 12, 0), want);
  const std::vector<stop_point> tail{
    {8, true, false}, {9, false, true}, {10, false, true}};
  EXPECT_EQ(plan.stops_of(1, 7, 10, 2), tail);
}

TEST(SearchPlan, KeepsStatesWhereUnknownTrialsMayPart) {
  search_plan plan;
  const auto study = plan.add_study({12, {12}, {5, 7}});
  plan.ask(plan.add_trial(study, {{0, lr(.1)}}), 12);
  const std::vector<stop_point> want{
    {5, false, true}, {7, false, true}, {12, true, true}};
  EXPECT_EQ(plan.stops_of(1, 0, 12, 0), want);
  plan.begin_lease({7, {}, {}, {}, {{1, 0, 12, {}}}, {{12, true, true}}});
  plan.record({7, 4, {}, {}, {}, 0, 0, 0, 0, 4});
  plan.add_trial(plan.add_study({12, {12}, {3, 6}}), {{0, lr(.1)}});
  const auto added = plan.take_added_stops();
  ASSERT_EQ(added.size(), 2u); // 12 is measured by all; 3 is passed
  EXPECT_EQ(added[1].stop, (stop_point{6, false, true}));
}

TEST(SearchPlan, ATrialCanTakeAnotherWayFromWhereItWasAskedTo) {
  search_plan plan;
  const auto study = plan.add_study({2, {10}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}}, 0, true);
  plan.ask(a, 4);
  plan.reroute(a, {{0, lr(.1)}, {4, lr(.01)}});
  plan.ask(a, 8);
  EXPECT_EQ(plan.figures().unique_steps, 8u);
  EXPECT_EQ(plan.leaf_of(a), 2u);
  EXPECT_EQ(plan.node(2).begin, 4u);
  EXPECT_EQ(plan.node(2).wants.count(6), 1u);
  EXPECT_EQ(plan.node(1).wants.count(6), 0u);
  const auto b = plan.add_trial(study, {{0, lr(.1)}}, 3, true);
  plan.reroute(b, {{0, lr(.1)}, {4, lr(.01)}});
  EXPECT_EQ(plan.lane_of(b), 3u);
}

TEST(SearchPlan, StatesAreKeptWhereATrialMayTakeAnotherWay) {
  search_plan plan;
  const auto study = plan.add_study({4, {10}});
  plan.add_trial(study, {{0, lr(.1)}});
  EXPECT_EQ(plan.stops_of(1, 0, 10, 0),
            (std::vector<stop_point>{
              {4, true, false}, {8, true, false}, {10, true, true}}));
  plan.begin_lease({7, {}, {}, {}, {{1, 0, 10, {}}}, {{10, true, true}}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}}, 0, true);
  const auto added = plan.take_added_stops();
  ASSERT_EQ(added.size(), 3u);
  EXPECT_EQ(added[0].stop, (stop_point{4, true, true}));
  EXPECT_EQ(plan.stops_of(1, 0, 10, 0),
            (std::vector<stop_point>{
              {4, true, true}, {8, true, true}, {10, true, true}}));
  plan.ask(a, 4);
  plan.reroute(a, {{0, lr(.1)}, {4, lr(.01)}});
  EXPECT_EQ(plan.stops_of(plan.leaf_of(a), 4, 10, 0),
            (std::vector<stop_point>{{8, true, true}, {10, true, true}}));
}

TEST(SearchPlan, SaysWhatATrialWouldCost) {
  std::mt19937_64 rng{5};
  for (int round = 0; round < 200; ++round) {
    search_plan plan;
    const auto study = plan.add_study({1, {20}});
    for (int i = 0; i < 8; ++i)
      plan.cover(plan.add_trial(study, test::random_segments(rng, 20)),
                 1 + rng() % 20);
    const auto segments = test::random_segments(rng, 20);
    const step_t to = 1 + rng() % 20;
    const auto cost = plan.uncovered_steps(segments, to);
    const auto trial = plan.add_trial(study, segments);
    EXPECT_EQ(plan.uncovered_steps(trial, to), cost);
    const auto before = plan.figures().unique_steps;
    plan.cover(trial, to);
    EXPECT_EQ(plan.figures().unique_steps - before, cost);
    EXPECT_EQ(plan.uncovered_steps(segments, to), 0u);
  }
}

TEST(SearchPlan, TellsARunningLeaseOfNewStops) {
  search_plan plan;
  const auto study = plan.add_study({12, {12}});
  plan.ask(plan.add_trial(study, {{0, lr(.1)}}), 12);
  plan.begin_lease({7, {}, {}, {}, {{1, 0, 12, {}}}, {{12, true, true}}});
  plan.record({7, 5, {}, {}, {}, 0, 0, 0, 0, 5});
  plan.add_trial(study, {{0, lr(.1)}, {4, lr(.2)}}); // passed already
  EXPECT_TRUE(plan.take_added_stops().empty());
  plan.add_trial(study, {{0, lr(.1)}, {6, lr(.2)}});
  auto added = plan.take_added_stops();
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].lease, 7u);
  EXPECT_EQ(added[0].stop, (stop_point{6, false, true}));
  plan.add_trial(plan.add_study({8, {8}}), {{0, lr(.1)}});
  added = plan.take_added_stops();
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].stop, (stop_point{8, true, true}));
}

TEST(SearchPlan, DeliversInOrderAndOnlyWhatAStudyAsksFor) {
  search_plan plan;
  const auto every = plan.add_study({1, {2, 4}});
  const auto half = plan.add_study({2, {4}});
  const auto a = plan.add_trial(every, {{0, lr(.1)}});
  const auto b = plan.add_trial(half, {{0, lr(.1)}});
  plan.ask(a, 2);
  plan.ask(b, 4);
  plan.begin_lease({1, {}, {}, {}, {{1, 0, 4, {}}}, {}});
  const auto report = [&](step_t at) {
    plan.record({1, at, {{"m", double(at)}}, {}, {}, 0, 0, 0, 0, 1});
    std::string result;
    for (auto& d : plan.take_deliveries())
      result += (d.trial == a ? "a" : "b") + std::to_string(d.at);
    return result;
  };
  EXPECT_EQ(report(2), "b2"); // a waits for state 1 first
  EXPECT_EQ(report(1), "a1a2");
  EXPECT_EQ(report(3), "");
  EXPECT_EQ(report(4), "b4");
  plan.end_lease(1);
  EXPECT_FALSE(plan.record({1, 4, {{"m", 9}}, {}, {}, 0, 0, 0, 0, 1}));
}

TEST(SearchPlan, AnswersFromResultsAtOnce) {
  search_plan plan;
  plan.restore_node(1, 0, 0, lr(.1), 0);
  plan.restore_result(1, 3, {{"m", 7}});
  const auto study = plan.add_study({3, {3, 6}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}});
  plan.ask(a, 3);
  const auto known = plan.take_deliveries();
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].values.at("m"), 7);
  EXPECT_TRUE(plan.node(1).wants.empty());
  plan.ask(a, 6);
  EXPECT_EQ(plan.node(1).wants.count(6), 1u);
}

TEST(SearchPlan, DroppedTrialsWaitForNothing) {
  search_plan plan;
  const auto study = plan.add_study({1, {4}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}});
  const auto b = plan.add_trial(study, {{0, lr(.1)}, {2, lr(.2)}});
  plan.ask(a, 4);
  plan.ask(b, 4);
  plan.drop(a);
  EXPECT_EQ(plan.node(1).wants.size(), 2u); // b still needs 1 and 2
  EXPECT_EQ(plan.node(1).wants.at(1).live.size(), 1u);
  plan.drop(b);
  EXPECT_TRUE(plan.node(1).wants.empty());
  EXPECT_TRUE(plan.node(2).wants.empty());
}

TEST(SearchPlan, AFailureReachesAllThatPassThroughAndNobodyElse) {
  search_plan plan;
  const auto study = plan.add_study({2, {8}});
  const auto before = plan.add_trial(study, {{0, lr(.1)}, {3, lr(.5)}});
  const auto after = plan.add_trial(study, {{0, lr(.1)}, {6, lr(.2)}});
  const auto trunk = plan.add_trial(study, {{0, lr(.1)}});
  for (auto x : {before, after, trunk})
    plan.ask(x, 8);
  plan.fail(1, 4, {errc::diverged, "loss is nan"});
  std::set<trial_id> failed;
  for (auto& f : plan.take_failures())
    failed.insert(f.trial);
  EXPECT_EQ(failed, (std::set<trial_id>{after, trunk}));
  const auto late = plan.add_trial(study, {{0, lr(.1)}, {7, lr(.3)}});
  plan.ask(late, 8);
  EXPECT_EQ(plan.take_failures().size(), 1u);
  EXPECT_EQ(plan.node(1).wants.size(), 1u); // state 2, for `before`
}

struct SearchPlanProperties : testing::TestWithParam<unsigned> {};

TEST_P(SearchPlanProperties, FiguresEqualCountingDistinctPrefixes) {
  std::mt19937 rng{GetParam()};
  search_plan plan;
  const auto studies = 1 + rng() % 3;
  for (unsigned i = 0; i < studies; ++i)
    plan.add_study({1, {16}});
  std::vector<test::model_trial> trials(2 + rng() % 20);
  for (auto& x : trials) {
    x.study = static_cast<study_no>(rng() % studies);
    x.segments = test::random_segments(rng, 16);
    x.id = plan.add_trial(x.study, x.segments);
  }
  for (int i = 0; i < 40; ++i) { // ask bit by bit, in any order
    auto& x = trials[rng() % trials.size()];
    const auto to = 1 + rng() % 16;
    plan.ask(x.id, to);
    x.asked_to = std::max<step_t>(x.asked_to, to);
  }
  std::vector<const test::model_trial*> all;
  std::uint64_t asked = 0;
  for (auto& x : trials) {
    all.push_back(&x);
    asked += x.asked_to;
  }
  EXPECT_EQ(plan.figures().asked_steps, asked);
  EXPECT_EQ(plan.figures().unique_steps, test::distinct_steps(all));
  for (study_no s = 0; s < studies; ++s) {
    std::vector<const test::model_trial*> own;
    for (auto* x : all)
      if (x->study == s)
        own.push_back(x);
    EXPECT_EQ(plan.figures(s).unique_steps, test::distinct_steps(own));
  }
  // A step is shared if leaving the trial out leaves it in.
  const auto shared = plan.shared_steps();
  for (auto& x : trials) {
    std::vector<const test::model_trial*> others;
    for (auto* y : all)
      if (y != &x)
        others.push_back(y);
    const auto own
      = test::distinct_steps(all) - test::distinct_steps(others);
    EXPECT_EQ(shared[x.id], x.asked_to - own) << x.id;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SearchPlanProperties, testing::Range(0u, 200u));

} // namespace
} // namespace hippo
