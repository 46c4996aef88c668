#include "hippo/plan/search_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/plan/stage_tree.hpp"
#include "plan/workload_model.hpp"

// Who waits for a measurement gets it, or is told why not: whatever is known to
// fail, and comes to be forgotten, on the way there.

namespace hippo {
namespace {

const error passing{errc::training_failed, "no"};

configuration rate(double x) {
  return {{"lr", form::constant(x)}};
}

/// A state of a node has been measured.
void measure_at(search_plan& plan, node_id node, step_t at) {
  stop_report report;
  report.at = at;
  report.node = node;
  report.identity = plan.node(node).identity;
  report.values = {{"value", static_cast<double>(at)}};
  plan.adopt(report);
}

/// A trial that is measured at 2, 4, 6 and 8, all on node 1.
struct waiting_trial {
  search_plan plan;
  study_no study = plan.add_study({2, {8}});
  trial_id trial = plan.add_trial(study, {{0, rate(.1)}});

  void expect_waits_for(std::set<step_t> states) const {
    plan.check_invariants();
    std::set<step_t> result;
    for (const auto& kvp : plan.node(node_id{1}).wants)
      result.insert(kvp.first);
    EXPECT_EQ(result, states);
  }
};

TEST(Waiting, AFailureThatIsForgottenBeforeATrialIsThereIsNone) {
  waiting_trial x;
  x.plan.ask(x.trial, 8);
  x.plan.fail(node_id{1}, 4, passing);
  x.expect_waits_for({2});
  x.plan.forget_passing_failures();
  measure_at(x.plan, node_id{1}, 2);
  EXPECT_TRUE(x.plan.take_failures().empty());
  x.expect_waits_for({4, 6, 8});
}

TEST(Waiting, AMeasurementThatFailedIsWaitedForOnceThatIsForgotten) {
  for (const bool is_known : {false, true}) {
    waiting_trial x;
    if (is_known)
      x.plan.diverge(node_id{1}, 4, passing);
    x.plan.ask(x.trial, 8);
    if (!is_known)
      x.plan.diverge(node_id{1}, 4, passing);
    x.plan.forget_passing_failures();
    measure_at(x.plan, node_id{1}, 2);
    EXPECT_TRUE(x.plan.take_failures().empty());
    x.expect_waits_for({4, 6, 8});
  }
}

TEST(Waiting, ATrialThatIsRetriedTakesNothingFromAnother) {
  waiting_trial x;
  measure_at(x.plan, node_id{1}, 2);
  x.plan.ask(x.trial, 4);
  x.plan.diverge(node_id{1}, 4, passing);
  EXPECT_EQ(x.plan.take_failures().size(), 1u);
  const auto late = x.plan.add_study({1, {8}});
  const auto behind = x.plan.add_trial(late, {{0, rate(.1)}});
  x.plan.ask(behind, 8); // knows what has failed at 4
  x.expect_waits_for({1, 3});
  x.plan.retry(x.trial);
  x.plan.go_on(x.trial);
  x.plan.check_invariants();
  measure_at(x.plan, node_id{1}, 1);
  measure_at(x.plan, node_id{1}, 3);
  x.expect_waits_for({4, 5, 6, 7, 8});
  measure_at(x.plan, node_id{1}, 4);
  EXPECT_EQ(x.plan.take_deliveries().size(), 6u);
  EXPECT_TRUE(x.plan.take_failures().empty());
}

/// Its study may be paused meanwhile.
TEST(Waiting, ATrialThatIsRetriedWaitsOnceItGoesOn) {
  waiting_trial x;
  x.plan.ask(x.trial, 8);
  x.plan.fail(node_id{1}, 1, passing);
  EXPECT_EQ(x.plan.take_failures().size(), 1u);
  x.plan.retry(x.trial);
  x.expect_waits_for({});
  x.plan.go_on(x.trial);
  x.expect_waits_for({2, 4, 6, 8});
}

/// What cannot be measured under the settings of one study alone.
TEST(Waiting, AFailureOfOneStudyLeavesAnotherWaiting) {
  search_plan plan;
  plan.set_failure_filter([](node_id, study_no x) { return x == study_no{}; });
  std::vector<trial_id> trials;
  for (int i = 0; i < 2; ++i)
    trials.push_back(plan.add_trial(plan.add_study({2, {8}}), {{0, rate(.1)}}));
  for (const auto x : trials)
    plan.ask(x, 8);
  plan.diverge(node_id{1}, 4, passing);
  plan.check_invariants();
  measure_at(plan, node_id{1}, 2);
  plan.check_invariants();
  EXPECT_EQ(plan.take_deliveries().size(), 2u);
  EXPECT_EQ(plan.node(node_id{1}).wants.count(4), 1u);
  const auto stops = plan.stops_of(node_id{1}, 2, 8, 0);
  EXPECT_EQ(std::ranges::count(stops, stop_point{4, true, false}), 1)
    << "it is to be found out";
}

/// State 4 is kept, and one lease measures it. What starts there can be trained
/// meanwhile.
TEST(Waiting, AStateThatIsMeasuredAloneIsLeasedOnce) {
  search_plan plan;
  const auto study = plan.add_study({4, {8}});
  const auto trial = plan.add_trial(study, {{0, rate(.1)}});
  stop_report report;
  report.at = 4;
  report.node = node_id{1};
  report.identity = plan.node(node_id{1}).identity;
  report.saved = checkpoint{"a.ckpt", 8, 1};
  plan.adopt(report);
  stage_tree tree{plan, [](node_id) { return 1.0; }};
  const auto items = [&] {
    tree.update(plan.take_changed());
    return tree.items_from(node_id{1}, 4);
  };
  plan.ask(trial, 4);
  ASSERT_EQ(items().size(), 1u);
  EXPECT_TRUE(items().front().wanted);
  lease work;
  work.number = lease_id{1};
  work.stages = {{node_id{1}, 4, 4, {}}};
  plan.begin_lease(work);
  EXPECT_TRUE(items().empty());
  plan.ask(plan.add_trial(study, {{0, rate(.1)}, {4, rate(.2)}}), 8);
  ASSERT_EQ(items().size(), 1u);
  EXPECT_FALSE(items().front().wanted);
  EXPECT_TRUE(items().front().below);
  EXPECT_EQ(plan.suspend(trial), 4u) << "it is in training";
  plan.go_on(trial);
  plan.end_lease(lease_id{1});
  ASSERT_EQ(items().size(), 1u);
  EXPECT_TRUE(items().front().wanted) << "nobody has measured it";
}

// -- whatever happens ---------------------------------------------------------

/// Studies that ask, drop, pause and retry; states that are measured, fail or
/// cannot be measured, for all or for some; failures that are forgotten.
struct waiting_world {
  explicit waiting_world(unsigned seed)
    : rng(seed), plan({1 + seed % 3, 3 + seed % 5, 1 + seed % 20}),
      tree(plan, [](node_id) { return 1.0; }) {
    plan.set_failure_filter(
      [this](node_id, study_no study) { return spared.count(study) == 0; });
  }

