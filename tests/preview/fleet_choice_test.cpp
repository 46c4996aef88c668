#include "hippo/forecast/preview/fleet_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace hippo {
namespace {

/// Stands in for the simulator: work and a longest path for each kind, trainers
/// that idle the more the nearer the two are, and noise.
struct made_up_world {
  hippo::fleet machines;
  std::vector<double> path;  ///< seconds, by kind
  std::vector<double> work;  ///< likewise
  double noise = 0.03;
  mutable unsigned simulations = 0;

  explicit made_up_world(unsigned seed) {
    std::mt19937 random{seed};
    const auto between = [&](double low, double high) {
      return std::exp(std::uniform_real_distribution<>{
        std::log(low), std::log(high)}(random));
    };
    const auto total = between(2e5, 5e6);
    const auto longest = total / between(20, 200);
    for (int i = 0; i < 6; ++i) {
      machine_kind x;
      x.name = "kind" + std::to_string(i);
      x.device = x.name;
      const auto speed = between(0.2, 5);
      x.price = speed * between(0.5, 2);
      x.count = static_cast<unsigned>(between(4, 64));
      x.start_seconds = between(30, 300);
      machines.kinds.push_back(x);
      path.push_back(longest / speed);
      work.push_back(total / speed);
    }
  }

  /// The mean time on machines.
  [[nodiscard]] double seconds(const std::vector<machine_group>& xs) const {
    double rate = 0, least = std::numeric_limits<double>::infinity(), start = 0;
    for (const auto& x : xs) {
      rate += x.machines / work[x.kind];
      least = std::min(least, path[x.kind]);
      start = std::max(start, machines.kinds[x.kind].start_seconds);
    }
    const auto even = 1 / rate;
    // Trainers idle where the longest path is about as long as all the rest.
    return std::hypot(even, least) + start;
  }

  [[nodiscard]] double cost(const std::vector<machine_group>& xs,
                            double takes) const {
    double price = 0;
    for (const auto& x : xs)
      price += x.machines * machines.kinds[x.kind].price;
    return price * takes / 3600;
  }

  [[nodiscard]] expected<fleet_run>
  simulate(const std::vector<machine_group>& xs, std::uint64_t seed) const {
    ++simulations;
    std::mt19937_64 random{seed + 10 * xs[0].machines + 1000 * xs[0].kind
                           + 10'000 * xs.size()};
    fleet_run result;
    result.seconds = seconds(xs)
                     * std::exp(std::normal_distribution<>{0, noise}(random));
    result.cost = cost(xs, result.seconds);
    const auto& kind = xs[0].kind;
    result.work_seconds = work[kind];
    result.least_seconds
      = std::max(path[kind], work[kind] / xs[0].machines);
    return result;
  }

  [[nodiscard]] fleet_choice choose(const fleet_limits& limits) const {
    std::vector<std::size_t> kinds{0, 1, 2, 3, 4, 5};
    auto found = choose_machines(
      machines, kinds, limits,
      [this](const auto& xs, std::uint64_t n) { return simulate(xs, n); });
    EXPECT_TRUE(found);
    return std::move(*found);
  }

  struct known_best {
    double seconds = std::numeric_limits<double>::infinity();
    double cost = std::numeric_limits<double>::infinity();
    bool found = false;
  };

  /// The best that keeps to the limits, by the mean times, of all numbers of
  /// machines of a kind.
  [[nodiscard]] known_best best(const fleet_limits& limits) const {
    known_best result;
    for (std::size_t kind = 0; kind < machines.kinds.size(); ++kind)
      for (unsigned n = 1; n <= machines.kinds[kind].count; ++n) {
        const std::vector<machine_group> xs{{kind, n}};
        const auto takes = seconds(xs);
        const auto costs = cost(xs, takes);
        if ((limits.deadline_seconds && takes > *limits.deadline_seconds)
            || (limits.budget && costs > *limits.budget))
          continue;
        if (limits.deadline_seconds ? costs < result.cost
                                    : takes < result.seconds)
          result = {takes, costs, true};
      }
    return result;
  }
};

TEST(FleetChoice, IsNearlyThatOfOneWhoKnowsTheTimes) {
  int both = 0, near = 0, missed = 0, none_said = 0, none_true = 0;
  unsigned simulations = 0;
  for (unsigned seed = 1; seed <= 500; ++seed) {
    const made_up_world world{seed};
    std::mt19937 random{seed + 1000};
    std::uniform_real_distribution<> uniform{0, 1};
    fleet_limits limits;
    const auto soonest = world.best({std::nullopt, std::nullopt});
    if (seed % 3 != 0)
      limits.deadline_seconds
        = soonest.seconds * std::exp(uniform(random) * 2.5 - 0.1);
    if (seed % 3 != 1) {
      const auto least = world.best({1e18, std::nullopt});
      limits.budget = least.cost * std::exp(uniform(random) * 2 - 0.1);
    }
    const auto known = world.best(limits);
    const auto found = world.choose(limits);
    simulations += world.simulations;
    none_true += known.found ? 0 : 1;
    if (!found.chosen) {
      none_said += 1;
      EXPECT_TRUE(found.nearest_in_time && found.nearest_in_cost);
      // Only what hardly anything could keep to is given up.
      const fleet_limits tighter{
        limits.deadline_seconds
          ? std::optional{*limits.deadline_seconds / 1.15}
          : std::nullopt,
        limits.budget ? std::optional{*limits.budget / 1.15} : std::nullopt};
      near += known.found && world.best(tighter).found ? 0 : 1;
      ++both;
      continue;
    }
    const auto& x = found.candidates[*found.chosen];
    const auto takes = world.seconds(x.machines);
    const auto costs = world.cost(x.machines, takes);
    missed += (limits.deadline_seconds && takes > *limits.deadline_seconds)
                  || (limits.budget && costs > *limits.budget)
                ? 1
                : 0;
    ++both;
    near += (limits.deadline_seconds ? costs <= 1.05 * known.cost
                                     : takes <= 1.05 * known.seconds)
              ? 1
              : 0;
  }
  RecordProperty("near", near);
  RecordProperty("missed", missed);
  RecordProperty("none_said", none_said);
  RecordProperty("simulations", static_cast<int>(simulations / 500));
  EXPECT_GE(near, both * 92 / 100);
  EXPECT_LE(missed, 5);
  EXPECT_GT(none_true, 0);
  EXPECT_GE(none_said, none_true);
  EXPECT_LT(none_said, 250);
}

TEST(FleetChoice, TheFrontHasNobodyWhoIsBeaten) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const auto found = made_up_world{seed}.choose({});
    ASSERT_FALSE(found.front.empty());
    EXPECT_FALSE(found.chosen);
    for (std::size_t i = 1; i < found.front.size(); ++i) {
      const auto& cheaper = found.candidates[found.front[i - 1]];
      const auto& sooner = found.candidates[found.front[i]];
      EXPECT_LT(cheaper.cost.mean, sooner.cost.mean);
      EXPECT_GT(cheaper.seconds.mean, sooner.seconds.mean);
    }
    EXPECT_EQ(found.front.front(), *found.cheapest);
    EXPECT_EQ(found.front.back(), *found.soonest);
  }
}

