#include "hippo/plan/overview.hpp"

#include <gtest/gtest.h>

#include "plan/workload_model.hpp"

namespace hippo {
namespace {

configuration lr(double x) { return {{"lr", form::constant(x)}}; }

TEST(Overview, CutsWhereTrialsLeaveOrEndAndCountsThem) {
  search_plan plan;
  const auto first = plan.add_study({1, {10}});
  const auto second = plan.add_study({1, {10}});
  plan.ask(plan.add_trial(first, {{0, lr(.1)}, {6, lr(.01)}}), 10);
  plan.ask(plan.add_trial(first, {{0, lr(.1)}}), 4);
  plan.ask(plan.add_trial(second, {{0, lr(.1)}}), 10);
  plan.add_trial(second, {{0, lr(.5)}}); // asks for nothing
  const auto stages = overview(plan);
  ASSERT_EQ(stages.size(), 4u);
  const auto expect = [&](std::size_t i, std::uint64_t parent, step_t begin,
                          step_t end, std::uint64_t trials,
                          const std::vector<study_no>& studies) {
    EXPECT_EQ(stages[i].id, i + 1);
    EXPECT_EQ(stages[i].parent, parent) << i;
    EXPECT_EQ(stages[i].begin, begin) << i;
    EXPECT_EQ(stages[i].end, end) << i;
    EXPECT_EQ(stages[i].trials, trials) << i;
    EXPECT_EQ(stages[i].studies, studies) << i;
  };
  expect(0, 0, 0, 4, 3, {first, second});
  expect(1, 1, 4, 6, 2, {first, second});
  expect(2, 2, 6, 10, 1, {second});
  expect(3, 2, 6, 10, 1, {first});
}

struct OverviewProperties : testing::TestWithParam<unsigned> {};

TEST_P(OverviewProperties, StagesAddUpToUniqueAndAskedSteps) {
  std::mt19937 rng{GetParam()};
  search_plan plan;
  const auto study = plan.add_study({1, {16}});
  for (int i = 0; i < 20; ++i)
    plan.ask(plan.add_trial(study, test::random_segments(rng, 16)),
             1 + rng() % 16);
  const auto stages = overview(plan);
  std::uint64_t unique = 0;
  std::uint64_t asked = 0;
  for (const auto& x : stages) {
    ASSERT_LT(x.begin, x.end);
    ASSERT_LT(x.parent, x.id);
    EXPECT_EQ(x.begin, x.parent == 0 ? 0 : stages[x.parent - 1].end);
    unique += x.end - x.begin;
    asked += (x.end - x.begin) * x.trials;
  }
  EXPECT_EQ(unique, plan.figures().unique_steps);
  EXPECT_EQ(asked, plan.figures().asked_steps);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OverviewProperties, testing::Range(0u, 50u));

} // namespace
} // namespace hippo
