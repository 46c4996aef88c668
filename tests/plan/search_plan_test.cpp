#include "hippo/plan/search_plan.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plan/workload_model.hpp"

namespace hippo {
namespace {

configuration lr(double x) { return {{"lr", form::constant(x)}}; }

/// A lease of that number on node 1.
lease lease_to(std::uint64_t number, step_t end) {
  lease result;
  result.number = lease_id{number};
  result.stages = {{node_id{1}, 0, end, {}}};
  result.stops = {{end, true, true}};
  return result;
}

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
  EXPECT_EQ(plan.size(), 4u); // root, one trunk, two children
}

TEST(SearchPlan, LanesShareNothing) {
  search_plan plan;
  const auto study = plan.add_study({1, {10}});
  for (std::uint64_t strand : {1, 2})
    plan.ask(plan.add_trial(study, {{0, lr(.1)}}, strand), 10);
  EXPECT_EQ(plan.figures().unique_steps, 20u);
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
  EXPECT_EQ(plan.stops_of(node_id{1}, 0, 12, 0), want);
  const std::vector<stop_point> tail{
    {8, true, false}, {9, false, true}, {10, false, true}};
  EXPECT_EQ(plan.stops_of(node_id{1}, 7, 10, 2), tail);
}

TEST(SearchPlan, KeepsStatesWhereUnknownTrialsMayPart) {
  search_plan plan;
  const auto study = plan.add_study({12, {12}, {5, 7}});
  plan.ask(plan.add_trial(study, {{0, lr(.1)}}), 12);
  const std::vector<stop_point> want{
    {5, false, true}, {7, false, true}, {12, true, true}};
  EXPECT_EQ(plan.stops_of(node_id{1}, 0, 12, 0), want);
  plan.begin_lease(lease_to(7, 12));
  plan.record({lease_id{7}, 4, {}, {}, {}, 0, 0, 0, 0, 4});
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
  EXPECT_EQ(plan.leaf_of(a), node_id{2});
  EXPECT_EQ(plan.node(node_id{2}).begin, 4u);
  EXPECT_EQ(plan.node(node_id{2}).wants.count(6), 1u);
  EXPECT_EQ(plan.node(node_id{1}).wants.count(6), 0u);
  const auto b = plan.add_trial(study, {{0, lr(.1)}}, 3, true);
  plan.reroute(b, {{0, lr(.1)}, {4, lr(.01)}});
  EXPECT_EQ(plan.strand_of(b), 3u);
}

TEST(SearchPlan, StatesAreKeptWhereATrialMayTakeAnotherWay) {
  search_plan plan;
  const auto study = plan.add_study({4, {10}});
  plan.add_trial(study, {{0, lr(.1)}});
  EXPECT_EQ(plan.stops_of(node_id{1}, 0, 10, 0),
            (std::vector<stop_point>{
              {4, true, false}, {8, true, false}, {10, true, true}}));
  plan.begin_lease(lease_to(7, 10));
  const auto a = plan.add_trial(study, {{0, lr(.1)}}, 0, true);
  const auto added = plan.take_added_stops();
  ASSERT_EQ(added.size(), 3u);
  EXPECT_EQ(added[0].stop, (stop_point{4, true, true}));
  EXPECT_EQ(plan.stops_of(node_id{1}, 0, 10, 0),
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
  plan.begin_lease(lease_to(7, 12));
  plan.record({lease_id{7}, 5, {}, {}, {}, 0, 0, 0, 0, 5});
  plan.add_trial(study, {{0, lr(.1)}, {4, lr(.2)}}); // passed already
  EXPECT_TRUE(plan.take_added_stops().empty());
  plan.add_trial(study, {{0, lr(.1)}, {6, lr(.2)}});
  auto added = plan.take_added_stops();
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].lease, lease_id{7});
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
  plan.begin_lease(lease_to(1, 4));
  const auto report = [&](step_t at) {
    plan.record({lease_id{1}, at, {{"m", double(at)}}, {}, {}, 0, 0, 0, 0, 1});
    std::string result;
    for (auto& d : plan.take_deliveries())
      result += (d.trial == a ? "a" : "b") + std::to_string(d.at);
    return result;
  };
  EXPECT_EQ(report(2), "b2"); // a waits for state 1 first
  EXPECT_EQ(report(1), "a1a2");
  EXPECT_EQ(report(3), "");
  EXPECT_EQ(report(4), "b4");
  plan.end_lease(lease_id{1});
  EXPECT_FALSE(
    plan.record({lease_id{1}, 4, {{"m", 9}}, {}, {}, 0, 0, 0, 0, 1}));
}

