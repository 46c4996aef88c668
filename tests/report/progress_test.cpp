#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/report/progress.hpp"
#include "hippo/report/text.hpp"

namespace hippo {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    result.push_back(line);
  return result;
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != text.npos;
}

progress_view sample_view(std::size_t studies, std::size_t trainers) {
  progress_view x;
  for (std::size_t i = 0; i < studies; ++i) {
    auto& study = x.studies.emplace_back().study;
    study.name = "study-" + std::to_string(i);
    study.finished = 10;
    study.trials = 40;
    study.asked_steps = 120;
    study.metric = "accuracy";
    study.best.emplace().trial = 7;
    study.best->best = best_measurement{0.9123456789, 3};
  }
  for (std::size_t i = 0; i < trainers; ++i)
    x.trainers.push_back({i + 1, i % 2 == 0, "lr 0.1, steps 4-6", 1.9});
  x.shared_steps = 140;
  x.asked_steps = 240;
  x.saved_device_seconds = 75;
  x.elapsed_seconds = 42;
  x.seconds_left = 90;
  return x;
}

TEST(Progress, ShowsEverything) {
  const auto text = render_progress(sample_view(2, 2), 80, false);
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "hippo  42 s elapsed, about 1 min 30 s left");
  EXPECT_EQ(lines[1], "study-0 ████░░░░░░░░░░░░░░ 10/40  120 steps  "
                      "accuracy 0.912346 (trial 7)");
  EXPECT_EQ(lines[3],
            "trainers 1/2 busy | 1: lr 0.1, steps 4-6 1.9/s | 2: idle");
  EXPECT_EQ(lines[4], "steps 240 asked for, 140 shared | merging saved "
                      "1 min 15 s of device time");
}

study_view some_study(const char* state, std::optional<double> left) {
  study_view x;
  x.name = state;
  x.state = state;
  x.asked_steps = 100;
  x.shared_steps = 30;
  x.saved_seconds = 8;
  x.active_seconds = left.value_or(60);
  x.seconds_left = left;
  return x;
}

TEST(Progress, IsMadeOfWhatClientsSee) {
  trainer_view busy, idle, lost;
  busy.trainer = 4;
  auto& lease = busy.lease.emplace();
  lease.lanes = 2;
  lease.step = 3;
  lease.to_step = 9;
  lease.steps_per_second = 1.5;
  idle.trainer = 5;
  lost.lost = "has left";
  const auto x =
    progress_of({some_study("RUNNING", 20), some_study("COMPLETE", {}),
                 some_study("STOPPING", 50)},
                {busy, lost, idle});
  EXPECT_EQ(x.asked_steps, 300u);
  EXPECT_EQ(x.shared_steps, 90u);
  EXPECT_EQ(x.saved_device_seconds, 24);
  EXPECT_EQ(x.elapsed_seconds, 60);
  EXPECT_EQ(x.seconds_left, 50) << "until the last one ends";
  ASSERT_EQ(x.studies.size(), 3u);
  EXPECT_EQ(x.studies[2].study.name, "STOPPING");
  EXPECT_FALSE(x.studies[0].front);
  ASSERT_EQ(x.trainers.size(), 2u);
  EXPECT_EQ(x.trainers[0].number, 4u);
  EXPECT_TRUE(x.trainers[0].busy);
  EXPECT_EQ(x.trainers[0].lanes, 2u);
  EXPECT_EQ(x.trainers[0].stage, "step 3 of 9");
  EXPECT_EQ(x.trainers[0].steps_per_second, 1.5);
  EXPECT_EQ(x.trainers[1].number, 5u);
  EXPECT_FALSE(x.trainers[1].busy);
}

TEST(Progress, SaysNoEndWhereOneIsNotKnown) {
  EXPECT_FALSE(
    progress_of({some_study("RUNNING", 20), some_study("RUNNING", {})}, {})
      .seconds_left);
  EXPECT_FALSE(progress_of({some_study("COMPLETE", {})}, {}).seconds_left);
  for (const auto* ended : {"COMPLETE", "FAILED", "CANCELLED"})
    EXPECT_EQ(
      progress_of({some_study("RUNNING", 20), some_study(ended, {})}, {})
        .seconds_left,
      20)
      << ended;
}

TEST(Progress, HasTheFrontOfAStudyOfSeveralMetrics) {
  study_view study;
  auto& front = study.front.emplace();
  front.goals.resize(2);
  front.points.resize(3);
  front.hypervolume = 0.5;
  const auto x = progress_of({study}, {});
  ASSERT_TRUE(x.studies[0].front);
  EXPECT_EQ(x.studies[0].front->points, 3u);
  EXPECT_EQ(x.studies[0].front->hypervolume, 0.5);
}

TEST(Progress, IsNeverTooWide) {
  auto x = sample_view(12, 20);
  for (auto& row : x.studies) {
    auto& study = row.study;
    study.name = std::string{"とても長い名前のスタディ"}.append(90, 'n');
    study.metric = std::string(90, 'm');
    study.asked_steps = 123456789012;
  }
  for (auto& trainer : x.trainers)
    trainer.stage = std::string(100, 's').append("\n");
  x.asked_steps = x.shared_steps = 12345678901234567890u;
  for (std::size_t columns : {0u, 1u, 10u, 40u, 79u, 80u, 200u})
    for (const auto& line : lines_of(render_progress(x, columns, false)))
      EXPECT_LE(display_width(line), std::min<std::size_t>(columns, 80));
}

TEST(Progress, ManyStudiesFold) {
  const auto lines = lines_of(render_progress(sample_view(20, 1), 80, false));
  ASSERT_EQ(lines.size(), 1u + 8 + 1 + 1 + 1);
  EXPECT_EQ(lines[9], "and 12 more studies: 120/480 trials");
}

