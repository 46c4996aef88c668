#include "hippo/space/complexity.hpp"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

double complexity_in(const std::string& space) {
  auto workload = test::workloads().front();
  for (const auto* name : {"C", "gamma", "coef0", "degree"})
    workload.hyper_parameters.push_back(test::parameter(name, 1.0));
  const auto file = read_study(test::with_space(space), "s.yaml", {workload});
  for (const auto& x : file.errors)
    ADD_FAILURE() << to_text(x);
  return file.study ? complexity_of(file.study->space) : 0;
}

TEST(Complexity, OfWhatIsGivenIsOne) {
  EXPECT_EQ(complexity_in("  lr: 0.1\n  batch_size: 64\n"), 1);
  EXPECT_EQ(complexity_of(search_space{}), 1);
}

TEST(Complexity, OfChoicesIsBelowTwo) {
  EXPECT_EQ(complexity_in("  lr: {choice: [0.1]}\n"), 1);
  EXPECT_EQ(complexity_in("  lr: {choice: [0.1, 0.2]}\n"), 1.5);
  EXPECT_DOUBLE_EQ(complexity_in("  batch_size: {int_uniform: [2, 14]}\n"),
                   2 - 1 / 13.0);
}

TEST(Complexity, OfARangeGrowsWithItsLength) {
  EXPECT_DOUBLE_EQ(complexity_in("  weight_decay: {uniform: [3, 7]}\n"),
                   2 + 0.999 * 4);
}

TEST(Complexity, OfALogarithmicRangeIsByItsExponents) {
  EXPECT_NEAR(complexity_in("  lr: {log_uniform: [1e-3, 1e3]}\n"), 7.994, 1e-9);
  EXPECT_NEAR(complexity_in("  lr: {log_uniform: [0.03125, 32768]}\n"), 21.98,
              1e-9);
  EXPECT_NEAR(complexity_in("  lr: {log_uniform: [3, 5]}\n"),
              2 + 0.999 * std::log(5.0 / 3), 1e-9);
}

// The kernels of a support vector machine, with what each has of C, gamma,
// coef0 and degree.
TEST(Complexity, OfKernelsIsAsInTheReference) {
  const std::string c = "  C: {log_uniform: [0.03125, 32768]}\n";
  const std::string gamma = "  gamma: {log_uniform: [1e-3, 1e3]}\n";
  const std::string coef0 = "  coef0: {uniform: [-1000, 1000]}\n";
  const std::string degree = "  degree: {int_uniform: [2, 14]}\n";
  EXPECT_NEAR(complexity_in(c), 21.98, 1e-3);
  EXPECT_NEAR(complexity_in(c + gamma), 175.708, 1e-3);
  EXPECT_NEAR(complexity_in(c + gamma + coef0), 351'416, 1);
  EXPECT_NEAR(complexity_in(c + gamma + coef0 + degree), 675'800, 1);
}

TEST(Complexity, OfAChoiceIsThatOfItsLargestAlternative) {
  EXPECT_DOUBLE_EQ(
    complexity_in("  lr: {choice: [0.1, {log_uniform: [1e-3, 1]}, 0.2]}\n"),
    (2 - 1 / 3.0) * (2 + 0.999 * 3));
}

} // namespace
} // namespace hippo
