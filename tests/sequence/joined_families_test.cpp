// `wsd`, `inverse_sqrt` and `join`: their values, what they share and what is
// wrong with them.

#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"
#include "hippo/sequence/family.hpp"
#include "sequence/random_sequences.hpp"

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

std::string shown(const std::string& text, step_t length = 100) {
  auto given = json::parse(text);
  resolve_percentages(given, length);
  const auto made = make_sequence(given, length);
  for (const auto& x : made.errors)
    ADD_FAILURE() << text << ": " << x.message;
  std::string result;
  for (const auto& x : made.value.pieces())
    result += (result.empty() ? "" : ", ") + std::to_string(x.begin) + ": "
              + to_text(x.shape);
  return result;
}

void expect_same(const std::vector<std::string>& texts, step_t length = 100) {
  for (const auto& text : texts)
    EXPECT_EQ(shown(text, length), shown(texts[0], length)) << text;
}

void expect_error(const std::string& text, const std::string& expected,
                  step_t length = 100) {
  const auto made = make_sequence(json::parse(text), length);
  ASSERT_EQ(made.errors.size(), 1u) << text;
  std::string found;
  for (const auto& part : made.errors[0].where)
    found += '/' + part;
  EXPECT_EQ(found + ": " + made.errors[0].message, expected);
}

TEST(Wsd, WarmsUpStaysAndFalls) {
  EXPECT_EQ(shown(R"({"wsd": {"peak": 0.3, "warmup": 3, "decay": 20}})"),
            "0: 0, 1: 0.1, 2: line(0,0.1,1)@0, 4: 0.3, "
            "81: 0.232917960675, 82: sqrt(0.3,0,20)@80");
  EXPECT_EQ(shown(R"({"wsd": {"peak": 1, "stable": 90, "shape": "linear"}})"),
            "0: 1, 91: 0.9, 92: line(1,-0.1,1)@90");
}

TEST(Wsd, SharesWithOtherSpellingsOfItsValues) {
  expect_same({
    R"({"wsd": {"peak": 0.3, "warmup": 10, "decay": "20%",
                "shape": "cosine", "end": 0.01}})",
    R"({"wsd": {"peak": 0.3, "warmup": "10%", "from": 0, "stable": 70,
                "shape": "cosine", "end": 0.01}})",
    R"({"join": [[0, {"linear": {"from": 0, "to": 0.3, "horizon": 10}}],
                 [80, {"cosine": {"initial": 0.3, "end": 0.01,
                                  "horizon": 20}}]]})",
    R"({"warmup": {"steps": 10, "from": 0, "to": 0.3, "then":
        {"warmup": {"steps": 70, "from": 0.3, "to": 0.3, "then":
         {"cosine": {"horizon": "20%", "end": 0.01}}}}}})",
  });
  expect_same({
    R"({"wsd": {"peak": 0.3, "decay": 20, "shape": "linear"}})",
    R"({"join": [[0, 0.3], ["80%", {"linear": {"from": 0.3, "to": 0,
                                               "horizon": 20}}]]})",
    R"({"warmup": {"steps": 80, "from": 0.3, "to": 0.3, "then":
        {"polynomial": {"horizon": 20, "power": 1}}}})",
  });
  expect_same({R"({"wsd": {"peak": 0.3, "decay": 50, "end": 0.3}})",
               R"({"wsd": {"peak": 0.3, "decay": 0}})",
               R"({"wsd": {"peak": 0.3, "stable": "100%"}})", "0.3"});
  expect_same({R"({"inverse_sqrt": {"peak": 0.3, "warmup": 10}})",
               R"({"join": [[0, {"inverse_sqrt": {"peak": 0.3,
                                                  "warmup": 10}}]]})"});
  expect_same({R"({"inverse_sqrt": {"peak": 0}})", "0"});
}

