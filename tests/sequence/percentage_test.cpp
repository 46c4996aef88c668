#include "hippo/sequence/percentage.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/sequence/family.hpp"
#include "sequence/random_sequences.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

step_t resolved(const std::string& text, step_t length) {
  const auto x = percentage::from(text);
  EXPECT_TRUE(x) << text;
  return x ? x->of(length) : 0;
}

TEST(Percentage, IsRoundedHalfUpAndAtLeastOne) {
  EXPECT_EQ(resolved("20%", 1000), 200u);
  EXPECT_EQ(resolved("90%", 10), 9u);
  EXPECT_EQ(resolved("12.5%", 4), 1u);   // a half
  EXPECT_EQ(resolved("12.5%", 12), 2u);  // one and a half
  EXPECT_EQ(resolved("12.49%", 12), 1u); // a little less
  EXPECT_EQ(resolved("0.001%", 7), 1u);
  EXPECT_EQ(resolved("100%", 7), 7u);
  EXPECT_EQ(resolved("250%", 4), 10u);
  EXPECT_EQ(resolved("33.3333333%", 1'000'000'000), 333'333'333u);
  EXPECT_EQ(resolved("999999999%", step_limit), 9'999'999'990'000'000u);
}

TEST(Percentage, NothingElseIsOne) {
  for (const char* text : {"", "%", "20", "0%", "0.0%", "-1%", "+1%", ".5%",
                           "5.%", "1.2.3%", "1e1%", " 5%", "5 %", "5%%",
                           "1234567890%", "0.000000001%", "five%"})
    EXPECT_FALSE(percentage::from(text)) << text;
}

class PercentageProperty : public testing::TestWithParam<unsigned> {};

TEST_P(PercentageProperty, IsTheNearestShare) {
  std::mt19937_64 random{GetParam()};
  for (int i = 0; i < 5000; ++i) {
    const auto length = 1 + random() % (i % 2 == 0 ? 60 : step_limit);
    const auto thousandths = 1 + random() % 200'000;
    const auto rest = std::to_string(1000 + thousandths % 1000).substr(1);
    const auto text = std::to_string(thousandths / 1000) + '.' + rest + '%';
    const auto found = resolved(text, length);
    // In units of a thousandth of a percent of a step.
    constexpr std::uint64_t step = 100'000;
    const auto exact = length * thousandths;
    if (2 * exact < step) {
      EXPECT_EQ(found, 1u) << text << " of " << length;
      continue;
    }
    ASSERT_GE(2 * exact + step, 2 * found * step) << text << " of " << length;
    ASSERT_LT(2 * exact, (2 * found + 1) * step) << text << " of " << length;
  }
}

/// Whether a key's value is a number of steps, whatever the family.
bool is_of_steps(const std::string& key) {
  const std::vector<std::string> keys{"milestones", "size", "every",
                                      "horizon", "period", "up",
                                      "down", "rise", "steps",
                                      "warmup", "stable", "decay"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Writes some numbers of steps as percentages of `length`.
/// @returns what they are, in the same place
json with_percentages(json& x, step_t length, std::mt19937& random,
                      int& count) {
  const auto change = [&](json& y) -> json {
    if (!y.is_number() || random() % 2 == 0)
      return y;
    ++count;
    const auto share = 1 + random() % 150;
    y = std::to_string(share) + '%';
    return std::max<step_t>((share * length * 2 + 100) / 200, 1);
  };
  auto result = x;
  if (!x.is_structured())
    return result;
  const auto is_pair = [](const json& y) {
    return y.is_array() && y.size() == 2 && y[0].is_number_integer()
           && (y[1].is_object() || y[1].is_number_float());
  };
  for (auto& [key, value] : x.items()) {
    auto& there = x.is_array() ? result[std::stoul(key)] : result[key];
    if (x.is_object() && is_of_steps(key) && !value.is_object()) {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
        there[i] = change(value[i]);
      if (value.is_number())
        there = change(value);
    } else if (x.is_array() && is_pair(value)) {
      there[0] = change(value[0]);
      if (value[1].is_object())
        there[1] = with_percentages(value[1], length, random, count);
    } else if (value.is_structured()) {
      there = with_percentages(value, length, random, count);
    }
  }
  return result;
}

TEST_P(PercentageProperty, IsResolvedWhereverASequenceCountsSteps) {
  test::random_sequences sequences{GetParam(), 30};
  std::mt19937 random{GetParam()};
  int count = 0;
  for (int i = 0; i < 1000; ++i) {
    auto x = sequences.next();
    const auto length = 1 + random() % 5000;
    const auto before = count;
    const auto expected = with_percentages(x, length, random, count);
    EXPECT_EQ(has_percentages(x), count > before) << x;
    resolve_percentages(x, length);
    ASSERT_EQ(x, expected);
  }
  EXPECT_GT(count, 500); // the property has been put to the test
}

INSTANTIATE_TEST_SUITE_P(Seeds, PercentageProperty, testing::Range(1u, 6u));

TEST(Percentages, OthersStayAsTheyAre) {
  for (const char* text :
       {R"("20%")", R"({"constant": "20%"})", R"({"constant": ["20%"]})",
        R"({"piecewise": [[0, "20%"], ["x%", "30%"]]})",
        R"({"cosine": {"initial": "20%", "end": "5%", "horizon": "0%"}})",
        R"({"horizon": "20%"})", R"({"cosine": "20%"})", "[[0, \"20%\"]]",
        R"({"reduce_on_plateau": {"patience": "20%", "cooldown": "5%"}})"}) {
    auto x = json::parse(text);
    EXPECT_FALSE(has_percentages(x)) << text;
    resolve_percentages(x, 100);
    EXPECT_EQ(x, json::parse(text));
  }
}

} // namespace
} // namespace hippo
