#include "hippo/service/merge/device_kinds.hpp"

#include <random>

#include <gtest/gtest.h>

#include "merge/merge_world.hpp"

namespace hippo {
namespace {

using test::merge_world;

const measuring each_three{3, {12}};

const trainer_id first_trainer{1};
const trainer_id second_trainer{2};

/// A plan with two trees, the first of which has two branches.
struct two_trees {
  two_trees() {
    const auto study = plan.add_study(each_three);
    for (const auto& x :
         {merge_world::change(.1, 3, .01), merge_world::change(.1, 3, .02),
          merge_world::constant(.2)})
      leaves.push_back(plan.leaf_of(plan.add_trial(study, x)));
    kinds.add_trainer(first_trainer, "a");
    kinds.add_trainer(second_trainer, "b");
  }
  search_plan plan;
  std::vector<node_id> leaves;
  device_kinds kinds{plan};
};

TEST(DeviceKinds, ATreeTakesTheKindOfItsFirstLease) {
  two_trees x;
  EXPECT_TRUE(x.kinds.may_train(second_trainer, x.leaves[1]));
  x.kinds.begin(lease_id{7}, x.leaves[0], first_trainer);
  EXPECT_FALSE(x.kinds.may_train(second_trainer, x.leaves[1]));
  EXPECT_TRUE(x.kinds.may_train(first_trainer, x.leaves[1]));
  EXPECT_TRUE(x.kinds.may_train(second_trainer, x.leaves[2]));
  EXPECT_EQ(x.kinds.kind_of(x.leaves[1]), "a");
}

TEST(DeviceKinds, ATreeOfWhichNothingIsKeptMayBeginElsewhere) {
  two_trees x;
  x.kinds.begin(lease_id{7}, x.leaves[0], first_trainer);
  x.kinds.begin(lease_id{8}, x.leaves[1], first_trainer);
  x.kinds.end(lease_id{7});
  EXPECT_FALSE(x.kinds.may_train(second_trainer, x.leaves[0]));
  x.kinds.end(lease_id{8});
  EXPECT_TRUE(x.kinds.may_train(second_trainer, x.leaves[0]));
}

TEST(DeviceKinds, WhatIsKeptDecidesForGood) {
  two_trees x;
  x.kinds.begin(lease_id{7}, x.leaves[0], first_trainer);
  x.kinds.keep(x.leaves[0], "a");
  x.kinds.end(lease_id{7});
  EXPECT_FALSE(x.kinds.may_train(second_trainer, x.leaves[1]));
  EXPECT_FALSE(x.kinds.may_keep(x.leaves[1], "b"));
  EXPECT_TRUE(x.kinds.may_keep(x.leaves[2], "b"));
}

TEST(DeviceKinds, AnUnknownKindSaysNothing) {
  two_trees x;
  x.kinds.restore(x.leaves[0], "");
  EXPECT_TRUE(x.kinds.may_train(first_trainer, x.leaves[0]));
  EXPECT_TRUE(x.kinds.may_train(second_trainer, x.leaves[0]));
  x.kinds.restore(x.leaves[1], "b");
  EXPECT_FALSE(x.kinds.may_train(first_trainer, x.leaves[0]));
}

TEST(DeviceKinds, ATreeThatOlderVersionsMixedGoesOnAnywhere) {
  two_trees x;
  x.kinds.restore(x.leaves[0], "a");
  x.kinds.restore(x.leaves[1], "b");
  EXPECT_TRUE(x.kinds.may_train(first_trainer, x.leaves[0]));
  EXPECT_TRUE(x.kinds.may_train(second_trainer, x.leaves[0]));
  EXPECT_TRUE(x.kinds.may_keep(x.leaves[0], "c"));
  EXPECT_EQ(x.kinds.kind_of(x.leaves[0]), std::nullopt);
}

/// A merger and trainers of two kinds whose bits differ.
struct two_kinds : merge_world {
  using merge_world::merge_world;

