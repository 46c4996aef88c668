#include "hippo/plan/schedule/scheduler.hpp"

#include "hippo/plan/schedule/collect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "plan/workload_model.hpp"

namespace hippo {
namespace {

/// A plan with trainers that the test moves by hand. Training is the hash model
/// of workload_model.hpp, so that a wrong order or a wrong checkpoint shows.
struct simulation {
  explicit simulation(policy x, waiting_limits limits = {})
    : chooser_policy(x), plan(limits), chooser(plan, estimates, x) {}

  policy chooser_policy;
  search_plan plan;
  time_estimates estimates;
  scheduler chooser;
  std::vector<test::model_trial> trials;
  std::map<std::string, test::model_state> files;
  std::uint64_t trained = 0;

  struct job {
    lease work;
    test::model_state state;
    step_t at = 0;
    std::size_t next_stop = 0;
  };
  std::map<lease_id, job> jobs;
  std::uint64_t last_lease = 0;

  void add(study_no study, std::vector<segment> segments) {
    test::model_trial x;
    x.study = study;
    x.id = plan.add_trial(study, segments);
    x.segments = std::move(segments);
    trials.push_back(x);
  }

  void ask(std::size_t i, step_t to) {
    trials[i].asked_to = std::max(trials[i].asked_to, to);
    plan.ask(trials[i].id, to);
  }

  void settle() {
    chooser.update(plan.take_changed());
    plan.set_unpacked_max(0);
    plan.pack_idle(); // as many as may be, at any time
    for (auto& d : plan.take_deliveries()) {
      auto& x = trials[number_of(d.trial)];
      if (!x.delivered.empty()) {
        EXPECT_LT(x.delivered.rbegin()->first, d.at);
      }
      x.delivered[d.at] = d.values;
    }
    for (auto& s : plan.take_added_stops()) {
      auto& stops = jobs.at(s.lease).work.stops;
      auto i = std::find_if(stops.begin(), stops.end(),
                            [&](auto& y) { return y.at >= s.stop.at; });
      ASSERT_TRUE(i != stops.end());
      if (i->at == s.stop.at) {
        i->evaluate |= s.stop.evaluate;
        i->save |= s.stop.save;
      } else {
        stops.insert(i, s.stop);
      }
    }
  }

  /// Leases the next path. @returns whether there was one.
  bool dispatch() {
    settle();
    auto path = chooser.choose();
    if (!path)
      return false;
    job x;
    x.work.number = lease_id{++last_lease};
    x.work.start = path->start;
    x.work.stages = path->stages;
    for (auto& s : x.work.stages) {
      s.config = plan.config_of(s.node);
      for (auto& stop : plan.stops_of(s.node, s.begin, s.end, 0))
        x.work.stops.push_back(stop);
    }
    if (!x.work.start.file.empty())
      x.state = files.at(x.work.start.file);
    x.at = x.work.stages.front().begin;
    plan.begin_lease(x.work);
    jobs.emplace(x.work.number, std::move(x));
    settle();
    return true;
  }

  /// Moves a trainer to its next stop.
  void advance(lease_id number) {
    auto& x = jobs.at(number);
    const auto stop = x.work.stops.at(x.next_stop++);
    stop_report report;
    report.lease = number;
    report.at = stop.at;
    for (auto& s : x.work.stages) {
      const auto to = std::min(stop.at, s.end);
      if (x.at < to && s.begin <= x.at) {
        x.state.train(s.config, x.at, to);
        report.trained_steps += to - x.at;
        trained += to - x.at;
        x.at = to;
      }
    }
    ASSERT_EQ(x.at, stop.at);
    if (stop.evaluate)
      report.values = x.state.evaluate();
    if (stop.save) {
      const auto name
        = to_string(number) + "-" + std::to_string(stop.at);
      files[name] = x.state;
      report.saved = checkpoint{name, 1, 1};
    }
    const bool last = x.next_stop == x.work.stops.size();
    plan.record(report);
    if (last) {
      plan.end_lease(number);
      jobs.erase(number);
    }
    settle();
  }

  void lose(lease_id number) {
    plan.end_lease(number);
    jobs.erase(number);
    settle();
  }

  /// The tree that follows the plan must equal one built afresh.
  void expect_tree_is_current() {
    settle();
    stage_tree fresh{plan, [this](node_id id) {
                       return chooser.tree().seconds_per_step(id);
                     }};
    std::set<node_id> all;
    for (auto id : id_range(root_node, plan.size()))
      all.insert(id);
    fresh.update(all);
    EXPECT_EQ(fresh.runnables(), chooser.tree().runnables());
    for (auto id : id_range(root_node, plan.size()))
      expect_wants_are_served(id);
    for (auto i : id_range(study_no{0}, plan.studies()))
      expect_study_is_served(i, all);
  }