  [[nodiscard]] std::size_t pick(std::size_t n) { return rng() % n; }

  [[nodiscard]] std::optional<trial_id> any_trial() {
    if (trials.empty())
      return std::nullopt;
    return trials[pick(trials.size())].id;
  }

  /// A state of a node that somebody waits for, or just any.
  [[nodiscard]] std::pair<node_id, step_t> any_state() {
    const node_id node{1 + pick(plan.size() - 1)};
    const auto& x = plan.node(node);
    if (x.wants.empty() || pick(3) == 0)
      return {node, x.begin + 1 + pick(4)};
    return {node, std::next(x.wants.begin(),
                            static_cast<std::ptrdiff_t>(pick(x.wants.size())))
                    ->first};
  }

  void add_trial() {
    auto& x = trials.emplace_back();
    x.study = static_cast<study_no>(pick(plan.studies()));
    x.segments = test::random_segments(rng, steps);
    x.id = plan.add_trial(x.study, x.segments);
    ask(x);
  }

  void ask(test::model_trial& x) {
    if (suspended.count(x.id) > 0 || ended.count(x.id) > 0)
      return;
    x.asked_to = std::max(x.asked_to, when_of(x.study).next(pick(steps)));
    plan.ask(x.id, x.asked_to);
  }

  [[nodiscard]] static measuring when_of(study_no study) {
    return {1 + number_of(study) % 3, {steps}};
  }

