#include "hippo/tune/sampler.hpp"

#include <set>

#include <gtest/gtest.h>

#include "tune/studies.hpp"

namespace hippo {
namespace {

std::vector<std::string> all(const study_spec& x) {
  const auto values = make_sampler(x);
  std::vector<std::string> result;
  for (trial_no trial = 0; trial < make_algorithm(x)->trials(); ++trial)
    result.push_back(values->draw(trial).shown.dump());
  return result;
}

TEST(Sampler, GridCoversEachCombinationOnceInOrder) {
  const auto x = study(twelve, "grid");
  const auto found = all(x);
  ASSERT_EQ(found.size(), 12u);
  for (std::uint64_t i = 0; i < 12; ++i)
    EXPECT_EQ(found[i], x.space.at(i).shown.dump());
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 12u);
}

TEST(Sampler, RandomCoversAFiniteSpaceOnceInAnotherOrder) {
  auto x = study(twelve, "random");
  const auto grid = all(study(twelve, "grid"));
  const auto found = all(x);
  EXPECT_NE(found, grid);
  EXPECT_EQ(std::set(found.begin(), found.end()),
            std::set(grid.begin(), grid.end()));
  x.seed = 1;
  EXPECT_NE(all(x), found);
}

TEST(Sampler, ALargerBudgetGoesOnWhereTheSmallerOneEnds) {
  for (const auto* space : {twelve, endless}) {
    const auto few = all(study(space, "random", "budget: {trials: 4}"));
    auto more = all(study(space, "random", "budget: {trials: 9}"));
    more.resize(4);
    EXPECT_EQ(few, more);
  }
}

TEST(Sampler, DrawsFromAContinuousSpace) {
  const auto x = study(endless, "random", "budget: {trials: 100}\nseed: 5");
  const auto found = all(x);
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 100u);
  EXPECT_EQ(found[3], x.space.sample(5, 3).shown.dump());
}

TEST(Sampler, HalvingAlgorithmsMayCountThroughTheGrid) {
  const auto grid = all(study(twelve, "grid"));
  EXPECT_EQ(all(study(twelve, "{sha: {sampler: grid}}")), grid);
  EXPECT_EQ(all(study(twelve, "{asha: {sampler: grid}}")), grid);
  EXPECT_NE(all(study(twelve, "sha")), grid);
  EXPECT_EQ(all(study(twelve, "sha")), all(study(twelve, "random")));
}

} // namespace
} // namespace hippo
