// When steps are recorded, by what stands in for CUDA graphs.

#include "hippo/train/torch/kernels/step_recorder.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace hippo {

namespace {

/// What has happened: `r` for recorded, `p` for replayed, `-` for a recording
/// that was let go, and what steps add.
std::string events;
bool can_record = true;

class noted_recording final : public step_recorder::recording {
public:
  ~noted_recording() override { events += '-'; }
  void replay() override { events += 'p'; }
};

std::unique_ptr<step_recorder::recording>
record(const std::function<void()>& step) {
  events += 'r';
  if (!can_record) {
    step();
    throw std::runtime_error("no");
  }
  return std::make_unique<noted_recording>();
}

class StepRecorder : public testing::Test {
public:
  StepRecorder() {
    events.clear();
    can_record = true;
  }

  static void run(step_recorder& x, std::int64_t shape) {
    x.run({shape, 1}, [shape] { events += std::to_string(shape); });
  }
};

} // namespace

TEST_F(StepRecorder, RecordsTheSecondTimeAndReplaysThen) {
  step_recorder x{record};
  for (int i = 0; i < 4; ++i)
    run(x, 3);
  EXPECT_EQ(events, "3rppp");
}

TEST_F(StepRecorder, ShapesAreRecordedByThemselves) {
  step_recorder x{record};
  for (const auto shape : {3, 4, 3, 4, 3})
    run(x, shape);
  EXPECT_EQ(events, "34rprpp");
}

TEST_F(StepRecorder, WhatCannotBeRecordedIsRunEachTime) {
  can_record = false;
  step_recorder x{record};
  for (int i = 0; i < 4; ++i)
    run(x, 3);
  // The second time it is tried, in vain, and run.
  EXPECT_EQ(events, "3r3333");
}

TEST_F(StepRecorder, AStepThatFailsIsNotTakenForOneThatWasRun) {
  step_recorder x{record};
  const auto fail = [] { throw std::runtime_error("no"); };
  EXPECT_THROW(x.run({3, 1}, fail), std::runtime_error);
  run(x, 3);
  run(x, 3);
  EXPECT_EQ(events, "3rp");
}

TEST_F(StepRecorder, TheLeastRecentlyUsedGoesFirst) {
  step_recorder x{record};
  const auto most = static_cast<std::int64_t>(step_recorder::recordings_max);
  for (std::int64_t shape = 0; shape < most; ++shape) {
    run(x, shape);
    run(x, shape);
  }
  run(x, 0);
  events.clear();
  run(x, most); // in the place of 1
  EXPECT_EQ(events, "-" + std::to_string(most));
  events.clear();
  run(x, 0);
  EXPECT_EQ(events, "p");
  events.clear();
  run(x, 1);
  EXPECT_EQ(events, "-1");
}

TEST_F(StepRecorder, OnACpuStepsAreJustRun) {
  step_recorder x{at::Device{at::kCPU}};
  for (int i = 0; i < 3; ++i)
    run(x, 3);
  EXPECT_EQ(events, "333");
}

} // namespace hippo