  [[nodiscard]] bool waits(const test::model_trial& x) const {
    return x.delivered.empty() ? x.asked_to > 0
                               : x.delivered.rbegin()->first < x.asked_to;
  }

  /// The states that one study waits for on a node.
  [[nodiscard]] std::set<step_t> wanted_by(study_no study, node_id id) const {
    std::set<step_t> result;
    for (const auto& [at, want] : plan.node(id).wants)
      for (auto trial : want.waiters)
        if (plan.study_of(trial) == study)
          result.insert(at);
    return result;
  }

  /// What is chosen for a study must be the best of a tree that is built afresh
  /// and knows of no other.
  void expect_study_is_served(study_no study, const std::set<node_id>& all) {
    EXPECT_EQ(plan.is_waiting(study),
              std::any_of(trials.begin(), trials.end(), [&](const auto& x) {
                return x.study == study && waits(x);
              }));
    stage_tree fresh{
      plan,
      [this](node_id id) { return chooser.tree().seconds_per_step(id); },
      study};
    fresh.update(all);
    for (auto id : id_range(root_node, plan.size()))
      for (const auto& x : fresh.items_from_begin(id))
        EXPECT_EQ(x.wanted, wanted_by(study, id).count(x.at) > 0);
    const auto chosen = chooser.choose_for(study);
    EXPECT_EQ(chosen.has_value(), !fresh.runnables().empty());
    EXPECT_EQ(chooser.is_runnable(study), chosen.has_value());
    if (!chosen)
      return;
    const auto& first = chosen->stages.front();
    const auto& last = chosen->stages.back();
    const auto wanted = wanted_by(study, last.node);
    EXPECT_TRUE(wanted.count(last.end) > 0
                || fresh.is_waited_for(last.node, 0));
    const auto waiting = chooser.waiting_for(first, first.begin);
    EXPECT_EQ(std::count(waiting.begin(), waiting.end(), study), 1);
    if (chooser_policy != policy::critical_path)
      return;
    double longest = 0;
    for (const auto& kvp : fresh.runnables())
      longest = std::max(longest, kvp.second.seconds);
    // From where it starts, which is a state of its node or its parent's.
    const auto at_own = fresh.runnables().find({first.node, first.begin});
    const auto at_parent
      = fresh.runnables().find({plan.node(first.node).parent, first.begin});
    EXPECT_TRUE((at_own != fresh.runnables().end()
                 && at_own->second.seconds == longest)
                || (at_parent != fresh.runnables().end()
                    && at_parent->second.seconds == longest));
  }

  /// What is measured next on a node, from where: worked out want by want.
  void expect_wants_are_served(node_id id) {
    const auto& x = plan.node(id);
    using wants = std::vector<step_t>;
    std::map<std::optional<step_t>, wants> expected;
    for (const auto& [at, want] : x.wants) {
      std::optional<step_t> source;
      for (const auto& [state, file] : x.checkpoints)
        if (state <= at)
          source = state;
      const auto comes = [&, at = at](const running_range& r) {
        const auto state = std::min(r.to, at); // the nearest it gets
        return state > r.reached && (!source || state > *source);
      };
      if (std::none_of(x.running.begin(), x.running.end(), comes))
        expected[source].push_back(at);
    }
    const auto wanted = [](const std::vector<tree_item>& items) {
      wants result;
      for (const auto& item : items)
        if (item.wanted)
          result.push_back(item.at);
      return result;
    };
    const auto& tree = chooser.tree();
    EXPECT_EQ(wanted(tree.items_from_begin(id)), expected[std::nullopt]);
    for (const auto& [state, file] : x.checkpoints)
      EXPECT_EQ(wanted(tree.items_from(id, state)), expected[state]);
  }