TEST(Wsd, SharesItsPlateauWithLongerTrials) {
  const auto make = [](step_t length) {
    auto x = json::parse(R"({"wsd": {"peak": 0.3, "warmup": 10,
                                     "decay": "20%"}})");
    resolve_percentages(x, length);
    return make_sequence(x, length).value;
  };
  const auto shorter = make(100), longer = make(200);
  for (step_t t = 0; t <= 80; ++t) // at step 80 it is yet at its peak
    EXPECT_EQ(shorter.form_at(t), longer.form_at(t)) << t;
  EXPECT_NE(shorter.form_at(81), longer.form_at(81));
}

/// The value of a `wsd` at a step, from its definition.
double defined(const json& x, step_t length, step_t t) {
  const double peak = x["peak"], from = x["from"], end = x["end"];
  const step_t warmup = x["warmup"];
  const step_t decay = x["decay"];
  const auto begin = length - decay;
  if (t < warmup)
    return from + (peak - from) * static_cast<double>(t)
                    / static_cast<double>(warmup);
  if (t < begin || decay == 0)
    return peak;
  const auto p = static_cast<double>(t - begin) / static_cast<double>(decay);
  const std::string shape = x["shape"];
  if (shape == "exponential")
    return peak * std::pow(end / peak, p);
  const auto left = shape == "linear"   ? 1 - p
                    : shape == "1-sqrt" ? 1 - std::sqrt(p)
                                        : (1 + std::cos(std::numbers::pi * p))
                                            / 2;
  return end + (peak - end) * left;
}

TEST(Wsd, HasTheValuesOfItsDefinition) {
  std::mt19937 random{3};
  const std::vector<std::string> shapes{"linear", "cosine", "1-sqrt",
                                        "exponential"};
  for (int i = 0; i < 500; ++i) {
    const step_t length = 1 + random() % 60;
    const step_t warmup = random() % (length + 1);
    const step_t decay = random() % (length - warmup + 1);
    const json x{{"peak", 0.1 * static_cast<double>(1 + random() % 9)},
                 {"warmup", warmup},
                 {"from", random() % 2 == 0 ? 0.0 : 0.05},
                 {"decay", decay},
                 {"shape", shapes[random() % 4]},
                 {"end", random() % 2 == 0 ? 0.01 : 0.2}};
    const auto made = make_sequence({{"wsd", x}}, length);
    ASSERT_TRUE(made.errors.empty()) << x << made.errors[0].message;
    for (step_t t = 0; t < length; ++t)
      ASSERT_NEAR(std::get<double>(made.value.at(t)), defined(x, length, t),
                  1e-10)
        << x << " at step " << t << " of " << length;
  }
}

TEST(InverseSqrt, FallsFromItsPeak) {
  const auto x = make_sequence(
    json::parse(R"({"inverse_sqrt": {"peak": 0.4, "warmup": 4}})"), 100);
  EXPECT_EQ(x.value.at(2), scalar{0.2});
  EXPECT_EQ(x.value.at(4), scalar{0.4});
  EXPECT_EQ(x.value.at(16), scalar{0.2});
  EXPECT_EQ(x.value.at(64), scalar{0.1});
}

TEST(Join, EachSequenceHasItsOwnStepZero) {
  test::random_sequences random{5, 40};
  constexpr step_t first = 12, second = 25, length = 40;
  for (int i = 0; i < 300; ++i) {
    const auto a = random.next(), b = random.next(), c = random.next();
    const json whole{{"join", json::array({json::array({0, a}),
                                           json::array({first, b}),
                                           json::array({second, c})})}};
    const auto joined = make_sequence(whole, length);
    ASSERT_TRUE(joined.errors.empty()) << whole << joined.errors[0].message;
    const auto xs = {make_sequence(a, length).value,
                     make_sequence(b, length).value,
                     make_sequence(c, length).value};
    for (step_t t = 0; t < length; ++t) {
      const auto part = t < first ? 0 : t < second ? 1 : 2;
      const auto begin = part == 0 ? 0 : part == 1 ? first : second;
      const auto expected = std::get<double>(xs.begin()[part].at(t - begin));
      ASSERT_NEAR(std::get<double>(joined.value.at(t)), expected,
                  1e-11 * std::abs(expected))
        << whole << " at step " << t;
    }
  }
}