  /// Whether a trial has what training it alone on that kind gives.
  static bool is_of(const test::model_trial& x, const std::string& kind) {
    for (const auto& [at, values] : x.delivered)
      if (x.alone(at, kind).evaluate() != values)
        return false;
    return true;
  }

  void expect_one_kind_each() const {
    for (const auto& st : studies)
      for (const auto& [number, x] : st.trials) {
        if (st.failed.count(number) > 0)
          continue;
        EXPECT_EQ(x.delivered.size(), x.asked_to / 3) << "trial " << number;
        EXPECT_TRUE(is_of(x, "a") || is_of(x, "b"))
          << "trial " << number << " has results of both kinds";
      }
  }
};

class TwoKinds : public testing::TestWithParam<unsigned> {};

TEST_P(TwoKinds, ATrialsResultsAreThoseOfOneKindWhoeverDies) {
  std::mt19937 rng{GetParam()};
  two_kinds x;
  x.add_study(each_three);
  x.apply(merge_event::started{});
  std::vector<std::vector<segment>> trials;
  for (int i = 0; i < 12; ++i)
    trials.push_back(test::random_segments(rng, 12));
  x.train(0, trials, 12);
  std::vector<stop_report> late;
  for (int i = 0; i < 400; ++i) {
    x.pass(.2);
    if (rng() % 2 == 0 && !x.commits.empty())
      x.commit_one();
    if (rng() % 2 == 0 && !x.demands.empty())
      x.answer_demand();
    if (x.trainers.size() < 4 && rng() % 4 == 0)
      x.join(rng() % 2 == 0 ? "a" : "b");
    x.grant_for_demand();
    if (!late.empty() && rng() % 4 == 0) {
      x.report(late.back(), true);
      late.pop_back();
    }
    if (x.trainers.empty())
      continue;
    const auto which = std::next(
      x.trainers.begin(),
      static_cast<std::ptrdiff_t>(rng() % x.trainers.size()));
    auto& [id, trainer] = *which;
    if (!trainer.jobs.empty() && rng() % 4 == 0) {
      auto& job = trainer.jobs.begin()->second;
      late.push_back(x.train_to(job, job.work.stops.at(job.next_stop)));
      x.lose(id);
    } else if (!trainer.jobs.empty()) {
      x.step(id, trainer.jobs.begin()->first);
    }
  }
  for (const auto& report : late)
    x.report(report, true);
  x.join("a");
  x.join("b");
  x.run_all();
  x.expect_one_kind_each();
  EXPECT_LE(x.grants_made, 2 * x.sent_leases.size() + 20)
    << "trainers come and go without training";
}

INSTANTIATE_TEST_SUITE_P(Seeds, TwoKinds, testing::Range(0u, 60u));

TEST(MergeCoreKinds, ATrainerThatMayTrainNothingGoesBackAndIsNotAskedFor) {
  two_kinds x;
  x.add_study(each_three);
  x.apply(merge_event::started{});
  const auto a = x.join("a");
  const auto b = x.join("b");
  x.train(0, {x.change(.1, 3, .01), x.change(.1, 3, .02)}, 12);
  x.grant(a);
  x.step(a, x.lease_of(a)); // the state that both go on from
  x.lose(a);
  x.grant(b);
  EXPECT_FALSE(x.trainers.at(b).granted);
  EXPECT_TRUE(x.cool_downs.empty());
  EXPECT_EQ(x.wanted_kinds, std::set<std::string>{"a"});
  EXPECT_GT(x.wanted, 0u);
  x.run_all();
  EXPECT_EQ(x.grants_made, 2u) << "the other kind was granted again";
  x.join("a");
  x.run_all();
  x.expect_one_kind_each();
}

TEST(MergeCoreKinds, TreesThatShareNothingLieOnDifferentKinds) {
  two_kinds x;
  x.add_study(each_three);
  x.apply(merge_event::started{});
  x.train(0, {x.constant(.1), x.constant(.2)}, 12);
  x.grant(x.join("a"));
  x.grant(x.join("b"));
  ASSERT_EQ(x.sent_leases.size(), 2u);
  EXPECT_NE(x.sent_leases[0].first, x.sent_leases[1].first);
  x.run_all();
  x.expect_one_kind_each();
}

/// What was stored of a run, for the next.
stored_plan plan_of(const merge_world& x) {
  stored_plan result;
  for (const auto& record : x.stored) {
    if (const auto* y = std::get_if<node_added>(&record))
      result.nodes.push_back(y->node);
    if (const auto* y = std::get_if<checkpoint_added>(&record))
      result.checkpoints.push_back(y->checkpoint);
  }
  return result;
}

/// The kinds of the results that were stored, by step.
std::map<step_t, std::string> kinds_of_results(const merge_world& x) {
  std::map<step_t, std::string> result;
  for (const auto& record : x.stored)
    if (const auto* y = std::get_if<result_added>(&record))
      result[y->result.step] = y->result.device;
  return result;
}

TEST(MergeCoreKinds, WhereAnyDeviceMayGoOnItsResultsSayMixed) {
  merger_options options;
  options.workload.name = "model";
  options.workload.any_device = true;
  two_kinds x{options};
  x.add_study(each_three);
  x.apply(merge_event::started{});
  x.train(0, {x.change(.1, 3, .01), x.change(.1, 3, .02)}, 12);
  const auto a = x.join("a");
  x.grant(a);
  x.step(a, x.lease_of(a)); // the state that both go on from
  x.lose(a);
  const auto b = x.join("b");
  x.grant(b);
  ASSERT_TRUE(x.trainers.at(b).granted);
  EXPECT_EQ(x.sent_leases.back().second.start.device, "a");
  x.step(b, x.lease_of(b));
  x.commit_all();
  EXPECT_EQ(kinds_of_results(x), (std::map<step_t, std::string>{
                                   {3, "a"}, {6, mixed_devices}}));
  options.kept = std::make_shared<kept_plan>(waiting_limits{}, true);
  options.kept->restore(plan_of(x));
  x.run_all();
  EXPECT_TRUE(x.studies[0].failed.empty());

  two_kinds again{std::move(options)};
  again.files = x.files;
  again.add_study(each_three);
  again.apply(merge_event::started{});
  again.train(0, {again.change(.1, 3, .03)}, 12);
  const auto other = again.join("b");
  again.grant(other);
  EXPECT_EQ(again.sent_leases.back().second.start.device, "a")
    << "who made it outlives the run";
}

TEST(MergeCoreKinds, AnotherRunGoesOnWhereItsKindIs) {
  two_kinds x;
  x.add_study(each_three);
  x.apply(merge_event::started{});
  x.train(0, {x.change(.1, 3, .01), x.change(.1, 3, .02)}, 12);
  const auto a = x.join("a");
  x.grant(a);
  x.step(a, x.lease_of(a));
  x.commit_all();
  merger_options options;
  const auto stored = plan_of(x);
  ASSERT_FALSE(stored.checkpoints.empty());
  for (const auto& y : stored.checkpoints)
    EXPECT_EQ(y.device, "a");
  options.kept = std::make_shared<kept_plan>();
  options.kept->restore(stored);
  two_kinds again{std::move(options)};
  again.files = x.files;
  again.add_study(each_three);
  again.apply(merge_event::started{});
  again.train(0, {x.change(.1, 3, .01)}, 12);
  again.grant(again.join("b"));
  EXPECT_TRUE(again.sent_leases.empty());
  EXPECT_EQ(again.wanted_kinds, std::set<std::string>{"a"});
  again.grant(again.join("a"));
  ASSERT_EQ(again.sent_leases.size(), 1u);
  EXPECT_EQ(again.sent_leases[0].second.stages.front().begin, 3u);
}

} // namespace
} // namespace hippo