  void expect_all_delivered() {
    for (auto& x : trials) {
      test::model_state alone;
      for (step_t t = 0; t < x.asked_to; ++t) {
        alone.train(x.at(t), t, t + 1);
        auto i = x.delivered.find(t + 1);
        SCOPED_TRACE(to_string(x.id) + " at " + std::to_string(t + 1));
        ASSERT_TRUE(i != x.delivered.end());
        EXPECT_EQ(i->second, alone.evaluate());
      }
    }
  }
};

configuration lr(double x) { return {{"lr", form::constant(x)}}; }

TEST(Scheduler, CriticalPathTakesTheLongestWayWhole) {
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({1, {20}});
  sim.add(study, {{0, lr(.1)}, {4, lr(.01)}});
  sim.add(study, {{0, lr(.1)}, {8, lr(.02)}});
  sim.add(study, {{0, lr(.3)}});
  sim.ask(0, 10);
  sim.ask(1, 20);
  sim.ask(2, 15);
  sim.settle();
  auto x = sim.chooser.choose();
  ASSERT_TRUE(x);
  ASSERT_EQ(x->stages.size(), 2u);
  EXPECT_EQ(x->stages[0].node, node_id{1});
  EXPECT_EQ(x->stages[0].end, 8u);
  EXPECT_EQ(x->stages[1].begin, 8u);
  EXPECT_EQ(x->stages[1].end, 20u);
  ASSERT_TRUE(sim.dispatch());
  ASSERT_TRUE(sim.dispatch()); // the third trial
  EXPECT_FALSE(sim.dispatch()); // the first one waits for state 4
  for (int i = 0; i < 4; ++i)
    sim.advance(lease_id{1});
  EXPECT_EQ(sim.chooser.runnable_count(), 1u);
  ASSERT_TRUE(sim.dispatch());
  EXPECT_EQ(sim.jobs.at(lease_id{3}).work.stages.front().begin, 4u);
}

TEST(Scheduler, CountsStagesThatCouldBeTrainedAtOnce) {
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({1, {20}});
  for (int i = 0; i < 40; ++i) {
    sim.add(study, {{0, lr(1 + i)}, {4, lr(.5)}});
    sim.add(study, {{0, lr(1 + i)}});
  }
  for (std::size_t i = 0; i < sim.trials.size(); ++i)
    sim.ask(i, 10);
  sim.settle();
  // Pairs have a beginning in common.
  EXPECT_EQ(sim.chooser.startable_count(1000), 40u);
  EXPECT_EQ(sim.chooser.startable_count(7), 7u);
  ASSERT_TRUE(sim.dispatch());
  EXPECT_EQ(sim.chooser.startable_count(1000), 39u);
  while (sim.dispatch()) {
  }
  EXPECT_EQ(sim.chooser.startable_count(1000), 0u);
}

TEST(Scheduler, EstimatesWhatCouldBeTrainedAtOnce) {
  using seconds = std::vector<double>;
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({1, {20}});
  sim.add(study, {{0, lr(1)}, {4, lr(.5)}});
  sim.add(study, {{0, lr(1)}});
  sim.add(study, {{0, lr(2)}});
  sim.ask(0, 10);
  sim.ask(1, 6);
  sim.ask(2, 7);
  sim.settle();
  auto all = sim.chooser.startable_seconds(9);
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_LT(all[0], all[1]);
  const auto longest = sim.chooser.longest_waiting();
  EXPECT_DOUBLE_EQ(all[1], longest.value());
  EXPECT_EQ(sim.chooser.startable_seconds(1).size(), 1u);
  ASSERT_TRUE(sim.dispatch());
  EXPECT_EQ(sim.chooser.startable_seconds(9), seconds{all[0]});
}

TEST(Scheduler, ChoosesWhatFitsAmongPathsFromOneState) {
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({1, {20}});
  sim.add(study, {{0, lr(.1)}, {4, lr(.01)}});
  sim.add(study, {{0, lr(.2)}});
  sim.add(study, {{0, lr(.3)}});
  sim.ask(0, 10);
  sim.ask(1, 20);
  sim.ask(2, 15);
  sim.settle();
  std::vector<step_t> ends; // in the order in which they are offered
  const auto choose = [&](step_t end) {
    ends.clear();
    return sim.chooser.choose([&](const path& x) {
      ends.push_back(x.stages.back().end);
      return ends.back() == end;
    });
  };
  EXPECT_FALSE(choose(7));
  EXPECT_EQ(ends, (std::vector<step_t>{20, 20, 15, 10}));
  const auto x = choose(10);
  ASSERT_TRUE(x);
  ASSERT_EQ(x->stages.size(), 2u);
  EXPECT_EQ(x->stages.front().begin, 0u);
  EXPECT_EQ(x->stages.front().end, 4u);
}

TEST(Scheduler, WhatHoldsUpAStudyGoesFirst) {
  simulation sim{policy::critical_path};
  const auto halving = sim.plan.add_study({1, {5, 20}});
  const auto grid = sim.plan.add_study({1, {19}});
  sim.add(grid, {{0, lr(.1)}});
  sim.add(halving, {{0, lr(.2)}});
  sim.ask(0, 19);
  sim.ask(1, 5); // 15 steps may follow
  ASSERT_TRUE(sim.dispatch());
  EXPECT_EQ(sim.jobs.at(lease_id{1}).work.stages.front().node, node_id{2});
  EXPECT_EQ(sim.jobs.at(lease_id{1}).work.stages.back().end, 5u);
  sim.add(sim.plan.add_study({1, {20}}), {{0, lr(.3)}});
  sim.add(halving, {{0, lr(.4)}});
  sim.ask(3, 5);
  sim.ask(2, 20); // asked for, and as long
  ASSERT_TRUE(sim.dispatch());
  EXPECT_EQ(sim.jobs.at(lease_id{2}).work.stages.back().end, 20u);
}

TEST(Scheduler, KnowsHowFarALeaseIsFromTheEndOfWhatWaitsForIt) {
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({1, {10, 20}});
  sim.add(study, {{0, lr(.1)}, {8, lr(.01)}});
  sim.ask(0, 20);
  EXPECT_FALSE(sim.chooser.longest_waiting());
  sim.settle();
  EXPECT_EQ(sim.chooser.longest_waiting(), 20.0); // seconds, one a step
  ASSERT_TRUE(sim.dispatch());
  EXPECT_FALSE(sim.chooser.longest_waiting());
  const auto left = [&](step_t reached) {
    return sim.chooser.seconds_left(sim.jobs.at(lease_id{1}).work.stages,
                                    reached);
  };
  EXPECT_EQ(left(0), 20);
  EXPECT_EQ(left(5), 15);
  EXPECT_EQ(left(8), 12);
  EXPECT_EQ(left(19), 1);
  EXPECT_EQ(left(20), 0);
  sim.add(study, {{0, lr(.1)}, {6, lr(.02)}});
  sim.ask(1, 10);
  sim.settle();
  EXPECT_EQ(left(7), 13); // what leaves at 6 does not wait for it any more
  sim.add(study, {{0, lr(.1)}, {8, lr(.01)}, {9, lr(.03)}});
  sim.add(study, {{0, lr(.1)}, {8, lr(.01)}, {12, lr(.03)}});
  sim.ask(3, 20);
  sim.settle();
  for (step_t at = 1; at <= 13; ++at)
    sim.advance(lease_id{1});
  sim.add(sim.plan.add_study({1, {30}}),
          {{0, lr(.1)}, {8, lr(.01)}, {15, lr(.04)}});
  sim.ask(4, 30);
  sim.settle();
  EXPECT_EQ(left(13), 17); // what leaves on the way
  sim.add(sim.plan.add_study({1, {40}}), {{0, lr(.1)}, {8, lr(.01)}});
  sim.ask(5, 40);
  sim.settle();
  EXPECT_EQ(left(13), 27); // beyond the end of the lease
}

TEST(Scheduler, ChoosesForOneStudyWhatItWaitsFor) {
  simulation sim{policy::critical_path};
  const auto a = sim.plan.add_study({1, {20}});
  sim.add(a, {{0, lr(.1)}, {8, lr(.01)}});
  sim.ask(0, 20);
  sim.settle(); // while there is one study
  const auto b = sim.plan.add_study({2, {12}});
  sim.add(b, {{0, lr(.1)}, {6, lr(.02)}});
  sim.add(b, {{0, lr(.3)}});
  sim.ask(1, 12);
  sim.ask(2, 10);
  sim.settle();
  const auto ends = [](const std::optional<path>& x) {
    std::vector<step_t> result;
    for (const auto& stage : x->stages)
      result.push_back(stage.end);
    return result;
  };
  EXPECT_EQ(ends(sim.chooser.choose()), (std::vector<step_t>{8, 20}));
  EXPECT_EQ(ends(sim.chooser.choose_for(a)), (std::vector<step_t>{8, 20}));
  EXPECT_EQ(ends(sim.chooser.choose_for(b)), (std::vector<step_t>{6, 12}));
  const stage both{node_id{1}, 0, 8, {}};
  using studies = std::vector<study_no>;
  EXPECT_EQ(sim.chooser.waiting_for(both, 0), (studies{a, b}));
  EXPECT_EQ(sim.chooser.waiting_for(both, 5), (studies{a, b}));
  EXPECT_EQ(sim.chooser.waiting_for(both, 6), (studies{a})); // b has left
  ASSERT_TRUE(sim.dispatch());
  EXPECT_FALSE(sim.chooser.is_runnable(a));
  // State 6 is coming.
  EXPECT_EQ(ends(sim.chooser.choose_for(b)), (std::vector<step_t>{10}));
  sim.plan.drop(sim.trials[1].id);
  sim.plan.drop(sim.trials[2].id);
  sim.settle();
  EXPECT_FALSE(sim.chooser.choose_for(b));
  EXPECT_EQ(sim.chooser.waiting_for(both, 0), (studies{a}));
}

TEST(Scheduler, KnowsWhoWaitsForAMeasurementAlone) {
  simulation sim{policy::critical_path};
  const auto a = sim.plan.add_study({20, {20}});
  sim.add(a, {{0, lr(.1)}, {4, lr(.01)}});
  sim.ask(0, 20);
  while (sim.dispatch() || !sim.jobs.empty())
    if (!sim.jobs.empty())
      sim.advance(sim.jobs.begin()->first);
  const auto b = sim.plan.add_study({4, {4}});
  sim.add(b, {{0, lr(.1)}});
  sim.ask(1, 4);
  sim.settle();
  const stage measured{node_id{1}, 4, 4, {}};
  EXPECT_EQ(sim.chooser.waiting_for(measured, 4), (std::vector<study_no>{b}));
  EXPECT_TRUE(sim.chooser.is_runnable(b));
  EXPECT_FALSE(sim.chooser.is_runnable(a));
  sim.add(a, {{0, lr(.3)}});
  sim.ask(2, 20); // for something else
  sim.settle();
  EXPECT_TRUE(sim.chooser.is_runnable(a));
  EXPECT_EQ(sim.chooser.waiting_for(measured, 4), (std::vector<study_no>{b}));
}

TEST(Scheduler, BreadthFirstTakesOneStageAtATime) {
  simulation sim{policy::breadth_first};
  const auto study = sim.plan.add_study({20, {20}});
  sim.add(study, {{0, lr(.1)}, {4, lr(.01)}});
  sim.ask(0, 20);
  sim.settle();
  auto x = sim.chooser.choose();
  ASSERT_TRUE(x);
  ASSERT_EQ(x->stages.size(), 1u);
  EXPECT_EQ(x->stages[0].end, 4u);
}

TEST(Scheduler, EarlyGoesOnFromTheFarthestState) {
  for (const auto chosen : {policy::critical_path, policy::early}) {
    simulation sim{chosen};
    const auto study = sim.plan.add_study({1, {5, 20}});
    sim.add(study, {{0, lr(.1)}});
    sim.add(study, {{0, lr(.3)}});
    sim.ask(0, 5);
    ASSERT_TRUE(sim.dispatch());
    while (!sim.jobs.empty())
      sim.advance(lease_id{1});
    // Trial 0 goes on; trial 1 is new, and longer if it comes to the end.
    sim.ask(0, 20);
    sim.ask(1, 5);
    sim.settle();
    const auto x = sim.chooser.choose();
    ASSERT_TRUE(x);
    EXPECT_EQ(x->stages[0].begin, chosen == policy::early ? 5u : 0u);
    EXPECT_EQ(x->stages[0].end, chosen == policy::early ? 20u : 5u);
  }
}

TEST(Scheduler, TrialOrderFollowsTheFirstRequest) {
  simulation sim{policy::trial};
  const auto study = sim.plan.add_study({1, {5, 20}});
  sim.add(study, {{0, lr(.3)}});
  sim.add(study, {{0, lr(.1)}, {8, lr(.02)}});
  sim.ask(1, 5);
  sim.ask(0, 20);
  sim.settle();
  auto x = sim.chooser.choose();
  ASSERT_TRUE(x);
  EXPECT_EQ(x->stages[0].node, node_id{2});
  EXPECT_EQ(x->stages.back().end, 5u);
}

TEST(Scheduler, FollowsWhatIsLearnedOfTimes) {
  simulation sim{policy::critical_path};
  sim.estimates = time_estimates{{"batch_size"}};
  const auto with_batch = [](double x) -> configuration {
    return {{"batch_size", form::constant(x)}};
  };
  const auto study = sim.plan.add_study({20, {20}});
  sim.add(study, {{0, with_batch(64)}});
  sim.add(study, {{0, with_batch(128)}, {10, with_batch(64)}});
  sim.ask(0, 20);
  sim.ask(1, 20);
  sim.settle();
  sim.estimates.learn_step("64;", 1, 4);
  sim.estimates.learn_step("128;", 1, 2);
  sim.settle();
  EXPECT_EQ(sim.chooser.choose()->stages[0].node,
            node_id{1}); // 80 s against 60 s
  sim.estimates.learn_step("128;", 9, 90);
  sim.settle();
  EXPECT_EQ(sim.chooser.choose()->stages[0].node, node_id{2});
}

TEST(Scheduler, FollowsWhatIsLearnedOfTimesOnTheWayAndForOneStudy) {
  simulation sim{policy::critical_path};
  sim.estimates = time_estimates{{"batch_size"}};
  const auto study = sim.plan.add_study({5, {5, 20}});
  const auto other = sim.plan.add_study({5, {5, 20}});
  for (auto x : {study, other})
    for (double size : {64, 128})
      sim.add(x, {{0, {{"batch_size", form::constant(size)}}}});
  for (std::size_t i = 0; i < 4; ++i)
    sim.ask(i, 20);
  for (std::uint64_t lease : {1, 2})
    ASSERT_TRUE(sim.dispatch()) << lease;
  for (std::uint64_t lease : {1, 2}) { // both are at state 5, and saved
    sim.advance(lease_id{lease});
    sim.lose(lease_id{lease});
  }
  const auto expect_first = [&](node_id node) {
    sim.settle();
    EXPECT_EQ(sim.chooser.choose()->stages[0].node, node);
    EXPECT_EQ(sim.chooser.choose_for(study)->stages[0].node, node);
    EXPECT_EQ(sim.chooser.choose_for(other)->stages[0].node, node);
  };
  sim.estimates.learn_step("64;", 1, 4);
  sim.estimates.learn_step("128;", 1, 2);
  expect_first(node_id{1});
  sim.estimates.learn_step("128;", 9, 90);
  expect_first(node_id{2});
}

TEST(Scheduler, DoesNotWaitForATrainerThatHasPassed) {
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({1, {20}});
  sim.add(study, {{0, lr(.1)}});
  sim.ask(0, 20);
  ASSERT_TRUE(sim.dispatch());
  for (int i = 0; i < 6; ++i)
    sim.advance(lease_id{1});
  sim.add(study, {{0, lr(.1)}, {4, lr(.2)}}); // passed, and not saved
  sim.ask(1, 20);
  EXPECT_TRUE(sim.dispatch()); // from step 0, beside the other
  sim.add(study, {{0, lr(.1)}, {9, lr(.2)}});
  sim.ask(2, 20);
  EXPECT_FALSE(sim.dispatch()); // state 9 is coming
}

TEST(Scheduler, MeasuresAStateThatIsOnlyCheckpointed) {
  simulation sim{policy::critical_path};
  sim.add(sim.plan.add_study({20, {20}}), {{0, lr(.1)}, {4, lr(.01)}});
  sim.ask(0, 20);
  while (sim.dispatch() || !sim.jobs.empty())
    if (!sim.jobs.empty())
      sim.advance(sim.jobs.begin()->first);
  EXPECT_EQ(sim.trained, 20u);
  sim.add(sim.plan.add_study({4, {4}}), {{0, lr(.1)}});
  sim.ask(1, 4);
  ASSERT_TRUE(sim.dispatch());
  EXPECT_EQ(sim.jobs.begin()->second.work.stages.front().begin, 4u);
  sim.advance(sim.jobs.begin()->first);
  EXPECT_EQ(sim.trained, 20u); // nothing trained again
  EXPECT_EQ(sim.trials[1].delivered.at(4), sim.trials[1].alone(4).evaluate());
}

TEST(Collect, GivesUpWhatIsCheapAndNeverWhatIsNeeded) {
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({20, {4, 6, 20}});
  sim.add(study, {{0, lr(.1)}, {10, lr(.01)}});
  sim.add(study, {{0, lr(.1)}, {10, lr(.02)}});
  sim.ask(0, 20);
  sim.ask(1, 20);
  ASSERT_TRUE(sim.dispatch());
  for (int i = 0; i < 3; ++i) // states 4, 6 and 10, which the other waits for
    sim.advance(lease_id{1});
  const auto collect = [&](std::uint64_t bytes) {
    std::vector<step_t> result;
    for (auto& x : collect_checkpoints(sim.plan, sim.chooser.tree(), bytes))
      result.push_back(x.at);
    return result;
  };
  EXPECT_EQ(collect(1), (std::vector<step_t>{6})); // two steps after 4
  EXPECT_EQ(collect(100), (std::vector<step_t>{6, 4}));
  ASSERT_TRUE(sim.dispatch()); // the other has leased it, not loaded it
  EXPECT_EQ(collect(100), (std::vector<step_t>{6, 4}));
  sim.advance(lease_id{2});
  EXPECT_EQ(collect(100).back(), 20u);
  EXPECT_EQ(collect(0).size(), 0u);
}

TEST(Collect, KeepsWhatALeaseHasJustReached) {
  simulation sim{policy::critical_path};
  sim.add(sim.plan.add_study({20, {4, 6, 20}}), {{0, lr(.1)}});
  sim.ask(0, 20);
  ASSERT_TRUE(sim.dispatch());
  const auto collected = [&] {
    return collect_checkpoints(sim.plan, sim.chooser.tree(), 100);
  };
  sim.advance(lease_id{1});
  EXPECT_TRUE(collected().empty()); // what is left would go on from state 4
  sim.advance(lease_id{1});
  ASSERT_EQ(collected().size(), 1u);
  EXPECT_EQ(collected()[0].at, 4u);
}

// A plan grows with what was trained; what follows it does not.
TEST(Scheduler, TakesMemoryForWhatWaits) {
  simulation sim{policy::critical_path};
  const auto study = sim.plan.add_study({2, {2}});
  std::size_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto no = sim.trials.size();
    sim.add(study, {{0, lr(1.0 / (i + 1))}});
    sim.ask(no, 2);
    ASSERT_TRUE(sim.dispatch());
    most = std::max(most, sim.chooser.tree().pages());
    sim.advance(sim.jobs.begin()->first);
  }
  EXPECT_EQ(sim.plan.size(), 2001u);
  EXPECT_LE(most, 2u); // that of the root, and that of the trial
  EXPECT_EQ(sim.chooser.tree().pages(), 0u);
}

struct SchedulerSimulation
  : testing::TestWithParam<std::tuple<policy, unsigned>> {
  std::mt19937 rng{std::get<1>(GetParam())};
  simulation sim{std::get<0>(GetParam()), limits()};

  /// Every third time trials wait for few measurements at a time.
  static waiting_limits limits() {
    const auto seed = std::get<1>(GetParam());
    return seed % 3 == 0
             ? waiting_limits{1 + seed % 2, 2 + seed % 5, 1 + seed % 30}
             : waiting_limits{};
  }

  /// Trials of one to three studies, known before anything runs.
  void add_trials() {
    const auto studies = 1 + rng() % 3;
    for (unsigned i = 0; i < studies; ++i)
      sim.plan.add_study({1, {3, 9, 18}});
    const auto n = 2 + rng() % 16;
    for (unsigned i = 0; i < n; ++i)
      sim.add(static_cast<study_no>(rng() % studies),
              test::random_segments(rng, 18));
  }

  lease_id random_job() {
    auto i = sim.jobs.begin();
    std::advance(i, rng() % sim.jobs.size());
    return i->first;
  }
};

TEST_P(SchedulerSimulation, TrainsEveryUniqueStepOnceAndEveryResultIsAsAlone) {
  add_trials();
  for (std::size_t i = 0; i < sim.trials.size(); ++i)
    sim.ask(i, i == 0 ? 9 : 3);
  sim.settle();
  if (std::get<0>(GetParam()) == policy::critical_path
      && limits().near > 9) {
    // Before anything is trained the longest way is the farthest request's.
    EXPECT_EQ(sim.chooser.choose()->stages.back().end, 9u);
  }
  const auto trainers = 1 + rng() % 4;
  auto promotions = sim.trials.size();
  for (;;) {
    while (sim.jobs.size() < trainers && sim.dispatch()) {
    }
    if (rng() % 4 == 0)
      sim.expect_tree_is_current();
    if (rng() % 8 == 0) { // as many trainers as there is work for
      sim.settle();
      const auto startable = sim.chooser.startable_count(1000);
      std::size_t started = 0;
      while (sim.dispatch())
        ++started;
      EXPECT_EQ(startable, started);
    }
    if (sim.jobs.empty() && promotions == 0)
      break;
    if (!sim.jobs.empty())
      sim.advance(random_job());
    if (promotions > 0 && (sim.jobs.empty() || rng() % 3 == 0)) {
      const auto i = --promotions;
      sim.ask(i, rng() % 2 == 0 ? 9 : 18);
    }
  }
  sim.expect_all_delivered();
  EXPECT_EQ(sim.trained, sim.plan.figures().unique_steps);
  EXPECT_EQ(sim.chooser.tree().pages(), 0u) << "nothing waits";
}

TEST_P(SchedulerSimulation, EveryResultIsAsAloneDespiteLossAndLateTrials) {
  add_trials();
  int losses = 6;
  int late = 6;
  std::size_t asked = 0;
  for (;;) {
    while (sim.jobs.size() < 3 && sim.dispatch()) {
    }
    if (rng() % 4 == 0)
      sim.expect_tree_is_current();
    if (!sim.jobs.empty()) {
      if (losses > 0 && rng() % 6 == 0) {
        --losses;
        sim.lose(random_job());
      } else {
        sim.advance(random_job());
      }
    }
    if (late > 0 && rng() % 4 == 0) {
      --late;
      sim.add(study_no{}, test::random_segments(rng, 18));
      sim.settle(); // running leases hear of it at once
    }
    if (asked < sim.trials.size() && (sim.jobs.empty() || rng() % 2 == 0))
      sim.ask(asked++, 18);
    else if (sim.jobs.empty() && late == 0 && asked == sim.trials.size()
             && sim.chooser.runnable_count() == 0)
      break;
    else if (sim.jobs.empty() && late > 0)
      late = std::max(0, late - 1);
  }
  sim.expect_all_delivered();
  EXPECT_GE(sim.trained, sim.plan.figures().unique_steps);
}

INSTANTIATE_TEST_SUITE_P(
  Seeds, SchedulerSimulation,
  testing::Combine(testing::Values(policy::critical_path, policy::breadth_first,
                                   policy::trial, policy::early),
                   testing::Range(0u, 60u)));

// A budget of time ends a study in the midst of its trials: the first ones are
// to be trained by then, not the last.
TEST(Scheduler, OfEqualPathsThatAskedForFirstGoesFirst) {
  constexpr std::uint64_t trials = 200;
  search_plan plan;
  const time_estimates estimates;
  scheduler chooser{plan, estimates, policy::critical_path};
  const auto study = plan.add_study({5, {20}});
  std::vector<trial_id> ids;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const configuration early{
      {"lr", form::constant(static_cast<double>(i / 4))}};
    const configuration late{
      {"lr", form::constant(static_cast<double>(trials + i))}};
    ids.push_back(plan.add_trial(study, {{0, early}, {10, late}}));
  }
  std::mt19937 rng{1};
  std::shuffle(ids.begin(), ids.end(), rng);
  for (auto id : ids)
    plan.ask(id, 20);
  std::vector<trial_id> finished;
  for (std::uint64_t leases = 1; finished.size() < trials; ++leases) {
    chooser.update(plan.take_changed());
    const auto next = chooser.choose();
    ASSERT_TRUE(next);
    lease work;
    work.number = lease_id{leases};
    work.stages = next->stages;
    plan.begin_lease(work);
    for (const auto& x : work.stages)
      for (const auto& stop : plan.stops_of(x.node, x.begin, x.end, 0)) {
        stop_report report;
        report.lease = work.number;
        report.at = stop.at;
        if (stop.evaluate)
          report.values = {{"value", 1}};
        if (stop.save)
          report.saved = checkpoint{"file", 1, 1};
        plan.record(report);
      }
    plan.end_lease(work.number);
    for (const auto& x : plan.take_deliveries())
      if (x.at == 20)
        finished.push_back(x.trial);
  }
  // Whole trunks of ten steps first, each by the trial that asked for it first;
  // then the branches, which are equal as well.
  std::vector<trial_id> expected;
  std::set<trial_id> trunks;
  for (auto id : ids)
    if (trunks.insert(trial_id{number_of(id) / 4}).second)
      expected.push_back(id);
  for (auto id : ids)
    if (std::find(expected.begin(), expected.end(), id) == expected.end())
      expected.push_back(id);
  EXPECT_EQ(finished, expected);
}