TEST(Progress, ManyTrainersFoldIntoOneLine) {
  for (std::size_t count : {3u, 4u, 9u, 20u, 1000u}) {
    const auto lines =
      lines_of(render_progress(sample_view(1, count), 80, false));
    ASSERT_EQ(lines.size(), 4u);
    std::size_t shown = 0;
    for (auto at = lines[2].find(": "); at != std::string::npos;
         at = lines[2].find(": ", at + 1))
      ++shown;
    const auto rest = count - shown;
    EXPECT_EQ(has(lines[2], "and " + std::to_string(rest) + " more"), rest > 0)
      << lines[2];
    EXPECT_GE(shown, 1u);
  }
}

TEST(Progress, WhatATrainerDoesCanStillBeRead) {
  auto x = sample_view(1, 20);
  for (auto& trainer : x.trainers)
    trainer.busy = true;
  const auto lines = lines_of(render_progress(x, 80, false));
  EXPECT_EQ(lines[2], "trainers 20/20 busy | 1: lr 0.1, st… 1.9/s | "
                      "2: lr 0.1, st… 1.9/s | and 18 more");
}

TEST(Progress, WorksBeforeAnythingHasHappened) {
  const auto lines = lines_of(render_progress({}, 80, true));
  EXPECT_EQ(lines.size(), 3u);
  progress_view x;
  x.studies.emplace_back().study.metric = "loss";
  EXPECT_TRUE(has(render_progress(x, 80, false), "no result yet"));
  EXPECT_FALSE(has(render_progress(x, 80, false), "left"));
}

TEST(Progress, ColourAddsNothingButColour) {
  auto text = render_progress(sample_view(2, 2), 80, true);
  EXPECT_TRUE(has(text, "\x1b["));
  for (auto at = text.find('\x1b'); at != text.npos; at = text.find('\x1b'))
    text.erase(at, text.find('m', at) - at + 1);
  EXPECT_EQ(text, render_progress(sample_view(2, 2), 80, false));
}

/// What a terminal shows after `bytes`: the few sequences that are used.
std::vector<std::string> screen(const std::string& bytes) {
  std::vector<std::string> rows{""};
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r') {
      column = 0;
    } else if (bytes[i] == '\n') {
      column = 0;
      if (++row == rows.size())
        rows.emplace_back();
    } else if (bytes[i] == '\x1b') {
      std::size_t number = 0;
      for (i += 2; std::isdigit(static_cast<unsigned char>(bytes[i])); ++i)
        number = 10 * number + static_cast<std::size_t>(bytes[i] - '0');
      if (bytes[i] == 'A')
        row -= number;
      else if (bytes[i] == 'K' || bytes[i] == 'J')
        rows[row].resize(std::min(rows[row].size(), column));
      if (bytes[i] == 'J')
        rows.resize(row + 1);
    } else {
      rows[row].resize(std::max(rows[row].size(), column + 1));
      rows[row][column++] = bytes[i];
    }
  }
  return rows;
}

TEST(LiveDisplay, RedrawsInPlace) {
  using rows = std::vector<std::string>;
  std::ostringstream out;
  live_display display{out};
  display.show("long line\nsecond\nthird\n");
  EXPECT_EQ(screen(out.str()), (rows{"long line", "second", "third", ""}));
  display.show("short\nnew\n");
  EXPECT_EQ(screen(out.str()), (rows{"short", "new", ""}));
  display.print("Trial 1 finished");
  EXPECT_EQ(screen(out.str()), (rows{"Trial 1 finished", "short", "new", ""}));
  display.print("Trial 2 finished");
  display.show("a\n");
  EXPECT_EQ(screen(out.str()),
            (rows{"Trial 1 finished", "Trial 2 finished", "a", ""}));
  display.clear();
  EXPECT_EQ(screen(out.str()),
            (rows{"Trial 1 finished", "Trial 2 finished", ""}));
  display.clear();
  EXPECT_EQ(screen(out.str()),
            (rows{"Trial 1 finished", "Trial 2 finished", ""}));
}

trial_event sample_event() {
  trial_event x;
  x.trial = 7;
  x.value = 0.91;
  x.step = 3;
  x.params = {{"lr", 0.1}, {"note", "a,b:\"c"}};
  x.best = best_so_far{0, 0.1 + 0.2};
  return x;
}

TEST(TrialLine, IsInOptunasShape) {
  auto x = sample_event();
  EXPECT_EQ(trial_line(x),
            "Trial 7 finished with value: 0.91 and parameters: {\"lr\": 0.1, "
            "\"note\": \"a,b:\\\"c\"}. Best is trial 0 with value: "
            "0.30000000000000004.");
  x.study = "first";
  x.value.reset();
  x.params = nullptr;
  x.best.reset();
  EXPECT_EQ(trial_line(x), "first: Trial 7 finished with parameters: {}.");
}

TEST(TrialLine, TellsOtherEndsToo) {
  auto x = sample_event();
  x.state = trial_state::pruned;
  EXPECT_EQ(trial_line(x), "Trial 7 pruned at step 3 with value: 0.91. Best is "
                           "trial 0 with value: 0.30000000000000004.");
  x.state = trial_state::cancelled;
  x.best.reset();
  EXPECT_EQ(trial_line(x), "Trial 7 cancelled at step 3 with value: 0.91.");
  x.state = trial_state::failed;
  // What follows the first line is the trainer's log.
  x.failure = "diverged at \x1bstep 3\nmore";
  EXPECT_EQ(trial_line(x), "Trial 7 failed: diverged at  step 3");
}

} // namespace
} // namespace hippo
