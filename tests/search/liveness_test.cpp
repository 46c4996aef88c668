// What holds for every algorithm: it ends, whatever fails, and it decides again
// as it did before.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "hippo/search/algorithm/asha.hpp"
#include "hippo/search/algorithm/dehb.hpp"
#include "hippo/search/algorithm/freeze_thaw.hpp"
#include "hippo/search/algorithm/hyperband.hpp"
#include "hippo/search/algorithm/median_stopping.hpp"
#include "hippo/search/algorithm/no_pruning.hpp"
#include "hippo/search/algorithm/pbt.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "hippo/search/algorithm/sha.hpp"
#include "hippo/search/algorithm/sub_sampling.hpp"
#include "search/trainers.hpp"

namespace hippo {
namespace {

constexpr std::uint64_t seeds = 3000;

class EveryAlgorithm : public testing::TestWithParam<const char*> {
protected:
  /// Makes an algorithm whose measures are drawn from `seed`.
  static std::unique_ptr<algorithm> make(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    const std::uint64_t trials = 1 + random() % 30, eta = 2 + random() % 4,
                        slots = random() % 6;
    const auto rungs = rung_steps(1 + random() % 3, 3 + random() % 30, eta);
    const auto better
      = random() % 2 == 0 ? direction::minimize : direction::maximize;
    const std::string name = GetParam();
    if (name == "no_pruning")
      return std::make_unique<no_pruning>(trials, std::vector{rungs.back()},
                                          slots);
    if (name == "hyperband")
      return std::make_unique<hyperband>(
        trials, hyperband_brackets(1 + seed % 3, 3 + random() % 30, eta),
        slots % 2 == 0, halving(eta, better));
    if (name.starts_with("dehb"))
      return std::make_unique<dehb>(
        trials * 4, rungs.size() > 1 ? rungs : std::vector<step_t>{1, 2}, eta,
        name == "dehb_always", better, slots, seed);
    if (name == "sub_sampling")
      return std::make_unique<sub_sampling>(trials, rungs, better);
    if (name == "median_stopping")
      return std::make_unique<median_stopping>(
        trials, rungs.back(), 1 + random() % rungs.back(), 1 + random() % 4,
        better, slots);
    if (name == "population")
      return std::make_unique<pbt>(trials, rungs.back(), 1 + random() % 12,
                                   random() % (trials / 2 + 1), better, seed);
    if (name == "sha")
      return std::make_unique<sha>(trials, rungs, eta, better);
    if (name == "freeze_thaw")
      return std::make_unique<freeze_thaw>(trials, rungs, better, slots);
    if (name == "asha_promotion")
      return std::make_unique<asha_promotion>(trials, rungs, eta, better,
                                              slots);
    return std::make_unique<asha_stopping>(trials, rungs, eta, better, slots);
  }

  static random_results results(std::uint64_t seed) {
    return {seed, seed % 2 == 0 ? 3u : 100000u, seed % 5 * 10,
            seed % 7 * 16}; // up to all but a few fail
  }
};

TEST_P(EveryAlgorithm, EndsWhateverFails) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto tuner = make(seed);
    trainers all{*tuner, results(seed), seed};
    std::mt19937_64 random{~seed};
    while (!all.running().empty()) {
      if (random() % 20 == 0) // whether it waits, trains, rests or has ended
        all.fail(random() % tuner->trials());
      else
        all.step();
    }
    ASSERT_TRUE(tuner->done()) << "seed " << seed << " waits for ever";
  }
}

TEST_P(EveryAlgorithm, DecidesAgainAsItDid) {
  for (std::uint64_t seed = 0; seed < seeds / 10; ++seed) {
    const auto tuner = make(seed);
    trainers all{*tuner, results(seed), seed};
    all.run();
    const auto again = make(seed);
    EXPECT_EQ(replay(*again, all.events()), all.actions());
    EXPECT_TRUE(again->done());
  }
}

TEST_P(EveryAlgorithm, HearingThingsTwiceChangesNothing) {
  for (std::uint64_t seed = 0; seed < seeds / 10; ++seed) {
    const auto tuner = make(seed);
    trainers all{*tuner, results(seed), seed};
    all.run();
    auto twice = all.events();
    for (auto i = twice.size(); i-- > 0;)
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), twice[i]);
    EXPECT_EQ(replay(*make(seed), twice), all.actions());
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm,
                         testing::Values("no_pruning", "sha", "asha_promotion",
                                         "asha_stopping", "hyperband",
                                         "median_stopping", "population",
                                         "sub_sampling", "dehb_always",
                                         "dehb_first_round", "freeze_thaw"),
                         [](const auto& x) { return std::string{x.param}; });

} // namespace
} // namespace hippo