TEST(FleetChoice, WithBothLimitsItIsTheCheapestUnderBoth) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const made_up_world world{seed};
    const auto soonest = world.best({});
    const fleet_limits limits{soonest.seconds * 3, soonest.cost};
    const auto found = world.choose(limits);
    if (!found.chosen)
      continue;
    const auto& chosen = found.candidates[*found.chosen];
    EXPECT_TRUE(meets_deadline(chosen, limits));
    EXPECT_TRUE(meets_budget(chosen, limits));
    for (const auto& x : found.candidates) {
      if (x.fate == candidate_fate::simulated && meets_deadline(x, limits)
          && meets_budget(x, limits)) {
        EXPECT_LE(chosen.cost.mean, x.cost.mean);
      }
    }
  }
}

TEST(FleetChoice, WhatMissesALimitAtBestIsNotSimulated) {
  const made_up_world all{7}, late{7};
  static_cast<void>(all.choose({}));
  const auto soonest = late.best({});
  const auto found = late.choose({soonest.seconds * 1.5, std::nullopt});
  EXPECT_LT(late.simulations, all.simulations);
  const auto left_out = std::ranges::count(
    found.candidates, candidate_fate::late, &fleet_candidate::fate);
  EXPECT_GT(left_out, 0);
  for (const auto& x : found.candidates)
    if (x.fate == candidate_fate::late && x.simulations > 1)
      ADD_FAILURE() << to_text(late.machines, x.machines);
}

TEST(FleetChoice, SaysWhatComesNearestOnBothSides) {
  const made_up_world world{3};
  const auto found = world.choose({1, 1e-3});
  EXPECT_FALSE(found.chosen);
  ASSERT_TRUE(found.nearest_in_time && found.nearest_in_cost);
  const auto& soon = found.candidates[*found.nearest_in_time];
  const auto& cheap = found.candidates[*found.nearest_in_cost];
  EXPECT_LE(world.seconds(soon.machines), 1.1 * world.best({}).seconds);
  EXPECT_LE(world.cost(cheap.machines, world.seconds(cheap.machines)),
            1.1 * world.best({1e18, std::nullopt}).cost);
}

TEST(FleetChoice, MachinesWithoutTrainersForAllRanksAreNotThoughtOf) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const made_up_world world{seed};
    std::vector<std::size_t> kinds;
    for (std::size_t i = 0; i < world.machines.kinds.size(); ++i)
      if (world.machines.kinds[i].count >= 3)
        kinds.push_back(i);
    ASSERT_FALSE(kinds.empty());
    const auto has_enough = [](const std::vector<machine_group>& xs) {
      return std::ranges::any_of(
        xs, [](const auto& group) { return group.machines >= 3; });
    };
    const auto found = choose_machines(
      world.machines, kinds, {},
      [&](const auto& xs, std::uint64_t n) -> expected<fleet_run> {
        if (!has_enough(xs))
          return {errc::training_failed, "too few"};
        return world.simulate(xs, n);
      },
      {}, 3);
    ASSERT_TRUE(found) << found.failure().message;
    for (const auto& x : found->candidates)
      EXPECT_TRUE(has_enough(x.machines));
  }
}

TEST(FleetChoice, AFailureEndsIt) {
  const made_up_world world{1};
  const auto found = choose_machines(
    world.machines, {0, 1}, {},
    [](const auto&, std::uint64_t) -> expected<fleet_run> {
      return {errc::training_failed, "no"};
    });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.failure().message, "no");
}

} // namespace
} // namespace hippo
