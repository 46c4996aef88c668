#include "hippo/forecast/machines/costs.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

machine_kind kind_of(const std::string& name, double price, unsigned trainers) {
  machine_kind result;
  result.name = name;
  result.price = price;
  result.trainers = trainers;
  result.start_seconds = 360;
  return result;
}

TEST(Costs, AreFromWhenAMachineIsAskedForUntilItsLastLeaseEnds) {
  const auto cpu = kind_of("cpu", 2, 4), gpu = kind_of("gpu", 10, 1);
  const auto xs = costs_of({
    {cpu, 0, {}, 3240, 4 * 1800}, // an hour with its start, half of it at work
    {gpu, 0, {}, {}, 0},          // never had a lease
    {cpu, 3240, 6480, 3600, 0},   // was taken away, idle
  });
  ASSERT_EQ(xs.size(), 2u);
  EXPECT_EQ(xs[0].kind, "cpu");
  EXPECT_EQ(xs[0].price, 2);
  EXPECT_EQ(xs[0].machines, 2u);
  EXPECT_DOUBLE_EQ(xs[0].work, 1);
  EXPECT_DOUBLE_EQ(xs[0].idle, 1 + 2);
  EXPECT_DOUBLE_EQ(xs[1].work, 0);
  EXPECT_DOUBLE_EQ(xs[1].idle, 1);
  EXPECT_DOUBLE_EQ(total_cost(xs), 5);
}

TEST(Costs, OfNoMachinesAreNothing) {
  EXPECT_TRUE(costs_of({}).empty());
  EXPECT_EQ(total_cost(std::vector<machines_cost>{}), 0);
}

} // namespace
} // namespace hippo
