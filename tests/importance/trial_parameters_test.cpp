#include "hippo/search/importance/trial_parameters.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

std::vector<std::string> names(const trials_apart& x) {
  std::vector<std::string> result;
  for (const auto& [name, y] : x.varied)
    result.push_back(name);
  return result;
}

/// In which trials a parameter has a value.
std::vector<bool> having(const varied_parameter& x) {
  std::vector<bool> result;
  for (const auto& y : x.values)
    result.push_back(y.domain != parameter_value::none);
  return result;
}

TEST(TrialParameters, SchedulesAreAKindAndWhatItHas) {
  const auto x = take_apart(
    {json::parse(R"({"lr": {"cosine": {"initial": 0.1, "horizon": 12}}})"),
     json::parse(R"({"lr": {"cosine": {"initial": 0.1, "horizon": 24}}})"),
     json::parse(R"({"lr": 0.1})"),
     json::parse(R"({"lr": {"constant": 0.2}})")});
  EXPECT_EQ(names(x), (std::vector<std::string>{"lr", "lr.constant",
                                                "lr.cosine.horizon"}));
  EXPECT_EQ(having(x.varied.at("lr")), std::vector<bool>(4, true));
  EXPECT_EQ(having(x.varied.at("lr.constant")),
            (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(having(x.varied.at("lr.cosine.horizon")),
            (std::vector<bool>{true, true, false, false}));
  const auto& kinds = x.varied.at("lr").values;
  EXPECT_EQ(kinds[2].value, kinds[3].value); // a number is a constant
  EXPECT_NE(kinds[0].value, kinds[2].value);
}

TEST(TrialParameters, AHyperParameterIsNoPartOfAnother) {
  const auto x = take_apart(
    {json::parse(R"({"lr": {"cosine": {"horizon": 12}},
                     "lr.cosine.horizon": 1})"),
     json::parse(R"({"lr": {"cosine": {"horizon": 24}},
                     "lr.cosine.horizon": 1})"),
     json::parse(R"({"lr": 0.1, "lr.cosine.horizon": 2})")});
  EXPECT_EQ(names(x),
            (std::vector<std::string>{"lr", "lr.cosine.horizon",
                                      "lr.cosine.horizon'"}));
  EXPECT_EQ(having(x.varied.at("lr.cosine.horizon")),
            std::vector<bool>(3, true));
  EXPECT_EQ(having(x.varied.at("lr.cosine.horizon'")),
            (std::vector<bool>{true, true, false}));
}

TEST(TrialParameters, SchedulesInSchedules) {
  const auto warm = [](const std::string& then) {
    return json::parse(R"({"lr": {"warmup": {"steps": 2, "then": )" + then
                       + "}}}");
  };
  const auto x = take_apart({warm("0.1"), warm("0.2"),
                             warm(R"({"cosine": {"horizon": 8}})")});
  EXPECT_EQ(names(x),
            (std::vector<std::string>{"lr.warmup.then",
                                      "lr.warmup.then.constant"}));
}

TEST(TrialParameters, ListsGoByPlace) {
  const auto x
    = take_apart({json::parse(R"({"lr": {"step": {"at": [3, 8]}}})"),
                  json::parse(R"({"lr": {"step": {"at": [3, 9]}}})"),
                  json::parse(R"({"lr": {"step": {"at": [3]}}})")});
  EXPECT_EQ(names(x), (std::vector<std::string>{"lr.step.at.length",
                                                "lr.step.at[1]"}));
  EXPECT_EQ(having(x.varied.at("lr.step.at[1]")),
            (std::vector<bool>{true, true, false}));
}

TEST(TrialParameters, NumbersHaveTheRangeThatTheyFill) {
  std::vector<json> trials;
  for (int i = 0; i <= 20; ++i)
    trials.push_back({{"even", i / 20.},
                      {"decades", std::pow(10., -i / 5.)},
                      {"whole", 10 + i},
                      {"few", i % 3 * 64},
                      {"same", 7}});
  const auto x = take_apart(trials);
  const auto domain = [&](const char* name) {
    return x.varied.at(name).domains.at(0);
  };
  EXPECT_EQ(domain("even"), real_domain(0, 1));
  EXPECT_EQ(domain("decades"), real_domain(1e-4, 1, true));
  EXPECT_EQ(domain("whole"), integer_domain(10, 30));
  EXPECT_EQ(domain("few"), category_domain(3));
  EXPECT_EQ(x.constant, std::vector<std::string>{"same"});
}

TEST(TrialParameters, TooManyWordsAreLeftOut) {
  std::vector<json> trials;
  for (int i = 0; i < 51; ++i)
    trials.push_back({{"prompt", "say " + std::to_string(i)},
                      {"long", json::array_t(9 + i % 2, 1)}});
  const auto x = take_apart(trials);
  EXPECT_EQ(x.left_out, std::vector<std::string>{"prompt"});
  EXPECT_EQ(names(x), std::vector<std::string>{"long"}); // two lists
}

TEST(TrialParameters, WordsAndNumbersOfOneParameter) {
  const auto x = take_apart({{{"a", "0"}}, {{"a", 0}}, {{"a", ""}},
                             {{"a", nullptr}}, {{"a", true}}, {{"a", 1}}});
  const auto& found = x.varied.at("a");
  EXPECT_EQ(found.domains.at(0), category_domain(5)); // true is 1
  EXPECT_EQ(found.values[4].value, found.values[5].value);
}

TEST(TrialParameters, WhatIsNoObjectHasNone) {
  const auto x = take_apart({json(), json("rubbish"), json::array()});
  EXPECT_TRUE(x.varied.empty());
  EXPECT_TRUE(take_apart({}).varied.empty());
}

} // namespace
} // namespace hippo
