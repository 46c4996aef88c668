// Percentages of a trial's length, and studies whose trials have several.

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/sequence/family.hpp"
#include "hippo/space/study.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using test::texts;
using lines = std::vector<std::string>;
using json = nlohmann::ordered_json;

/// The first line of `space` is line 6.
study_file read(const std::string& steps, const std::string& space) {
  auto text = test::with_flat_space(space);
  const std::string twelve = "max_steps: 12";
  text.replace(text.find(twelve), twelve.size(), steps);
  return test::read(text);
}

study_spec good(const std::string& steps, const std::string& space) {
  const auto file = read(steps, space);
  EXPECT_EQ(texts(file.errors), lines{});
  return file.study ? *file.study : study_spec{};
}

const std::string annealed
  = "lr: {wsd: {peak: 0.5, warmup: 2, from: 0.1, decay: 20%}}";
const std::string three = "max_steps: {choice: [20, 10, 40]}";

TEST(Lengths, APercentageIsOfTheTrial) {
  const auto study = good("max_steps: 50", annealed);
  const auto trial = study.space.at(0);
  EXPECT_EQ(trial.length, 50u);
  EXPECT_EQ(trial.shown.dump(),
            R"({"lr":{"wsd":{"peak":0.5,"warmup":2,"from":0.1,"decay":10}}})");
  EXPECT_EQ(trial.sequences,
            good("max_steps: 50",
                 "lr: {wsd: {peak: 0.5, warmup: 2, from: 0.1, decay: 10}}")
              .space.at(0)
              .sequences);
  EXPECT_FALSE(study.space.has_lengths());
  EXPECT_TRUE(study.several_lengths.empty());
}

TEST(Lengths, AreADimensionOfTheSpace) {
  const auto study
    = good(three, annealed + "\nmomentum: {choice: [0.8, 0.9]}");
  EXPECT_EQ(study.max_steps, 40u);
  EXPECT_EQ(study.several_lengths, (std::vector<step_t>{10, 20, 40}));
  ASSERT_EQ(study.space.size(), 6u);
  EXPECT_EQ(study.space.leaves(), 2u);
  EXPECT_EQ(study.space.names(), (std::set<std::string>{"lr", "momentum"}));
  std::vector<step_t> lengths;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto trial = study.space.at(i);
    lengths.push_back(trial.length);
    EXPECT_EQ(trial.shown.at(length_name), trial.length);
    EXPECT_EQ(trial.shown.at("lr").at("wsd").at("decay"), trial.length / 5);
    EXPECT_FALSE(trial.sequences.contains(length_name));
    EXPECT_EQ(study.space.length(study.space.decider_at(i)), trial.length);
  }
  EXPECT_EQ(lengths, (std::vector<step_t>{20, 20, 10, 10, 40, 40}));
}

TEST(Lengths, AreDrawnEquallyOften) {
  const auto study = good(three, annealed);
  std::map<step_t, int> found;
  for (std::uint64_t i = 0; i < 3000; ++i)
    ++found[study.space.sample(1, i).length];
  ASSERT_EQ(found.size(), 3u);
  for (const auto& [length, count] : found)
    EXPECT_NEAR(count, 1000, 150) << length;
}

TEST(Lengths, RangesOfWholeNumbersAreLengths) {
  EXPECT_EQ(good("max_steps: {int_uniform: [10, 50], points: 5}", annealed)
              .several_lengths,
            (std::vector<step_t>{10, 20, 30, 40, 50}));
  EXPECT_EQ(good("max_steps: {log_int_uniform: [8, 64], points: 4}", annealed)
              .several_lengths,
            (std::vector<step_t>{8, 16, 32, 64}));
  EXPECT_EQ(good("max_steps: {choice: [7, {int_uniform: [10, 50],"
                 " step: 20}]}",
                 annealed)
              .several_lengths,
            (std::vector<step_t>{7, 10, 30, 50}));
}