/// What training leads to a node: everything that decides a state there.
std::string way_to(const search_plan& plan, node_id id) {
  std::string result;
  for (; id != root_node; id = plan.node(id).parent)
    result += std::to_string(plan.node(id).begin) + '/'
              + std::to_string(plan.node(id).strand) + '/'
              + to_text(plan.config_of(id)) + '|';
  return result;
}

TEST(SearchPlan, IdentitiesAreEqualIfAndOnlyIfTheWaysAre) {
  std::map<std::uint64_t, std::string> way_of;
  std::map<std::string, std::uint64_t> identity_of;
  std::mt19937_64 rng{11};
  for (int round = 0; round < 300; ++round) {
    search_plan plan;
    const auto study = plan.add_study({1, {20}});
    for (int i = 0; i < 12; ++i)
      plan.add_trial(study, test::random_segments(rng, 20), rng() % 3);
    for (auto id : id_range(node_id{1}, plan.size())) {
      const auto way = way_to(plan, id);
      const auto identity = plan.node(id).identity;
      EXPECT_EQ(way_of.try_emplace(identity, way).first->second, way);
      EXPECT_EQ(identity_of.try_emplace(way, identity).first->second,
                identity);
    }
  }
  EXPECT_GT(way_of.size(), 1000u);
}

TEST(SearchPlan, ARestoredNodeHasTheIdentityThatItHad) {
  std::mt19937_64 rng{12};
  search_plan plan;
  const auto study = plan.add_study({1, {20}});
  for (int i = 0; i < 50; ++i)
    plan.add_trial(study, test::random_segments(rng, 20), i % 2);
  search_plan again;
  for (auto id : id_range(node_id{1}, plan.size())) {
    const auto& x = plan.node(id);
    again.restore_node(id, x.parent, x.begin, plan.config_of(id), x.strand);
    EXPECT_EQ(again.node(id).identity, x.identity);
  }
}

stop_report late_report(const search_plan& plan, node_id node, step_t at) {
  stop_report x;
  x.lease = lease_id{99};
  x.at = at;
  x.values = {{"m", 7}};
  x.saved = checkpoint{checkpoint_name(node, at, lease_id{99}), 1, 1};
  x.node = node;
  x.identity = plan.node(node).identity;
  return x;
}

TEST(SearchPlan, AdoptsWhatBelongsToItAndIsNotThereYet) {
  search_plan plan;
  const auto study = plan.add_study({2, {8}});
  plan.ask(plan.add_trial(study, {{0, lr(.1)}, {4, lr(.2)}}), 8);
  const auto first = plan.adopt(late_report(plan, node_id{1}, 2));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->node, node_id{1});
  EXPECT_TRUE(first->measured);
  EXPECT_TRUE(first->saved);
  EXPECT_EQ(plan.take_deliveries().size(), 1u);
  EXPECT_EQ(plan.take_changed().count(node_id{1}), 1u);
  auto other = late_report(plan, node_id{1}, 2);
  other.values["m"] = 8;
  other.saved->file = "other";
  const auto second = plan.adopt(other);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->measured);
  EXPECT_FALSE(second->saved);
  EXPECT_EQ(plan.result_of(node_id{1}, 2).at("m"), 7);
  EXPECT_EQ(plan.node(node_id{1}).checkpoints.at(2).file,
            checkpoint_name(node_id{1}, 2, lease_id{99}));
  EXPECT_TRUE(plan.take_deliveries().empty());
}