TEST(Join, TakesWordsAndSequencesThatEndWithIt) {
  EXPECT_EQ(shown(R"({"join": [[0, "adamw"], ["25%", "sgd"]]})"),
            "0: adamw, 25: sgd");
  // The first falls until the second begins.
  EXPECT_EQ(shown(R"({"join": [[0, {"wsd": {"peak": 1, "decay": 10,
                                            "shape": "linear"}}],
                               [50, {"wsd": {"peak": 2, "decay": 10,
                                             "shape": "linear"}}]]})"),
            "0: 1, 41: 0.9, 42: line(1,-0.1,1)@40, 50: 2, 91: 1.8, "
            "92: line(2,-0.2,1)@90");
  EXPECT_EQ(shown(R"({"warmup": {"steps": 4, "from": 0, "to": 2, "then":
                      {"join": [[0, {"cosine": {"horizon": 1}}],
                                [2, 7]]}}})"),
            "0: 0, 1: 0.5, 2: line(0,0.5,1)@0, 5: 0, 6: 7");
}

TEST(Wsd, SaysWhatIsWrong) {
  expect_error(R"({"wsd": {"peak": 1, "stable": 5, "decay": 5}})",
               "/wsd: has both 'stable' and 'decay': give one of them, the "
               "other is the rest of the trial");
  expect_error(R"({"wsd": {"peak": 1}})",
               "/wsd: needs 'stable' or 'decay': how many steps it stays at "
               "its peak, or falls");
  expect_error(R"({"wsd": {"peak": 1, "warmup": 10, "decay": 91}})",
               "/wsd/decay: must be at most 90, as there are 100 steps, 10 of "
               "them for the warm-up, found 91");
  expect_error(R"({"wsd": {"peak": 1, "stable": 101}})",
               "/wsd/stable: must be at most 100, as there are 100 steps, "
               "found 101");
  expect_error(R"({"wsd": {"peak": 1, "decay": 9, "shape": "exponential"}})",
               "/wsd/shape: exponential goes between values above 0: give "
               "'end', found 1 and 0");
  expect_error(R"({"wsd": {"peak": 1, "decay": "0%"}})",
               "/wsd/decay: must be a whole number of steps from 0 to "
               "1000000000, or a share of the trial's steps above 0 such as "
               "12.5%, found '0%'");
  expect_error(R"({"wsd": {"peak": 1, "decay": 9, "shape": "sqrt"}})",
               "/wsd/shape: unknown shape 'sqrt', did you mean '1-sqrt'? "
               "Allowed: 1-sqrt, linear, cosine, exponential");
}

TEST(Join, SaysWhatIsWrong) {
  expect_error(R"({"join": [[1, 0.1], [5, 0.2]]})",
               "/join/0/0: must be 0, for the first value begins at step 0, "
               "found 1");
  expect_error(R"({"join": [[0, 0.1], [5, 0.2], [5, 0.3]]})",
               "/join/2/0: must be above the begin before it, found 5 after "
               "5");
  expect_error(R"({"join": [[0, 0.1], [5]]})",
               "/join/1: must be a pair [begin, sequence], found 1 items");
  expect_error(R"({"join": []})",
               "/join: must be a list with at least one item, found an empty "
               "list");
  expect_error(R"({"join": [[0, {"cosine": {"horizon": 3}}]]})",
               "/join/0/1/cosine: 'initial' is missing");
  const auto late = make_sequence(
    json::parse(R"({"join": [[0, {"multistep": {"initial": 1, "gamma": 2,
                                                "milestones": [3, 9]}}],
                             [5, 1], [100, 2]]})"),
    100);
  ASSERT_EQ(late.warnings.size(), 2u);
  EXPECT_EQ(late.warnings[0].message,
            "is never reached, another sequence begins at step 5");
  EXPECT_EQ(late.warnings[1].message,
            "is never reached, training ends at step 100");
}

} // namespace
} // namespace hippo