TEST(Scheduler, NewEstimatesWaitForAsMuchOtherWork) {
  constexpr std::uint64_t trials = 5000;
  search_plan plan;
  time_estimates estimates;
  scheduler chooser{plan, estimates, policy::critical_path};
  const auto study = plan.add_study({10, {10}});
  for (std::uint64_t i = 0; i < trials; ++i) {
    const configuration x{{"lr", form::constant(static_cast<double>(i))}};
    plan.ask(plan.add_trial(study, {{0, x}}), 10);
  }
  const auto changed = plan.take_changed();
  chooser.update(changed);
  EXPECT_DOUBLE_EQ(*chooser.longest_waiting(), 10);
  estimates.learn_step("", 1, 5);
  chooser.update({node_id{1}});
  EXPECT_DOUBLE_EQ(*chooser.longest_waiting(), 50)
    << "all were followed since the last ones";
  for (int i = 0; i < 50; ++i)
    estimates.learn_step("", 1, 50);
  // What changes is computed with them at once, the rest is not. Of equal ones
  // the first goes first.
  const auto one = *std::next(changed.begin(), 2500);
  chooser.update({one});
  EXPECT_NEAR(*chooser.longest_waiting(), 500, 5);
  EXPECT_EQ(chooser.choose()->stages.front().node, one);
  chooser.update({changed.begin(), std::next(changed.begin(), 2000)});
  EXPECT_EQ(chooser.choose()->stages.front().node, *changed.begin());
}

} // namespace
} // namespace hippo