TEST(SearchPlan, WhatIsAdoptedIsNoLongerWaitedFor) {
  search_plan plan;
  const auto study = plan.add_study({2, {8}});
  plan.ask(plan.add_trial(study, {{0, lr(.1)}, {4, lr(.2)}}), 8);
  for (step_t at : {2, 4, 6, 8}) {
    EXPECT_TRUE(plan.is_waiting(study));
    EXPECT_TRUE(plan.adopt(late_report(plan, node_id{at <= 4 ? 1u : 2u}, at)));
  }
  EXPECT_FALSE(plan.is_waiting(study));
}

TEST(SearchPlan, AdoptsNothingThatBelongsElsewhere) {
  search_plan plan;
  const auto study = plan.add_study({2, {8}});
  plan.ask(plan.add_trial(study, {{0, lr(.1)}, {4, lr(.2)}}), 8);
  const auto refused = [&](auto spoil) {
    auto x = late_report(plan, node_id{2}, 6);
    spoil(x);
    EXPECT_FALSE(plan.adopt(x));
    EXPECT_TRUE(plan.take_deliveries().empty());
    EXPECT_TRUE(plan.node(node_id{2}).results.empty());
  };
  refused([](stop_report& x) { ++x.identity; });
  refused([](stop_report& x) { x.identity = 0; });
  refused([](stop_report& x) { x.node = node_id{1}; });
  refused([](stop_report& x) { x.node = node_id{3}; });
  refused([](stop_report& x) { x.node = node_id{UINT64_MAX}; });
  refused([](stop_report& x) {
    x.node = root_node;
    x.identity = 0;
  });
  refused([](stop_report& x) { x.at = 4; }); // that is the parent's
  EXPECT_TRUE(plan.adopt(late_report(plan, node_id{2}, 5)));
}

// Reports of one plan, sent to another one in which the same numbers mean other
// nodes: what is adopted is what training alone gives there.
TEST(SearchPlan, WhatIsAdoptedIsRightInWhateverPlan) {
  std::mt19937_64 rng{13};
  int adopted = 0;
  for (int round = 0; round < 300; ++round) {
    search_plan from, to;
    std::vector<std::vector<segment>> known;
    for (auto* plan : {&from, &to}) {
      const auto study = plan->add_study({1, {12}});
      for (int i = 0; i < 6; ++i) {
        if (plan == &from || rng() % 2 == 0)
          known.push_back(test::random_segments(rng, 12));
        plan->add_trial(study, known[rng() % known.size()]);
      }
    }
    for (auto id : id_range(node_id{1}, from.size())) {
      const auto x = late_report(from, id, from.node(id).begin + 1);
      if (!to.adopt(x))
        continue;
      ++adopted;
      EXPECT_EQ(way_to(to, id), way_to(from, id));
    }
  }
  EXPECT_GT(adopted, 100);
}

TEST(SearchPlan, AnswersFromResultsAtOnce) {
  search_plan plan;
  plan.restore_node(node_id{1}, root_node, 0, lr(.1), 0);
  plan.restore_result(node_id{1}, 3, {{"m", 7}});
  const auto study = plan.add_study({3, {3, 6}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}});
  plan.ask(a, 3);
  const auto known = plan.take_deliveries();
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].values.at("m"), 7);
  EXPECT_TRUE(plan.node(node_id{1}).wants.empty());
  plan.ask(a, 6);
  EXPECT_EQ(plan.node(node_id{1}).wants.count(6), 1u);
}

TEST(SearchPlan, DroppedTrialsWaitForNothing) {
  search_plan plan;
  const auto study = plan.add_study({1, {4}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}});
  const auto b = plan.add_trial(study, {{0, lr(.1)}, {2, lr(.2)}});
  plan.ask(a, 4);
  plan.ask(b, 4);
  plan.drop(a);
  EXPECT_EQ(plan.node(node_id{1}).wants.size(), 2u); // b still needs 1 and 2
  EXPECT_EQ(plan.node(node_id{1}).wants.at(1).live.size(), 1u);
  plan.drop(b);
  EXPECT_TRUE(plan.node(node_id{1}).wants.empty());
  EXPECT_TRUE(plan.node(node_id{2}).wants.empty());
}

