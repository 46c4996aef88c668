// Who gets which kind of device, over hours of virtual time.

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pool/pool_world.hpp"

namespace hippo {
namespace {

using test::pool_workload;
using test::pool_world;

constexpr double hour = 3600;

std::map<std::string, unsigned> each(unsigned trainers) {
  return {{"cpu", trainers}, {"small", trainers}, {"large", trainers}};
}

/// Each is best on another kind.
std::vector<pool_workload> mismatched() {
  return {{"a", {{"cpu", 10}, {"small", 2}, {"large", 1}}, 1, 1},
          {"b", {{"cpu", 0.5}, {"small", 10}, {"large", 6}}, 1, 2},
          {"c", {{"cpu", 0.2}, {"small", 2}, {"large", 10}}, 1, 3}};
}

/// All gain as much by each kind.
std::vector<pool_workload> alike(double small, double large) {
  std::vector<pool_workload> result;
  for (const auto* name : {"a", "b", "c"})
    result.push_back({name, {{"cpu", 1}, {"small", small}, {"large", large}}});
  return result;
}

/// What is trained in two hours, in best devices.
double devices_of(placement_rule rule, const std::vector<pool_workload>& xs,
                  unsigned trainers) {
  pool_world world{rule, xs, each(trainers), 1};
  world.run(2 * hour);
  return world.progress() / (2 * hour);
}

TEST(PoolPlacement, AdvantageTrainsTwiceAsMuchOfAMismatchedMix) {
  const auto fair = devices_of(placement_rule::fair, mismatched(), 50);
  const auto complexity
    = devices_of(placement_rule::complexity, mismatched(), 50);
  const auto advantage
    = devices_of(placement_rule::advantage, mismatched(), 50);
  EXPECT_GE(advantage, 2 * fair);
  std::printf("best devices of 150: fair %.1f, complexity %.1f, advantage "
              "%.1f\n",
              fair, complexity, advantage);
}

TEST(PoolPlacement, NoRuleLosesAnythingWhereAllGainAlike) {
  for (const auto& xs : {alike(1, 1), alike(2, 4)}) {
    const auto fair = devices_of(placement_rule::fair, xs, 12);
    for (const auto rule :
         {placement_rule::advantage, placement_rule::complexity})
      EXPECT_GE(devices_of(rule, xs, 12), 0.98 * fair) << to_word(rule);
  }
}

TEST(PoolPlacement, SharesAreByWeightUnderEachRule) {
  constexpr double trainers = 36;
  for (const auto rule : {placement_rule::advantage, placement_rule::complexity,
                          placement_rule::fair})
    for (const std::array<double, 3> weights :
         {std::array<double, 3>{2, 1, 1}, {1, 2, 1}, {1, 1, 2}}) {
      auto xs = mismatched();
      for (std::size_t i = 0; i < xs.size(); ++i)
        xs[i].weight = weights[i];
      pool_world world{rule, xs, each(12), 1};
      world.run(hour);
      for (std::size_t i = 0; i < xs.size(); ++i)
        EXPECT_NEAR(world.device_seconds(i)
                      / (trainers * hour * weights[i] / 4),
                    1, 0.05)
          << to_word(rule) << ", " << xs[i].name << " of weight "
          << weights[i];
    }
}

TEST(PoolPlacement, TrainersDoNotGoToAndFro) {
  pool_world world{placement_rule::advantage, mismatched(), each(12), 1};
  world.run(hour);
  const auto before = world.yields();
  world.run(hour);
  EXPECT_LT(world.yields() - before, 36u); // one for each trainer
}

} // namespace
} // namespace hippo
