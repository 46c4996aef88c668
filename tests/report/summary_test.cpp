#include <cmath>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/text.hpp"
#include "report/sample_run.hpp"

namespace hippo {
namespace {

void expect_narrow(const std::string& text) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(display_width(line), 80u) << line;
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != text.npos;
}

TEST(Text, MeasuresWhatATerminalShows) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("é…█"), 3u);
  EXPECT_EQ(display_width("学習率"), 6u);
  EXPECT_EQ(display_width("e\xCC\x81"), 1u); // e and a combining accent
  EXPECT_EQ(display_width("\xff\xff"), 2u);
}

TEST(Text, CutsBetweenCharacters) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 4), "abc…");
  EXPECT_EQ(fit("学習率", 4), "学…");
  EXPECT_EQ(fit("学習率", 1), "…");
  EXPECT_EQ(fit("abc", 0), "");
  EXPECT_EQ(pad_right("学習率", 6), "学習率");
  EXPECT_EQ(pad_right("学習率", 4), "学… ");
  EXPECT_EQ(pad_left("ab", 4), "  ab");
}

TEST(Text, LetsNothingControlTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f\xC2\x9b"), "a [31m b  ");
  EXPECT_EQ(printable("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD"); // overlong
  EXPECT_EQ(printable("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");
}

TEST(Text, BriefParametersReadLikeCalls) {
  EXPECT_EQ(brief(nlohmann::ordered_json::parse(
              R"({"lr": {"warmup": {"steps": 2, "then": {"cosine":
                  {"horizon": 12, "end": 0.00123456}}}},
                  "bs": {"piecewise": [[0, 64], [4, 128]]},
                  "opt": "sgd", "nesterov": true})")),
            "lr=warmup(2,cosine(12,0.001235)) bs=piecewise([0,64],[4,128]) "
            "opt=sgd nesterov=true");
  EXPECT_EQ(brief(nullptr), "");
}

TEST(Text, Shares) {
  EXPECT_EQ(percent(1, 3), "33 %");
  EXPECT_EQ(percent(1, 0), "0 %");
}

TEST(Text, IsBrokenBetweenWordsWhereItCan) {
  using lines = std::vector<std::string>;
  EXPECT_EQ(wrap("", 4), lines{});
  EXPECT_EQ(wrap("ab cd", 5), (lines{"ab cd"}));
  EXPECT_EQ(wrap("ab cd ef", 5), (lines{"ab cd", "ef"}));
  EXPECT_EQ(wrap("ab cdefgh", 4), (lines{"ab", "cdef", "gh"}));
  EXPECT_EQ(wrap("学習率", 4), (lines{"学習", "率"}));
}

TEST(Text, CountsThings) {
  EXPECT_EQ(counted(1, "trial"), "1 trial");
  EXPECT_EQ(counted(0, "trial"), "0 trials");
}

TEST(Text, ALineIsCutAcrossItsParts) {
  text_line line;
  line.add("abc", style::bold).add("def").add("ghi", style::bad);
  EXPECT_EQ(line.str(80, false), "abcdefghi\n");
  EXPECT_EQ(line.str(5, false), "abcd…\n");
  EXPECT_EQ(line.str(5, true), "\x1b[1mabc\x1b[0md…\n");
  EXPECT_EQ(line.str(0, true), "\n");
}

TEST(Summary, RanksTrialsAndGivesTheFigures) {
  const auto text = summary_text(sample_run());
  expect_narrow(text);
  EXPECT_LT(text.find("0.3333333333333333 "), text.find("0.30000000000000004"));
  EXPECT_TRUE(has(text, "   1      1  COMPLETE  0.3333333333333333      6"
                        "       3  batch_size=65\n"))
    << text; // lr is the same in all trials
  EXPECT_TRUE(has(text, "20  by all trials\n"));
  EXPECT_TRUE(has(text, "18  that the trials have got\n"));
  EXPECT_TRUE(has(text, "10  of the delivered, after merging\n"));
  EXPECT_TRUE(has(text, "9  in this run; 1 were there before"));
  EXPECT_TRUE(has(text, "20 s  50 % of 40 s if trained alone"));
  EXPECT_TRUE(has(text, "killed by signal 9"));
  EXPECT_FALSE(has(text, "Failed trials"));
  EXPECT_FALSE(has(text, "Interrupted"));
  EXPECT_FALSE(has(text, "\x1b"));
}

TEST(Summary, SaysHowLongTrainingWaitedForData) {
  auto run = sample_run();
  EXPECT_FALSE(has(summary_text(run), "for data"));
  run.wait_seconds = 2;
  EXPECT_TRUE(has(summary_text(run), "  of train, for data             2 s"))
    << summary_text(run);
}