/// Leases node 1 up to `end` and reports a loss at state `at`.
void measure_state(search_plan& plan, step_t at, step_t end) {
  lease running;
  running.number = lease_id{1};
  running.stages = {{node_id{1}, 0, end, {}}};
  plan.begin_lease(running);
  stop_report report;
  report.lease = lease_id{1};
  report.at = at;
  report.values = {{"loss", 1}};
  plan.record(report);
  plan.end_lease(lease_id{1});
}

TEST(SearchPlan, AFailureReachesAllThatPassThroughAndNobodyElse) {
  search_plan plan;
  const auto study = plan.add_study({2, {8}});
  const auto before = plan.add_trial(study, {{0, lr(.1)}, {3, lr(.5)}});
  const auto after = plan.add_trial(study, {{0, lr(.1)}, {6, lr(.2)}});
  const auto trunk = plan.add_trial(study, {{0, lr(.1)}});
  for (auto x : {before, after, trunk})
    plan.ask(x, 8);
  plan.fail(node_id{1}, 4, {errc::training_failed, "out of memory"});
  EXPECT_TRUE(plan.take_failures().empty()) << "state 2 comes first";
  EXPECT_EQ(plan.node(node_id{1}).wants.size(), 1u)
    << "nothing beyond is waited for";
  measure_state(plan, 2, 2);
  EXPECT_EQ(plan.take_deliveries().size(), 3u);
  std::set<trial_id> failed;
  for (auto& f : plan.take_failures())
    failed.insert(f.trial);
  EXPECT_EQ(failed, (std::set<trial_id>{after, trunk}));
  const auto late = plan.add_trial(study, {{0, lr(.1)}, {7, lr(.3)}});
  plan.ask(late, 8);
  EXPECT_EQ(plan.take_deliveries().size(), 1u);
  EXPECT_EQ(plan.take_failures().size(), 1u);
}

/// What a trial gets and where it fails is the same whether the failure was
/// known before it asked, and in however many parts it asks.
TEST(SearchPlan, AKnownFailureChangesNothingOfWhatATrialGetsBefore) {
  for (const bool is_known : {false, true})
    for (const bool in_parts : {false, true}) {
      search_plan plan;
      const auto study = plan.add_study({2, {8}});
      const auto other = plan.add_trial(study, {{0, lr(.1)}});
      plan.cover(other, 8); // so that there is a node
      if (is_known)
        plan.fail(node_id{1}, 6, {errc::training_failed, "no"});
      const auto trial = plan.add_trial(study, {{0, lr(.1)}, {7, lr(.2)}});
      if (in_parts)
        plan.ask(trial, 4);
      else
        plan.ask(trial, 8);
      if (!is_known)
        plan.fail(node_id{1}, 6, {errc::training_failed, "no"});
      for (auto node : id_range(node_id{1}, plan.size()))
        for (const auto& kvp : plan.node(node).wants)
          EXPECT_LT(kvp.first, 6u) << "what cannot be reached is not trained";
      measure_state(plan, 2, 4);
      measure_state(plan, 4, 4);
      if (in_parts) {
        EXPECT_TRUE(plan.take_failures().empty());
        plan.ask(trial, 8);
      }
      EXPECT_EQ(plan.take_deliveries().size(), 2u);
      const auto failed = plan.take_failures();
      ASSERT_EQ(failed.size(), 1u);
      EXPECT_EQ(failed[0].at, 6u);
      EXPECT_FALSE(plan.is_waiting(study));
    }
}

