// The thread of a GPU, on a CPU: as LibTorch has it, one that cannot be waited
// for, which is what a GPU that is lost looks like.

#include "hippo/train/torch/device_thread.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace hippo {

namespace {

device_thread& subject() {
  return device_thread::of(at::kCPU);
}

std::string lost; ///< what the handler was told

void note_lost(const std::string& device, const std::string& why) {
  lost = device + ": " + why;
}

} // namespace

TEST(DeviceThread, CallsOfAllThreadsRunOnOne) {
  const auto there = subject().run([] { return std::this_thread::get_id(); });
  EXPECT_NE(there, std::this_thread::get_id());
  int calls = 0; // no atomic: one thread counts
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int n = 0; n < 100; ++n)
        subject().run([&] {
          EXPECT_EQ(std::this_thread::get_id(), there);
          ++calls;
        });
    });
  for (auto& x : callers)
    x.join();
  EXPECT_EQ(calls, 400);
}

TEST(DeviceThread, ACallThatThrowsThrowsAndLaterOnesRun) {
  EXPECT_THROW(subject().run([]() -> int { throw std::out_of_range("no"); }),
               std::out_of_range);
  EXPECT_EQ(subject().run([] { return 7; }), 7);
}

TEST(DeviceThread, AfterAFailureADeviceThatDoesNotAnswerIsTold) {
  lost.clear();
  device_thread::on_lost(note_lost);
  subject().run([] {});
  EXPECT_EQ(lost, "");
  EXPECT_THROW(subject().run([] { throw std::runtime_error("no"); }),
               std::runtime_error);
  device_thread::on_lost(nullptr);
  EXPECT_EQ(lost.substr(0, 5), "cpu: ");
}

} // namespace hippo
