// Values step by step against what PyTorch's lr_scheduler classes gave, as
// reference/record_torch.py has recorded it, Transformers' schedules as
// reference/record_transformers.py has, and REX against the multipliers
// of its paper.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"
#include "hippo/sequence/family.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

constexpr double tolerance = 1e-12;

/// PyTorch gets a value from the one before it: what it loses while values are
/// large is the same amount when they are small.
constexpr double lost_by_recursion = 2e-15;

json recording(const char* path) {
  std::ifstream in(path);
  return json::parse(in);
}

observations observed(const json& x) {
  observations result;
  if (!x.contains("observed"))
    return result;
  result.better = x.at("direction") == "minimize" ? direction::minimize
                                                  : direction::maximize;
  for (const auto& pair : x.at("observed"))
    result.values.push_back(
      {pair[0].get<step_t>(),
       pair[1].is_null() ? std::nan("") : pair[1].get<double>()});
  return result;
}

/// @returns the classes that were recorded
std::set<std::string> expect_recorded(const char* path, std::size_t least) {
  const auto recorded = recording(path);
  std::set<std::string> classes;
  EXPECT_GE(recorded.at("cases").size(), least);
  for (const auto& x : recorded.at("cases")) {
    const auto& text = x.at("sequence");
    const auto steps = x.at("steps").get<step_t>();
    const auto made = make_sequence(text, steps, observed(x));
    EXPECT_TRUE(made.errors.empty()) << text << made.errors[0].message;
    classes.insert(x.at("class").get<std::string>());
    const auto values = x.at("values").get<std::vector<double>>();
    EXPECT_EQ(values.size(), steps);
    double largest = 0;
    for (auto y : values)
      largest = std::max(largest, std::abs(y));
    for (step_t t = 0; t < steps; ++t) {
      const auto& shape = made.value.form_at(t);
      const auto margin
        = tolerance * std::abs(values[t]) + lost_by_recursion * largest;
      // A plateau is rounded when it is made: it must be what a number within
      // the margin rounds to.
      if (!shape.is_plateau()) {
        EXPECT_NEAR(shape.exact_at(t), values[t], margin)
          << text << " at step " << t;
      }
      const auto found = std::get<double>(made.value.at(t));
      EXPECT_LE(canonical(values[t] - margin), found) << text << " at " << t;
      EXPECT_GE(canonical(values[t] + margin), found) << text << " at " << t;
    }
  }
  return classes;
}

TEST(Reference, ValuesAreThoseOfTransformers) {
  EXPECT_EQ(expect_recorded(HIPPO_RECORDINGS "transformers.json", 23),
            (std::set<std::string>{
              "SequentialLR", "get_inverse_sqrt_schedule",
              "get_wsd_schedule 1-sqrt", "get_wsd_schedule cosine",
              "get_wsd_schedule linear"}));
}

TEST(Reference, ValuesAreThoseOfPyTorch) {
  EXPECT_EQ(expect_recorded(HIPPO_RECORDINGS "torch.json", 60),
            (std::set<std::string>{
              "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
              "CyclicLR exp_range", "CyclicLR triangular",
              "CyclicLR triangular2", "ExponentialLR", "LinearLR",
              "MultiStepLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau",
              "SequentialLR", "StepLR"}));
}

TEST(Reference, RexHasTheMultipliersOfItsPaper) {
  const auto made = make_sequence(
    json::parse(R"({"rex": {"initial": 1, "horizon": 1000}})"), 2000);
  ASSERT_TRUE(made.errors.empty());
  const auto at = [&](step_t t) { return std::get<double>(made.value.at(t)); };
  EXPECT_EQ(at(0), 1);
  EXPECT_NEAR(at(250), 0.857142857143, 1e-12);
  EXPECT_NEAR(at(500), 0.666666666667, 1e-12);
  EXPECT_NEAR(at(750), 0.4, 1e-12);
  EXPECT_NEAR(at(900), 0.181818181818, 1e-12);
  EXPECT_EQ(at(1000), 0);
  EXPECT_EQ(at(1999), 0);
  const auto other = make_sequence(
    json::parse(R"({"rex": {"initial": 0.5, "end": 0.1, "horizon": 20,
                    "beta": 0.8}})"), 30);
  for (step_t t = 0; t < 20; ++t) {
    const double p = static_cast<double>(t) / 20;
    EXPECT_NEAR(std::get<double>(other.value.at(t)),
                0.1 + 0.4 * (1 - p) / (1 - 0.8 * p), 1e-12);
  }
}

} // namespace
} // namespace hippo
