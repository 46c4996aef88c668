#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "hippo/search/pareto/dominance.hpp"
#include "hippo/search/pareto/hypervolume.hpp"

namespace hippo {
namespace {

const nlohmann::json& recorded() {
  static const auto result = [] {
    std::ifstream in{HIPPO_OPTUNA_RECORDING};
    return nlohmann::json::parse(in);
  }();
  return result;
}

TEST(OptunaRecording, RanksAreEqual) {
  for (const auto& x : recorded().at("sets"))
    EXPECT_EQ(non_domination_ranks(x.at("points").get<std::vector<losses>>()),
              x.at("ranks").get<std::vector<std::size_t>>());
}

/// Optuna ranks those that break constraints by how much they do alone.
TEST(OptunaRecording, TheOrderKeepsToConstrainedRanks) {
  for (const auto& x : recorded().at("sets")) {
    const auto points = x.at("points").get<std::vector<losses>>();
    const auto penalty = x.at("penalty").get<std::vector<double>>();
    const auto ranks = x.at("constrained").get<std::vector<std::size_t>>();
    std::vector<outcome> outcomes;
    for (std::size_t i = 0; i < points.size(); ++i)
      outcomes.push_back({points[i], penalty[i]});
    const auto order = best_first(outcomes);
    for (std::size_t i = 1; i < order.size(); ++i)
      EXPECT_LE(ranks[order[i - 1]], ranks[order[i]]);
  }
}

TEST(OptunaRecording, VolumesAreEqual) {
  for (const auto& x : recorded().at("sets"))
    EXPECT_NEAR(hypervolume(x.at("points").get<std::vector<losses>>(),
                            x.at("reference").get<losses>()),
                x.at("volume").get<double>(), 1e-12);
}

TEST(OptunaRecording, SubsetsAreAsGood) {
  for (const auto& x : recorded().at("sets")) {
    const auto points = x.at("points").get<std::vector<losses>>();
    const auto ranks = non_domination_ranks(points);
    std::vector<losses> first, chosen;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (ranks[i] == 0)
        first.push_back(points[i]);
    const auto reference = reference_beyond(first);
    for (auto i : most_hypervolume(first, x.at("count").get<std::size_t>(),
                                   reference))
      chosen.push_back(first[i]);
    EXPECT_NEAR(hypervolume(chosen, reference),
                x.at("chosen_volume").get<double>(), 1e-12);
  }
}

} // namespace
} // namespace hippo
