#include "hippo/plan/schedule/step_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace hippo {
namespace {

/// A made-up kind of device: what is the same for all, operations a second and
/// parameters a second.
struct made_up_kind {
  std::string name;
  double overhead, operations_second, parameters_second;

  [[nodiscard]] double seconds(double batch, const workload_size& x) const {
    return overhead + batch * x.operations / operations_second
           + x.parameters / parameters_second;
  }
};

const std::vector<made_up_kind> six_kinds{
  {"cpu-1", 4e-4, 3e10, 5e8},  {"cpu-16", 9e-4, 4e11, 2e9},
  {"t4", 2e-3, 4e12, 1.5e10},  {"l4", 1.5e-3, 2.5e13, 1.6e10},
  {"a100", 1e-3, 9e13, 9e10}, {"h100", 8e-4, 2.6e14, 1.6e11}};

class made_up {
public:
  explicit made_up(unsigned seed) : random_(seed) {}

  double between(double low, double high) { // of logarithms
    return std::exp(std::uniform_real_distribution<>{std::log(low),
                                                     std::log(high)}(random_));
  }
  workload_size size() { return {between(1e6, 5e9), between(1e5, 1e8)}; }
  double batch() {
    return std::exp2(std::uniform_int_distribution<>{3, 10}(random_));
  }
  double noise(double share) {
    return std::exp(std::normal_distribution<>{0, share}(random_));
  }

private:
  std::mt19937 random_;
};

/// Of the kinds, ten profiles each, of ten workloads.
std::vector<step_profile> profiles(made_up& random, double noise) {
  std::vector<workload_size> sizes;
  for (int i = 0; i < 10; ++i)
    sizes.push_back(random.size());
  std::vector<step_profile> result;
  for (const auto& kind : six_kinds)
    for (std::size_t i = 0; i < 10; ++i) {
      const auto batch = random.batch();
      const auto& size = sizes[i % sizes.size()];
      result.push_back({kind.name, "w" + std::to_string(i % sizes.size()),
                        batch, size,
                        kind.seconds(batch, size) * random.noise(noise), 5});
    }
  return result;
}

TEST(StepModel, PredictsUnseenStagesWithinFivePercent) {
  constexpr unsigned seeds = 20;
  constexpr int stages = 200;
  double sum = 0, worst = 0;
  int within = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    made_up random{seed};
    const step_model model{profiles(random, 0.05)};
    double off = 0;
    for (int i = 0; i < stages; ++i) {
      const auto size = random.size();
      const auto batch = random.batch();
      const auto& kind = six_kinds[static_cast<std::size_t>(i)
                                   % six_kinds.size()];
      const auto found = model.predict(kind.name, "new", batch, size);
      ASSERT_TRUE(found);
      const auto error
        = std::abs(found->seconds / kind.seconds(batch, size) - 1);
      off += error;
      within += error <= found->margin ? 1 : 0;
    }
    sum += off / stages;
    worst = std::max(worst, off / stages);
  }
  RecordProperty("mean_error", std::to_string(sum / seeds));
  EXPECT_LE(sum / seeds, 0.035);
  // With ten profiles of 5 % noise, one in many is unlucky.
  EXPECT_LE(worst, 0.08);
  EXPECT_GE(within, seeds * stages * 9 / 10);
}

TEST(StepModel, OneThatWasDisturbedDoesNotPullTheRestAlong) {
  made_up random{1};
  auto known = profiles(random, 0.02);
  known[3].seconds *= 10;
  const step_model model{known};
  const workload_size size{1e8, 1e7};
  const auto found = model.predict("cpu-1", "new", 64, size);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->seconds / six_kinds[0].seconds(64, size), 1, 0.1);
}

TEST(StepModel, TimesAreNeverNegative) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    made_up random{seed};
    const step_model model{profiles(random, 0.5)};
    for (const auto& kind : six_kinds)
      for (const double batch : {1., 1e6}) {
        const auto found = model.predict(kind.name, "", batch, {1, 1});
        ASSERT_TRUE(found);
        EXPECT_GE(found->seconds, 0);
        EXPECT_GE(found->margin, 0);
      }
  }
}

TEST(StepModel, WithFewProfilesOnlyRatiosOfOneWorkloadCount) {
  const workload_size size{1e8, 1e7};
  const std::vector<step_profile> known{
    {"a", "w", 32, size, 2, 1},  {"a", "w", 64, size, 3, 1},
    {"a", "v", 64, size, 10, 1}, {"b", "w", 32, size, 4, 1},
    {"b", "w", 64, size, 6, 1}};
  const step_model model{known};
  const auto found = model.predict("b", "v", 64, size);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->seconds, 20, 1e-9);
  const auto between = model.predict("b", "w", 48, size);
  ASSERT_TRUE(between);
  EXPECT_NEAR(between->seconds, 5, 1e-9);
  EXPECT_FALSE(model.predict("b", "x", 64, size)) << "measured nowhere";
  EXPECT_FALSE(model.predict("c", "w", 64, size)) << "no kind to compare";
  EXPECT_FALSE(model.predict("b", "v", 128, size)) << "beyond what is known";
}

TEST(StepModel, WithoutSizesOnlyRatiosCount) {
  std::vector<step_profile> known;
  for (const double batch : {8., 16., 32., 64., 128.}) {
    known.push_back({"a", "w", batch, {}, batch, 1});
    known.push_back({"b", "w", batch, {}, 3 * batch, 1});
  }
  known.push_back({"a", "v", 32, {}, 7, 1});
  const step_model model{known};
  const auto found = model.predict("b", "v", 32, {});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->seconds, 21, 1e-9);
}

} // namespace
} // namespace hippo
