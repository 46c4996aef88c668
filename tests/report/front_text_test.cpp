#include "hippo/model/front_text.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "hippo/report/progress.hpp"
#include "hippo/report/report.hpp"

namespace hippo {
namespace {

const goals wanted{{{"acc", direction::maximize}, {"ms", direction::minimize}},
                   {{"ms", true, 5}, {"a <= b", false, -0.5}}};

front_record some_front() {
  return {{{3, 9, {{"acc", 0.5}, {"ms", 2}}, {{"lr", 0.1}}},
           {4, 2, {{"acc", 0.25}, {"ms", 1}}, {{"lr", 0.2}}}},
          0.75,
          {{"acc", 0.125}, {"ms", 4}}};
}

TEST(FrontText, IsReadAsItWasWritten) {
  const auto text = to_json(wanted, some_front()).dump();
  const auto read = front_from_json(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->wanted, wanted);
  EXPECT_EQ(to_json(read->wanted, read->front).dump(), text);
  EXPECT_EQ(read->front.hypervolume, 0.75);
}

TEST(FrontText, NothingYetIsNull) {
  const goals one{{{"acc", direction::maximize}}, {{"ms", true, 5}}};
  const auto x = to_json(one, {});
  EXPECT_TRUE(x.at("hypervolume").is_null());
  EXPECT_TRUE(x.at("reference").is_null());
}

TEST(FrontText, WhatIsNoneIsRefused) {
  for (const auto* text : {"", "[]", "{}", "{\"goals\": 3}",
                           "{\"goals\": [], \"constraints\": [\"x\"],"
                           " \"points\": [], \"hypervolume\": null,"
                           " \"reference\": null}"})
    EXPECT_FALSE(front_from_json(text)) << text;
}

TEST(FrontText, InBrief) {
  EXPECT_EQ(brief_text({5, 0.421349}), "front of 5, hypervolume 0.421349");
  EXPECT_EQ(brief_text({0, std::nullopt}), "front of 0");
}

TEST(FrontText, OfATrialThatHasEnded) {
  trial_event x;
  x.trial = 7;
  x.params = {{"lr", 0.1}};
  x.value = 0.5;
  x.values = {0.5, 2};
  x.front = front_so_far{5, 0.25};
  EXPECT_EQ(trial_line(x),
            "Trial 7 finished with values: [0.5, 2] and parameters: {\"lr\": "
            "0.1}. Front of 5, hypervolume 0.25.");
  x.violated = "ms <= 5, mb <= 90";
  EXPECT_EQ(trial_line(x),
            "Trial 7 finished with values: [0.5, 2] and parameters: {\"lr\": "
            "0.1}. Violates ms <= 5, mb <= 90. Front of 5, hypervolume 0.25.");
}

TEST(FrontText, InTheSummary) {
  run_record run;
  auto& study = run.studies.emplace_back();
  study.name = "s";
  study.algorithm = "asha";
  study.metric = "acc";
  study.wanted = {wanted.metrics, {wanted.constraints[0]}};
  study.front = some_front();
  study.trials.resize(5);
  for (std::size_t no = 0; no < 5; ++no)
    study.trials[no].id = no;
  const auto text = summary_text(run);
  EXPECT_NE(text.find("asha, maximize acc, minimize ms, ms <= 5"),
            std::string::npos)
    << text;
  EXPECT_NE(text.find("front of 2, hypervolume 0.75"), std::string::npos);
  EXPECT_LT(text.find("\n      3  0.5 "), text.find("\n      4  0.25"));
}

/// The report of a study with one metric is what it was.
TEST(FrontText, IsOnlyInReportsOfSeveral) {
  run_record run;
  auto& study = run.studies.emplace_back();
  study.wanted = {{{"acc", direction::maximize}}, {}};
  EXPECT_EQ(report_json(run).find("\"front\""), std::string::npos);
  study.wanted = wanted;
  study.front = some_front();
  EXPECT_NE(report_json(run).find("\"front\""), std::string::npos);
}

} // namespace
} // namespace hippo