  void act() {
    switch (pick(12)) {
      case 0:
        plan.add_study(when_of(static_cast<study_no>(plan.studies())));
        plan.forget_passing_failures();
        break;
      case 1:
      case 2:
        add_trial();
        break;
      case 3:
        ask(trials[pick(trials.size())]);
        break;
      case 4:
        if (pick(4) == 0)
          end(*any_trial());
        break;
      case 5: {
        const auto x = *any_trial();
        if (suspended.erase(x) > 0) {
          plan.go_on(x);
        } else {
          plan.suspend(x);
          suspended.insert(x);
        }
        break;
      }
      case 6:
        retry();
        break;
      case 7: {
        const auto x = static_cast<study_no>(pick(plan.studies()));
        if (spared.erase(x) == 0)
          spared.insert(x);
        break;
      }
      case 8: {
        const auto [node, at] = any_state();
        plan.fail(node, at, any_reason());
        break;
      }
      case 9: {
        const auto [node, at] = any_state();
        plan.diverge(node, at, any_reason());
        break;
      }
      default: {
        const auto [node, at] = any_state();
        measure_at(plan, node, at);
      }
    }
    hear();
  }

  [[nodiscard]] error any_reason() {
    constexpr errc codes[]{errc::training_failed, errc::fails_everywhere,
                           errc::diverged};
    return {codes[pick(3)], "no"};
  }

  void end(trial_id x) {
    plan.drop(x);
    ended.insert(x);
  }

  void retry() {
    if (ended.empty())
      return;
    const auto x = *std::next(ended.begin(),
                              static_cast<std::ptrdiff_t>(pick(ended.size())));
    ended.erase(x);
    plan.retry(x);
    if (suspended.count(x) == 0)
      plan.go_on(x);
  }

  /// Takes in what trials are told.
  void hear() {
    for (const auto& x : plan.take_deliveries()) {
      auto& trial = *std::ranges::find(trials, x.trial, &test::model_trial::id);
      EXPECT_TRUE(trial.delivered.emplace(x.at, x.values).second);
    }
    for (const auto& x : plan.take_failures()) {
      EXPECT_TRUE(ended.insert(x.trial).second) << "it had ended";
    }
    tree.update(plan.take_changed());
    plan.check_invariants();
    for (const auto id : id_range(node_id{1}, plan.size()))
      for (const auto& kvp : plan.node(id).wants)
        EXPECT_TRUE(is_runnable(id, kvp.first))
          << "step " << kvp.first << " of node " << to_string(id);
  }

  /// Whether the tree has the training that leads to a state. No trainer is on
  /// its way, and the initial state alone is kept.
  [[nodiscard]] bool is_runnable(node_id id, step_t at) const {
    for (; id != root_node; id = plan.node(id).parent) {
      const auto items = tree.items_from_begin(id);
      if (std::ranges::count(items, at, &tree_item::at) == 0)
        return false;
      at = plan.node(id).begin;
    }
    return tree.runnables().count({root_node, at}) > 0;
  }

  /// Everything that is waited for is measured.
  void finish() {
    for (const auto x : std::exchange(suspended, {}))
      plan.go_on(x);
    hear();
    for (bool goes_on = true; std::exchange(goes_on, false);)
      for (const auto id : id_range(node_id{1}, plan.size()))
        while (!plan.node(id).wants.empty()) {
          measure_at(plan, id, plan.node(id).wants.begin()->first);
          hear();
          goes_on = true;
        }
    for (const auto& x : trials) {
      const auto when = when_of(x.study);
      for (auto t = when.next(0); t != 0 && t <= x.asked_to; t = when.next(t))
        EXPECT_TRUE(ended.count(x.id) > 0 || x.delivered.count(t) > 0)
          << "trial " << number_of(x.id) << " waits for step " << t;
    }
  }

  static constexpr step_t steps = 12;
  std::mt19937 rng;
  search_plan plan;
  stage_tree tree;
  std::vector<test::model_trial> trials;
  std::set<trial_id> suspended;
  std::set<trial_id> ended;
  std::set<study_no> spared; ///< for which failures do not hold
};

class WaitingProperty : public testing::TestWithParam<unsigned> {};

TEST_P(WaitingProperty, WhoHasNotEndedIsToldAllThatItAskedFor) {
  constexpr unsigned seeds_per_case = 100;
  for (auto seed = GetParam() * seeds_per_case;
       seed < (GetParam() + 1) * seeds_per_case; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    waiting_world x{seed};
    x.plan.add_study(x.when_of(study_no{}));
    x.add_trial();
    for (int i = 0; i < 120 && !testing::Test::HasFailure(); ++i)
      x.act();
    x.finish();
    if (testing::Test::HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WaitingProperty, testing::Range(0u, 8u));

} // namespace
} // namespace hippo
