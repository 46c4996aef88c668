// What we say beside what Optuna's evaluator says of the same trials, as
// reference/record_optuna.py recorded it.
#include "hippo/search/importance/ped_anova.hpp"

#include <algorithm>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hippo {
namespace {

using json = nlohmann::json;

const json& recording() {
  static const json result = [] {
    std::ifstream file{HIPPO_OPTUNA_RECORDING};
    return json::parse(file);
  }();
  return result;
}

parameter_domain domain_of(const json& x) {
  const auto low = x.at("low").get<double>(), high = x.at("high").get<double>();
  if (x.at("kind") == "category")
    return category_domain(x.at("high").get<std::size_t>() + 1);
  if (x.at("kind") == "integer")
    return integer_domain(low, high);
  return real_domain(low, high, x.at("kind") == "log");
}

varied_parameter parameter_of(const json& x) {
  varied_parameter result;
  for (const auto& y : x.at("domains"))
    result.domains.push_back(domain_of(y));
  for (const auto& y : x.at("values"))
    result.values.push_back(y.is_null()
                              ? parameter_value{}
                              : parameter_value{y[0].get<std::uint32_t>(),
                                                y[1].get<double>()});
  return result;
}

TEST(PedAnova, IsComparedWithTheVersionThatItEquals) {
  EXPECT_EQ(recording().at("optuna"), "5.0.0");
}

TEST(PedAnova, EqualsOptunaOnRandomConditionalSpaces) {
  int above_zero = 0;
  for (const auto& x : recording().at("spaces")) {
    std::vector<varied_parameter> parameters;
    for (const auto& y : x.at("parameters"))
      parameters.push_back(parameter_of(y));
    const auto losses = x.at("losses").get<std::vector<double>>();
    const auto ours = ped_anova(parameters, losses, 0.1);
    const auto theirs = x.at("importance").get<std::vector<double>>();
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_NEAR(ours[i], theirs[i], 1e-12 + 1e-9 * std::abs(theirs[i]));
      above_zero += theirs[i] > 0;
    }
  }
  EXPECT_GT(above_zero, 60); // or nothing was compared
}

/// Trials of two parameters, of which the first decides.
struct decided {
  std::vector<varied_parameter> parameters;
  std::vector<double> losses;

  explicit decided(unsigned seed) {
    std::mt19937 draw{seed};
    std::uniform_real_distribution<> any{0, 1};
    parameters.resize(2);
    for (auto& x : parameters)
      x.domains = {real_domain(0, 1)};
    for (int i = 0; i < 200; ++i) {
      const auto x = any(draw), y = any(draw);
      parameters[0].values.push_back({0, x});
      parameters[1].values.push_back({0, y});
      losses.push_back(x + y / 1000);
    }
  }
};

class Seeds : public testing::TestWithParam<unsigned> {};

TEST_P(Seeds, WhatDecidesIsTheMostImportant) {
  const decided x{GetParam()};
  const auto found = ped_anova(x.parameters, x.losses, 0.1);
  EXPECT_GT(found[0], 4 * found[1]);
  EXPECT_GE(found[1], 0);
}

TEST_P(Seeds, TheOrderOfTrialsDoesNotMatter) {
  const decided x{GetParam()};
  auto y = x;
  for (auto& z : y.parameters)
    std::reverse(z.values.begin(), z.values.end());
  std::reverse(y.losses.begin(), y.losses.end());
  EXPECT_EQ(ped_anova(x.parameters, x.losses, 0.1),
            ped_anova(y.parameters, y.losses, 0.1));
}

INSTANTIATE_TEST_SUITE_P(PedAnova, Seeds, testing::Range(1u, 21u));

TEST(PedAnova, OneValueHasNoImportance) {
  const std::vector<double> losses{1, 2, 3, 4};
  for (const auto& domain :
       {real_domain(2, 2), real_domain(2, 2, true), integer_domain(2, 2),
        category_domain(1)}) {
    varied_parameter x{{domain}, {}};
    x.values.assign(4, {0, domain.low});
    EXPECT_EQ(ped_anova({x}, losses, 0.1), std::vector<double>{0});
  }
}

TEST(PedAnova, ADomainOfOneTrialSaysNothing) {
  // Of ten trials the best is alone in a domain, the others share one in which
  // none is among the best: neither can be compared with anything.
  varied_parameter x;
  x.domains = {real_domain(0, 1), real_domain(0, 1)};
  std::vector<double> losses;
  for (int i = 0; i < 10; ++i) {
    x.values.push_back({i == 0 ? 0u : 1u, 0.1 * i});
    losses.push_back(i);
  }
  EXPECT_EQ(ped_anova({x}, losses, 0.1).at(0), 0);
  // With a second trial in its domain it can.
  x.values[1] = {0, 0.9};
  EXPECT_GT(ped_anova({x}, losses, 0.1).at(0), 0);
}

TEST(PedAnova, OneTrialSaysNothing) {
  const varied_parameter x{{real_domain(0, 1)}, {{0, 0.5}}};
  EXPECT_EQ(ped_anova({x}, {1}, 0.1), std::vector<double>{0});
}

TEST(PedAnova, EqualLossesAreAllBest) {
  EXPECT_EQ(best_trials({1, 1, 1, 2, 3}, 0.1), 3u);
  EXPECT_EQ(best_trials({5, 4, 3, 2, 1, 0, 6, 7, 8, 9, 10}, 0.1), 2u);
}

} // namespace
} // namespace hippo