TEST(SearchPlan, WhatIsRetriedWaitsAgainForWhatItHasNotGot) {
  search_plan plan;
  const auto study = plan.add_study({2, {8}});
  const auto trial = plan.add_trial(study, {{0, lr(.1)}});
  const auto other = plan.add_trial(study, {{0, lr(.1)}});
  plan.ask(trial, 8);
  plan.ask(other, 8);
  plan.fail(node_id{1}, 4, {errc::fails_everywhere, "no"});
  plan.forget_passing_failures();
  measure_state(plan, 2, 2);
  ASSERT_EQ(plan.take_failures().size(), 2u);
  EXPECT_EQ(plan.take_deliveries().size(), 2u);
  plan.retry(trial);
  plan.go_on(trial);
  EXPECT_TRUE(plan.take_failures().empty());
  EXPECT_TRUE(plan.take_deliveries().empty()) << "it has got state 2";
  EXPECT_EQ(plan.node(node_id{1}).wants.size(), 3u); // 4, 6, 8
  for (const step_t at : {4, 6})
    measure_state(plan, at, 8);
  EXPECT_EQ(plan.take_deliveries().size(), 2u);
  EXPECT_TRUE(plan.diverge(node_id{1}, 8, {errc::diverged, "nan"}));
  ASSERT_EQ(plan.take_failures().size(), 1u);
  plan.retry(trial);
  plan.go_on(trial);
  EXPECT_TRUE(plan.take_failures().empty());
  measure_state(plan, 8, 8);
  EXPECT_EQ(plan.take_deliveries().size(), 1u);
  EXPECT_FALSE(plan.is_waiting(study)) << "the other one has failed for good";
}

/// Leases node 1 up to `end` and reports a loss at state 1.
void measure_first_state(search_plan& plan, step_t end) {
  lease running;
  running.number = lease_id{1};
  running.stages = {{node_id{1}, 0, end, {}}};
  plan.begin_lease(running);
  stop_report report;
  report.lease = lease_id{1};
  report.at = 1;
  report.values = {{"loss", 1}};
  plan.record(report);
}

TEST(SearchPlan, WhereMeasuringDivergesOnlyThoseWhoMeasureFail) {
  search_plan plan;
  const auto often = plan.add_study({1, {6}});
  const auto seldom = plan.add_study({3, {6}});
  const auto a = plan.add_trial(often, {{0, lr(.1)}});
  const auto b = plan.add_trial(seldom, {{0, lr(.1)}});
  plan.ask(a, 6);
  plan.ask(b, 6);
  const error why{errc::diverged, "loss is nan"};
  EXPECT_TRUE(plan.diverge(node_id{1}, 2, why));
  EXPECT_TRUE(plan.take_failures().empty()) << "1 comes first";
  measure_first_state(plan, 1);
  EXPECT_EQ(plan.take_deliveries().size(), 1u);
  const auto failed = plan.take_failures();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].trial, a);
  EXPECT_EQ(failed[0].at, 2u);
  EXPECT_EQ(failed[0].reason.message, why.message);
  // What is left is the other one's, and nobody looks at state 2 again.
  EXPECT_EQ(plan.node(node_id{1}).wants.size(), 2u);
  EXPECT_FALSE(plan.is_waiting(often));
  EXPECT_TRUE(plan.is_waiting(seldom));
  for (const auto& stop : plan.stops_of(node_id{1}, 0, 6, 0))
    EXPECT_NE(stop.at, 2u);
  EXPECT_FALSE(plan.diverge(node_id{1}, 2, why)) << "known";
  EXPECT_TRUE(plan.diverge(node_id{1}, 1, why)) << "the result came first";
  EXPECT_TRUE(plan.take_failures().empty());
}

/// Else who asks further than a state that has both would wait for ever.
TEST(SearchPlan, AResultThatComesAfterADivergenceDoesNotCount) {
  search_plan plan;
  const auto study = plan.add_study({1, {6}});
  const auto trial = plan.add_trial(study, {{0, lr(.1)}});
  plan.ask(trial, 1);
  EXPECT_TRUE(plan.diverge(node_id{1}, 1, {errc::diverged, "loss is nan"}));
  EXPECT_EQ(plan.take_failures().size(), 1u);
  const auto late = plan.adopt(late_report(plan, node_id{1}, 1));
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->measured);
  const auto other = plan.add_trial(study, {{0, lr(.1)}});
  plan.ask(other, 1);
  plan.ask(other, 6);
  EXPECT_TRUE(plan.take_deliveries().empty());
  EXPECT_EQ(plan.take_failures().size(), 1u);
}