TEST(Lengths, TrialsAreReadAsTheyAreShown) {
  const auto study = good(three, annealed);
  const auto& toy = test::workloads().front();
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto shown = study.space.at(i);
    const auto again
      = read_parameters(shown.shown.dump(), study.lengths(), toy);
    ASSERT_TRUE(again) << again.failure().message;
    EXPECT_EQ(again->shown, shown.shown);
    EXPECT_EQ(again->length, shown.length);
    EXPECT_EQ(again->sequences, shown.sequences);
  }
  const auto given = read_parameters(
    "{steps.max: 20, lr: {cosine: {initial: 0.5, horizon: 50%}}}",
    study.lengths(), toy);
  ASSERT_TRUE(given) << given.failure().message;
  EXPECT_EQ(given->shown.at("lr").at("cosine").at("horizon"), 10);
  const auto why = [&](const std::string& text) {
    const auto read = read_parameters(text, study.lengths(), toy);
    return read ? std::string{"nothing"} : read.failure().message;
  };
  EXPECT_EQ(why("{lr: 0.1}"),
            "'steps.max' is missing: the study's trials have several lengths,"
            " 10, 20, 40");
  EXPECT_EQ(why("{steps.max: 30, lr: 0.1}"),
            "steps.max: must be one of the study's lengths, 10, 20, 40, found"
            " '30'");
}

TEST(Lengths, SaysWhatIsWrongWithPercentages) {
  const auto study = read("seed: 1", "lr: {cosine: {initial: 0.5,"
                                     " horizon: 50%}}");
  EXPECT_EQ(texts(study.errors),
            (lines{"s.yaml:1:1: 'max_steps' is missing",
                   "s.yaml:6:7: space.lr: has a share of a trial's steps, but "
                   "the study does not say how many these are: give "
                   "max_steps"}));
  EXPECT_EQ(
    texts(read("max_steps: 12", "lr: {cosine: {initial: 0.5, horizon: 0%}}")
            .errors),
    lines{"s.yaml:6:40: space.lr.cosine.horizon: must be a whole "
          "number of steps from 1 to 1000000000, or a share of the "
          "trial's steps above 0 such as 12.5%, found '0%'"});
}

TEST(Lengths, SaysWhatIsWrongInTrialsOfSomeLength) {
  EXPECT_EQ(texts(read(three, "lr: {wsd: {peak: 0.5, decay: 15}}").errors),
            lines{"s.yaml:6:32: space.lr.wsd.decay: must be at most 10, as "
                  "there are 10 steps, found 15 (in a trial of 10 steps)"});
  EXPECT_EQ(texts(read(three, "lr: {piecewise: [[0, 0.1], [10%, 0.2],"
                              " [3, 0.3]]}")
                    .errors),
            lines{"s.yaml:6:43: space.lr.piecewise[2][0]: must be above the "
                  "begin before it, found 3 after 4 (in a trial of 40 "
                  "steps)"});
}

TEST(Lengths, SaysWhatIsNoLength) {
  const std::string rule
    = "must be a whole number of steps from 1 to 1000000000, or a choice or "
      "range of such: {choice: [1000, 2000]}, {int_uniform: [1000, 5000], "
      "points: 5}; found ";
  EXPECT_EQ(texts(read("max_steps: {choice: [10, 0]}", annealed).errors),
            lines{"s.yaml:4:26: max_steps.choice[1]: " + rule + "'0'"});
  EXPECT_EQ(texts(read("max_steps: {uniform: [10, 20]}", annealed).errors),
            lines{"s.yaml:4:12: max_steps: " + rule + "a map"});
  EXPECT_EQ(texts(read("max_steps: {int_uniform: [0, 20]}", annealed).errors),
            lines{"s.yaml:4:12: max_steps: " + rule + "a map"});
  EXPECT_EQ(
    texts(read("max_steps: {int_uniform: [1, 2000]}", "lr: 0.1").errors),
    lines{"s.yaml:4:12: max_steps: gives more than 1000 lengths: give "
          "fewer, or the range 'points'"});
}

} // namespace
} // namespace hippo