TEST(Summary, SmallIsBestWhenMinimizing) {
  auto run = sample_run();
  for (auto& study : run.studies) {
    study.direction = direction::minimize;
    for (auto& trial : study.trials)
      trial.results.erase(trial.results.begin(), trial.results.end() - 1);
  }
  const auto text = summary_text(run);
  EXPECT_LT(text.find("0.30000000000000004"), text.find("0.3333333333333333 "));
}

TEST(Summary, ShowsAsManyRowsAsAskedFor) {
  const auto text = summary_text(sample_run(), 1);
  EXPECT_TRUE(has(text, "\n   1 "));
  EXPECT_FALSE(has(text, "\n   2 "));
}

TEST(Summary, TellsEachFailureOnce) {
  auto run = sample_run();
  for (auto& trial : run.studies[0].trials) {
    trial.state = trial_state::failed;
    trial.failure = "diverged at step 3: " + std::string(200, 'x') + "\nmore";
  }
  const auto text = summary_text(run);
  expect_narrow(text);
  EXPECT_TRUE(has(text, "first 0,1\n    diverged at step 3:\n    xxx")) << text;
  EXPECT_EQ(text.find("diverged"), text.rfind("diverged"));
}

TEST(Summary, SaysWhyAStudyEndedEarly) {
  auto run = sample_run();
  run.studies[0].reason = "its time, 3 s, is spent";
  const auto text = summary_text(run);
  expect_narrow(text);
  EXPECT_TRUE(has(text, "\n  its time, 3 s, is spent\n")) << text;
}

TEST(Summary, WhatATrialMeasuredBeforeItFailedIsInNoTable) {
  auto run = sample_run();
  run.studies.resize(1);
  auto& leading = run.studies[0].trials[1];
  leading.state = trial_state::failed;
  leading.failure = "broken";
  const auto text = summary_text(run);
  EXPECT_TRUE(has(text, "2 trials: 1 COMPLETE, 1 FAILED")) << text;
  EXPECT_TRUE(has(text, "   1      0  COMPLETE"));
  EXPECT_FALSE(has(text, "1  FAILED")) << text;
}

TEST(Summary, WhatNobodyHasStartedIsNoFailure) {
  auto run = sample_run();
  auto& trial = run.studies[0].trials[0];
  trial.state = trial_state::cancelled;
  trial.failure = "its time, 3 s, is spent";
  const auto text = summary_text(run);
  EXPECT_FALSE(has(text, "Failed trials")) << text;
  EXPECT_TRUE(has(text, "1 CANCELLED"));
}

TEST(Summary, CountsFailuresThatAreTooMany) {
  auto run = sample_run();
  run.studies.resize(1);
  run.studies[0].trials.clear();
  for (std::uint64_t i = 0; i < 50; ++i) {
    auto trial = sample_trial(i, 1, 0);
    trial.state = trial_state::failed;
    trial.failure = "reason " + std::to_string(i);
    run.studies[0].trials.push_back(trial);
  }
  const auto text = summary_text(run);
  EXPECT_TRUE(has(text, "reason 19"));
  EXPECT_FALSE(has(text, "reason 20"));
  EXPECT_TRUE(has(text, "and 30 more"));
}

TEST(Summary, StaysNarrowWhateverTheNames) {
  auto run = sample_run();
  run.interrupted = true;
  for (auto& study : run.studies) {
    study.name = "学習率スケジュール" + std::string(90, 'n') + "\x1b[2J";
    study.metric = std::string(100, 'm');
    for (auto& trial : study.trials) {
      trial.id = 1234567890123;
      trial.params["学習"] =
        std::string(100, 'p') + std::to_string(trial.steps);
      trial.results = {{1, {{study.metric, -1.2345678901234567e-300}}}};
    }
    study.trials[0].state = trial_state::failed;
    study.trials[0].failure = "理由" + std::string(100, 'f');
  }
  run.trainers[1].name = std::string(100, 'h');
  run.saved_device_seconds = 1e12;
  const auto text = summary_text(run);
  expect_narrow(text);
  // No digit is lost.
  EXPECT_TRUE(has(text, "1234567890123  COMPLETE  "
                          + to_text(-1.2345678901234567e-300)))
    << text;
  EXPECT_FALSE(has(text, "\x1b"));
}

TEST(Summary, WorksForAnEmptyRun) {
  expect_narrow(summary_text({}));
  run_record run;
  run.studies.emplace_back();
  EXPECT_TRUE(has(summary_text(run), "no results"));
}

TEST(Summary, ColoursOnlyWhenAsked) {
  EXPECT_TRUE(has(summary_text(sample_run(), 5, true), "\x1b[32m"));
}

} // namespace
} // namespace hippo