TEST(SearchPlan, WhoComesToADivergedStateLaterFailsThere) {
  search_plan plan;
  const auto study = plan.add_study({1, {6}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}});
  const auto b = plan.add_trial(study, {{0, lr(.1)}, {4, lr(.2)}});
  plan.ask(a, 1);
  measure_first_state(plan, 2);
  EXPECT_TRUE(plan.diverge(node_id{1}, 2, {errc::diverged, "loss is nan"}));
  plan.take_deliveries();
  plan.ask(a, 1);
  EXPECT_TRUE(plan.take_failures().empty());
  plan.ask(b, 6);
  EXPECT_EQ(plan.take_deliveries().size(), 1u);
  plan.ask(a, 3);
  EXPECT_TRUE(plan.take_deliveries().empty());
  const auto failed = plan.take_failures();
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].trial, b);
  EXPECT_EQ(failed[1].trial, a);
  EXPECT_FALSE(plan.is_waiting(study));
  EXPECT_TRUE(plan.node(node_id{1}).wants.empty());
  EXPECT_TRUE(plan.node(node_id{2}).wants.empty());
}

// -- waiting for a few measurements at a time ---------------------------------

/// Reports the measurements of states `(from, to]` of node 1.
void measure(search_plan& plan, step_t from, step_t to) {
  auto work = lease_to(1, to);
  work.stages.front().begin = from;
  plan.begin_lease(work);
  for (auto at = from + 1; at <= to; ++at)
    plan.record({lease_id{1},
                 at,
                 {{"value", static_cast<double>(at)}},
                 {},
                 {},
                 0,
                 0,
                 0,
                 0,
                 1});
  plan.end_lease(lease_id{1});
}

TEST(SearchPlan, ATrialOfABillionMeasurementsWaitsForTheNextOnes) {
  constexpr step_t billion = 1'000'000'000;
  search_plan plan{{2, 6, 100}};
  const auto a = plan.add_trial(plan.add_study({1, {billion}}), {{0, lr(.1)}});
  plan.ask(a, billion);
  const auto& wants = plan.node(node_id{1}).wants;
  EXPECT_EQ(wants.size(), 6u);
  EXPECT_EQ(wants.rbegin()->first, 6u);
  EXPECT_EQ(plan.node(node_id{1}).goal, billion); // as long as it is
  EXPECT_EQ(plan.figures().unique_steps, billion);
  measure(plan, 0, 5);
  EXPECT_EQ(wants.size(), 1u); // the last of those
  measure(plan, 5, 6);
  EXPECT_EQ(wants.size(), 6u);
  EXPECT_EQ(wants.rbegin()->first, 12u);
  EXPECT_EQ(plan.take_deliveries().size(), 6u);
  plan.drop(a);
  EXPECT_TRUE(wants.empty());
}

TEST(SearchPlan, AStudyThatWaitsForMuchWaitsForLessOfEachTrial) {
  search_plan plan{{2, 6, 10}};
  const auto study = plan.add_study({1, {50}});
  for (int i = 0; i < 3; ++i)
    plan.ask(plan.add_trial(study, {{0, lr(.1 * (i + 1))}}), 50);
  const auto other = plan.add_study({1, {50}});
  plan.ask(plan.add_trial(other, {{0, lr(.7)}}), 50);
  const auto waits = [&](node_id id) { return plan.node(id).wants.size(); };
  EXPECT_EQ(waits(node_id{1}), 6u);
  EXPECT_EQ(waits(node_id{2}), 4u);
  EXPECT_EQ(waits(node_id{3}), 2u);
  EXPECT_EQ(waits(node_id{4}), 6u); // another study's
}

