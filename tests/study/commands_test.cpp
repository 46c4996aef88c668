#include "hippo/service/study/commands.hpp"

#include <gtest/gtest.h>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

using verb = study_command::verb;

expected<parsed_command> parse(verb what, std::string text) {
  static const auto known = test::workloads();
  static const auto study = test::read(test::with_space(
    "  lr: {uniform: [0.001, 1]}\nalgorithm: tpe\nbudget: {trials: 4}\n"));
  EXPECT_TRUE(study.study);
  return parse_command({what, 3, 7, std::move(text), 0}, *study.study,
                       known.front(), name_rules::today);
}

errc refusal(verb what, std::string text) {
  const auto result = parse(what, std::move(text));
  EXPECT_FALSE(result);
  return result ? errc{} : result.failure().code;
}

TEST(Commands, AskWithoutTextLeavesValuesToTheSampler) {
  EXPECT_FALSE(std::get<command::ask>(*parse(verb::ask, "")).values);
}

TEST(Commands, AskWithValuesHasThem) {
  EXPECT_TRUE(
    std::get<command::ask>(*parse(verb::ask, "{lr: 0.1}")).values);
}

TEST(Commands, AskWithAnUnknownNameIsRefused) {
  EXPECT_EQ(refusal(verb::ask, "{nothing: 1}"), errc::invalid_argument);
}

TEST(Commands, TrainHasTrialAndStep) {
  const auto x = std::get<command::train>(*parse(verb::train, ""));
  EXPECT_EQ(x.trial, 3u);
  EXPECT_EQ(x.to, 7u);
}

TEST(Commands, TellIsCompleteUnlessItSaysOtherwise) {
  const auto x = std::get<command::tell>(*parse(verb::tell, "{}"));
  EXPECT_EQ(x.how, trial_state::complete);
  EXPECT_FALSE(x.value);
}

TEST(Commands, TellHasStateAndValue) {
  const auto x = std::get<command::tell>(
    *parse(verb::tell, R"({"state": "PRUNED", "value": 0.5})"));
  EXPECT_EQ(x.trial, 3u);
  EXPECT_EQ(x.at, 7u);
  EXPECT_EQ(x.how, trial_state::pruned);
  EXPECT_EQ(x.value, 0.5);
  EXPECT_EQ(std::get<command::tell>(
              *parse(verb::tell, R"({"state": "FAILED"})")).how,
            trial_state::failed);
}

TEST(Commands, TellOfAnotherStateIsRefused) {
  EXPECT_EQ(refusal(verb::tell, R"({"state": "RUNNING"})"),
            errc::invalid_argument);
}

TEST(Commands, TellThatIsNoJsonIsMalformed) {
  for (const auto* text : {"", "{", "3", R"({"state": 3})",
                           R"({"value": "high"})"})
    EXPECT_EQ(refusal(verb::tell, text), errc::malformed_message) << text;
}

TEST(Commands, WeightsAreNumbersAboveZero) {
  EXPECT_EQ(std::get<command::weight>(*parse(verb::weight, "2.5")).value, 2.5);
  for (const auto* text : {"", "0", "-1", "heavy", "null", "1e999"})
    EXPECT_EQ(refusal(verb::weight, text), errc::invalid_argument) << text;
}

TEST(Commands, WidenIsByANumberOfTrials) {
  EXPECT_EQ(std::get<command::widen>(*parse(verb::widen, "12")).trials, 12u);
  for (const auto* text :
       {"", "-1", "1.5", "12 ", "two", "99999999999999999999"})
    EXPECT_EQ(refusal(verb::widen, text), errc::malformed_message) << text;
}

TEST(Commands, CancelSaysWhy) {
  EXPECT_EQ(std::get<command::cancel>(*parse(verb::cancel, "late")).why,
            "late");
}

TEST(Commands, OthersHaveNoText) {
  EXPECT_TRUE(std::holds_alternative<command::close>(*parse(verb::close, "")));
  EXPECT_TRUE(std::holds_alternative<command::pause>(*parse(verb::pause, "")));
  EXPECT_TRUE(
    std::holds_alternative<command::resume>(*parse(verb::resume, "")));
  EXPECT_TRUE(std::holds_alternative<command::stop>(*parse(verb::stop, "")));
}

TEST(Commands, AnUnknownVerbIsMalformed) {
  EXPECT_EQ(refusal(static_cast<verb>(200), ""), errc::malformed_message);
}

} // namespace
} // namespace hippo
