// In which order workloads that share a device launch, and for what they wait:
// on the thread of a device that is a CPU, with marks that a test lets pass.

#include "hippo/train/torch/device_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hippo {

namespace {

/// A device that does what was launched when it is told to.
class pretended_device {
public:
  void launch() {
    const std::lock_guard guard{mutex_};
    ++launched_;
    if (launched_ > done_)
      most_ahead_ = std::max(most_ahead_, launched_ - done_);
    if (is_fast_)
      done_ = launched_;
    changed_.notify_all();
  }

  [[nodiscard]] std::size_t launched() {
    const std::lock_guard guard{mutex_};
    return launched_;
  }

  [[nodiscard]] std::size_t most_ahead() {
    const std::lock_guard guard{mutex_};
    return most_ahead_;
  }

  void await_launched(std::size_t count) {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [&] { return launched_ >= count; });
  }

  void await_done(std::size_t count) {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [&] { return done_ >= count; });
  }

  void do_until(std::size_t count) {
    const std::lock_guard guard{mutex_};
    done_ = count;
    changed_.notify_all();
  }

  void be_fast() {
    const std::lock_guard guard{mutex_};
    is_fast_ = true;
    done_ = launched_;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t launched_ = 0, done_ = 0, most_ahead_ = 0;
  bool is_fast_ = false;
};

/// The device of the test that runs, as marks are made without arguments.
pretended_device* present = nullptr;

class pretended_mark final : public stream_mark {
public:
  void record() override { behind_ = present->launched(); }
  void wait() override { present->await_done(behind_); }

private:
  std::size_t behind_ = 0;
};

std::unique_ptr<stream_mark> new_mark() {
  return std::make_unique<pretended_mark>();
}

} // namespace

class DeviceStream : public testing::Test {
protected:
  DeviceStream() { present = &device; }

  pretended_device device;
  device_thread& thread = device_thread::of(at::kCPU);
};

TEST_F(DeviceStream, OnACpuWorkIsDoneWhereItIsCalled) {
  device_stream stream{at::kCPU};
  const auto here = std::this_thread::get_id();
  EXPECT_EQ(stream.run([] { return std::this_thread::get_id(); }), here);
  int calls = 0;
  stream.run_each([&] { return ++calls < 10; });
  EXPECT_EQ(calls, 10);
  EXPECT_THROW(stream.run([]() -> int { throw std::out_of_range("no"); }),
               std::out_of_range);
}

TEST_F(DeviceStream, NoMoreThanAFewPiecesAreLaunchedAhead) {
  device_stream stream{&thread, new_mark};
  std::thread work{[&] {
    std::size_t count = 0;
    stream.run_each([&] {
      device.launch();
      return ++count < 100;
    });
    stream.finish([] {});
  }};
  device.await_launched(8);
  // Whoever waits launches nothing, however long it takes.
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  const auto ahead = device.most_ahead();
  EXPECT_LE(ahead, 12);
  for (std::size_t done = 1; done <= 50; ++done)
    device.do_until(done);
  device.await_launched(52);
  EXPECT_LE(device.launched(), 50 + 12);
  EXPECT_LE(device.most_ahead(), 12);
  device.be_fast();
  work.join();
  EXPECT_EQ(device.launched(), 100);
}

TEST_F(DeviceStream, OthersHaveTheirTurnWhileOneWaits) {
  device_stream slow{&thread, new_mark}, other{&thread, new_mark};
  std::thread work{[&] {
    slow.run_each([&, count = 0]() mutable {
      device.launch();
      return ++count < 100;
    });
  }};
  device.await_launched(8);
  // The device does nothing, and still others launch.
  EXPECT_EQ(other.run([] { return 7; }), 7);
  int pieces = 0;
  other.run_each([&] { return ++pieces < 4; });
  EXPECT_EQ(pieces, 4);
  device.be_fast();
  work.join();
}

TEST_F(DeviceStream, PiecesOfAllAreLaunchedInTurnsByOneThread) {
  device.be_fast();
  const auto there = thread.run([] { return std::this_thread::get_id(); });
  std::vector<int> order; // no lock: one thread launches
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      device_stream stream{&thread, new_mark};
      stream.run_each([&, count = 0]() mutable {
        EXPECT_EQ(std::this_thread::get_id(), there);
        order.push_back(i);
        return ++count < 400;
      });
    });
  for (auto& x : threads)
    x.join();
  ASSERT_EQ(order.size(), 1200);
  // Nobody is passed by for long once all have begun: between two pieces of
  // one, the others launch a turn each.
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(std::count(order.begin(), order.end(), i), 400);
}

TEST_F(DeviceStream, FinishWaitsForAll) {
  device_stream stream{&thread, new_mark};
  bool is_through = false;
  std::mutex mutex;
  std::thread work{[&] {
    stream.finish([&] { device.launch(); });
    const std::lock_guard guard{mutex};
    is_through = true;
  }};
  device.await_launched(1);
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  {
    const std::lock_guard guard{mutex};
    EXPECT_FALSE(is_through);
  }
  device.be_fast();
  work.join();
  EXPECT_TRUE(is_through);
}

TEST_F(DeviceStream, WantOfMemoryIsToldAsSuch) {
  device.be_fast();
  device_stream stream{&thread, new_mark};
  try {
    stream.run([] {
      TORCH_CHECK_WITH(OutOfMemoryError, false, "out of memory: 3 GiB\nadvice");
    });
    ADD_FAILURE() << "no error";
  } catch (const device_memory_error& e) {
    EXPECT_STREQ(e.what(), "out of memory: 3 GiB");
  }
  EXPECT_EQ(stream.run([] { return 1; }), 1);
}

TEST_F(DeviceStream, AfterAPieceThatFailedItCanBeUsed) {
  device.be_fast();
  device_stream stream{&thread, new_mark};
  int calls = 0;
  EXPECT_THROW(stream.run_each([&]() -> bool {
    if (++calls == 6)
      throw std::runtime_error("no");
    return true;
  }),
               std::runtime_error);
  EXPECT_EQ(calls, 6);
  stream.run_each([&] { return ++calls < 9; });
  stream.finish([] {});
  EXPECT_EQ(calls, 9);
}

} // namespace hippo