TEST(SearchPlan, WhatIsKnownIsDeliveredHoweverMuchItIs) {
  search_plan plan{{1, 1, 1}};
  const auto study = plan.add_study({1, {50'000}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}});
  plan.ask(a, 50'000);
  measure(plan, 0, 49'999);
  const auto b = plan.add_trial(study, {{0, lr(.1)}});
  plan.take_deliveries();
  plan.ask(b, 50'000);
  EXPECT_EQ(plan.take_deliveries().size(), 49'999u);
  EXPECT_EQ(plan.node(node_id{1}).wants.at(50'000).waiters.size(), 2u);
}

TEST(SearchPlan, WhoIsSuspendedTakesUpNothingMore) {
  search_plan plan{{2, 2, 2}};
  const auto a = plan.add_trial(plan.add_study({1, {9}}), {{0, lr(.1)}});
  plan.ask(a, 9);
  auto work = lease_to(7, 2);
  plan.begin_lease(work);
  EXPECT_EQ(plan.suspend(a), 2u);
  plan.record({lease_id{7}, 1, {{"value", 1}}, {}, {}, 0, 0, 0, 0, 1});
  plan.record({lease_id{7}, 2, {{"value", 2}}, {}, {}, 0, 0, 0, 0, 1});
  EXPECT_TRUE(plan.node(node_id{1}).wants.empty());
  plan.go_on(a);
  EXPECT_EQ(plan.node(node_id{1}).wants.size(), 2u);
  EXPECT_EQ(plan.node(node_id{1}).wants.begin()->first, 3u);
}

TEST(SearchPlan, WhatFailsBeyondIsHeardOfOnTheWayThere) {
  search_plan plan{{2, 2, 2}};
  const auto study = plan.add_study({1, {9}});
  const auto a = plan.add_trial(study, {{0, lr(.1)}});
  const auto b = plan.add_trial(study, {{0, lr(.1)}, {6, lr(.01)}});
  plan.ask(a, 9);
  plan.ask(b, 5);
  plan.fail(node_id{1}, 6, error{errc::training_failed, "no"});
  plan.diverge(node_id{1}, 4, error{errc::diverged, "nan"});
  EXPECT_TRUE(plan.take_failures().empty());
  measure(plan, 0, 2);
  EXPECT_TRUE(plan.take_failures().empty());
  measure(plan, 2, 3);
  for (const auto& x : plan.take_failures()) {
    EXPECT_TRUE(x.trial == a || x.trial == b);
    EXPECT_EQ(x.at, 4u) << "that comes first";
  }
  EXPECT_FALSE(plan.is_waiting(study));
}

/// What of a plan outlives it.
struct stored_plan_of_test {
  struct stored_node {
    node_id parent{};
    step_t begin = 0;
    configuration config;
    std::uint64_t strand = 0;
    by_step<metrics> results;
  };
  std::vector<stored_node> nodes;
  std::vector<std::pair<node_id, step_t>> delivered;

  void keep(const search_plan& plan) {
    nodes.clear();
    for (auto id : id_range(node_id{1}, plan.size())) {
      const auto& x = plan.node(id);
      nodes.push_back({x.parent, x.begin, plan.config_of(id), x.strand, {}});
      for (const auto& kvp : x.results)
        nodes.back().results.emplace(kvp.first, plan.result_of(id, kvp.first));
    }
  }

  void restore(search_plan& plan) const {
    for (auto id : id_range(node_id{1}, nodes.size() + 1)) {
      const auto& x = nodes[number_of(id) - 1];
      plan.restore_node(id, x.parent, x.begin, x.config, x.strand);
      for (const auto& [at, values] : x.results)
        plan.restore_result(id, at, values);
    }
    for (const auto& [node, at] : delivered)
      plan.restore_delivered(node, at);
  }
};

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
  for (auto s : id_range(study_no{0}, studies)) {
    std::vector<const test::model_trial*> own;
    for (auto* x : all)
      if (x->study == s)
        own.push_back(x);
    EXPECT_EQ(plan.figures(s).unique_steps, test::distinct_steps(own));
  }
}

/// Delivered, unique and shared steps, from the trials' values and from how far
/// each was delivered alone, over two lives of the plan.
TEST_P(SearchPlanProperties, DeliveredFiguresEqualCountingDistinctPrefixes) {
  std::mt19937 rng{GetParam()};
  const auto studies = 1 + rng() % 3;
  const auto every = 1 + rng() % 4;
  std::vector<test::model_trial> trials(2 + rng() % 20);
  for (auto& x : trials) {
    x.study = static_cast<study_no>(rng() % studies);
    x.segments = test::random_segments(rng, 16);
  }
  std::vector<test::model_trial> got = trials; // `asked_to`: delivered
  std::vector<step_t> shared(trials.size());
  stored_plan_of_test kept;
  for (int life = 0; life < 2; ++life) {
    search_plan plan;
    kept.restore(plan);
    for (unsigned i = 0; i < studies; ++i)
      plan.add_study({every, {16}});
    for (std::size_t i = 0; i < trials.size(); ++i) {
      auto& x = trials[i];
      x.id = plan.add_trial(x.study, x.segments);
      if (got[i].asked_to > 0)
        plan.recall(x.id, got[i].asked_to, shared[i]);
      if (x.asked_to > 0)
        plan.ask(x.id, x.asked_to);
    }
    const measuring when{every, {16}};
    for (int i = 0; i < 60; ++i) {
      auto& x = trials[rng() % trials.size()];
      if (rng() % 2 == 0) {
        x.asked_to = std::max(x.asked_to, when.next(rng() % 16));
        plan.ask(x.id, x.asked_to);
      } else if (const auto at = when.next(rng() % 16); at <= x.asked_to) {
        auto node = plan.leaf_of(x.id);
        while (plan.node(node).begin >= at)
          node = plan.node(node).parent;
        stop_report report;
        report.at = at;
        report.values = {{"value", 1}};
        report.node = node;
        report.identity = plan.node(node).identity;
        plan.adopt(report);
      }
      for (const auto& y : plan.take_deliveries()) {
        const auto j = static_cast<std::size_t>(y.trial);
        EXPECT_GT(y.at, got[j].asked_to);
        got[j].asked_to = y.at;
        shared[j] += y.shared;
        kept.delivered.emplace_back(y.node, y.at);
      }
    }
    std::uint64_t delivered = 0, shared_sum = 0;
    std::vector<const test::model_trial*> all;
    for (std::size_t i = 0; i < got.size(); ++i) {
      delivered += got[i].asked_to;
      shared_sum += shared[i];
      all.push_back(&got[i]);
    }
    const auto unique = test::distinct_steps(all);
    const auto figures = plan.figures();
    EXPECT_EQ(figures.delivered_steps, delivered);
    EXPECT_EQ(figures.unique_delivered_steps, unique);
    EXPECT_EQ(figures.shared_steps, delivered - unique);
    EXPECT_EQ(shared_sum, delivered - unique);
    for (auto s : id_range(study_no{0}, studies)) {
      std::vector<const test::model_trial*> own;
      std::uint64_t own_shared = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        if (got[i].study == s) {
          own.push_back(&got[i]);
          own_shared += shared[i];
        }
      EXPECT_EQ(plan.figures(s).unique_delivered_steps,
                test::distinct_steps(own));
      EXPECT_EQ(plan.figures(s).shared_steps, own_shared);
    }
    kept.keep(plan);
  }
}

TEST(SearchPlan, WhatATrialOfAnEarlierRunGotIsShared) {
  search_plan plan;
  plan.restore_node(node_id{1}, root_node, 0, lr(.1), 0);
  plan.restore_node(node_id{2}, node_id{1}, 4, lr(.01), 0);
  plan.restore_result(node_id{2}, 6, {{"value", 1}});
  plan.restore_delivered(node_id{2}, 6);
  const auto study = plan.add_study({6, {12}});
  plan.ask(plan.add_trial(study, {{0, lr(.1)}, {4, lr(.01)}}), 6);
  const auto got = plan.take_deliveries();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].shared, 6u); // it is the first of this run
  EXPECT_EQ(plan.figures().unique_delivered_steps, 6u);
  EXPECT_EQ(plan.figures().shared_steps, 6u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SearchPlanProperties, testing::Range(0u, 200u));

} // namespace
} // namespace hippo
