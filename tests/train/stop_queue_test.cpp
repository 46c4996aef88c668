#include "hippo/train/stop_queue.hpp"

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {

namespace {

/// A state of so many bytes of the device's memory, and of its content.
struct sized_state final : workload_state {
  sized_state(std::uint64_t x, std::uint64_t content)
    : bytes_(x), content_(content) {}
  [[nodiscard]] std::string bytes() const override { return "x"; }
  [[nodiscard]] std::uint64_t size() const override { return bytes_; }
  [[nodiscard]] std::uint64_t content_size() const override { return content_; }
  std::uint64_t bytes_;
  std::uint64_t content_;
};

} // namespace

class StopQueue : public testing::Test {
protected:
  ~StopQueue() override { let_pass(1000); }

  passed_stop stop(step_t at, std::optional<std::uint64_t> size = {}) const {
    passed_stop result;
    result.report.at = at;
    if (size)
      result.state = std::make_shared<sized_state>(*size, content_bytes);
    return result;
  }

  bool add(passed_stop stop) { return queue.try_add(stop); }

  /// Lets so many more be told.
  void let_pass(std::size_t n) {
    const std::lock_guard guard{mutex};
    passes += n;
    changed.notify_all();
  }

  void await_told(std::size_t n) {
    std::unique_lock guard{mutex};
    changed.wait(guard, [&] { return told.size() >= n; });
  }

  std::optional<error> tell(passed_stop& x) {
    std::unique_lock guard{mutex};
    changed.wait(guard, [this] { return passes > 0; });
    --passes;
    told.push_back(x.report.at);
    changed.notify_all();
    if (x.report.at == bad)
      return error{errc::io_failed, "full"};
    x.state.reset();
    return std::nullopt;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t passes = 0;
  std::vector<step_t> told;
  step_t bad = 999;
  std::uint64_t content_bytes = 10; ///< of states
  recent_states room{100};
  stop_queue queue{[this](passed_stop& x) { return tell(x); }, room};
};

TEST_F(StopQueue, TellsInOrder) {
  for (step_t t = 1; t <= 9; ++t)
    ASSERT_TRUE(add(t % 3 == 0 ? stop(t, 1) : stop(t))) << t;
  let_pass(9);
  EXPECT_FALSE(queue.finish());
  EXPECT_EQ(told, (std::vector<step_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(StopQueue, TakesAStateOfUnknownSizeAlone) {
  content_bytes = 0;
  ASSERT_TRUE(add(stop(1, 0)));
  EXPECT_FALSE(add(stop(2, 0)));
  EXPECT_TRUE(add(stop(2))) << "that saves nothing";
  let_pass(2);
  EXPECT_FALSE(queue.finish());
  content_bytes = 10;
  ASSERT_TRUE(add(stop(3, 0)));
  EXPECT_TRUE(add(stop(4, 0)));
}

TEST_F(StopQueue, TakesStatesOfSoManyBytesAndNoMore) {
  content_bytes = unwritten_bytes_max / 8;
  for (step_t t = 1; t <= 8; ++t)
    ASSERT_TRUE(add(stop(t, 0))) << t;
  EXPECT_FALSE(add(stop(9, 0)));
  let_pass(1);
  auto x = stop(9, 0);
  EXPECT_FALSE(queue.add(x)) << "waits until one is written";
}

TEST_F(StopQueue, TakesLargeStatesOneByOne) {
  content_bytes = unwritten_bytes_max / 2 + 1;
  ASSERT_TRUE(add(stop(1, 0)));
  EXPECT_FALSE(add(stop(2, 0)));
  content_bytes = unwritten_bytes_max + 1;
  let_pass(1);
  EXPECT_FALSE(queue.finish());
  EXPECT_TRUE(add(stop(3, 0))) << "one is always taken";
}

TEST_F(StopQueue, KeepsWithinTheRoomForRecentStates) {
  const checkpoint old{"old", 1, 1};
  room.keep(old, std::make_shared<sized_state>(60, 1));
  ASSERT_TRUE(add(stop(1, 70))); // being written
  EXPECT_TRUE(room.find(old)) << "it is there anyway";
  ASSERT_TRUE(add(stop(2, 70)));
  EXPECT_FALSE(room.find(old)) << "it has made room";
  EXPECT_FALSE(add(stop(3, 70)));
  EXPECT_TRUE(add(stop(3, 30)));
  const checkpoint fresh{"fresh", 1, 2};
  room.keep(fresh, std::make_shared<sized_state>(1, 1));
  EXPECT_FALSE(room.find(fresh));
  let_pass(3);
  EXPECT_FALSE(queue.finish());
  room.keep(fresh, std::make_shared<sized_state>(100, 1));
  EXPECT_TRUE(room.find(fresh)) << "all is free again";
}

TEST_F(StopQueue, TakesSoManyStopsAndNoMore) {
  for (std::size_t i = 0; i < untold_stops_max; ++i)
    ASSERT_TRUE(add(stop(i)));
  EXPECT_FALSE(add(stop(1000)));
}

TEST_F(StopQueue, TellsNothingAfterAFailure) {
  bad = 2;
  for (step_t t = 1; t <= 4; ++t)
    ASSERT_TRUE(add(stop(t, 20)));
  let_pass(9);
  const auto why = queue.finish();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->message, "full");
  EXPECT_EQ(told, (std::vector<step_t>{1, 2}));
  EXPECT_FALSE(add(stop(5)));
  auto x = stop(5);
  EXPECT_TRUE(queue.add(x));
  EXPECT_TRUE(room.hold(100)) << "what it held is free";
}

TEST_F(StopQueue, TellsAllBeforeItGoes) {
  std::vector<step_t> seen;
  {
    stop_queue other{[&](passed_stop& x) -> std::optional<error> {
                       seen.push_back(x.report.at);
                       return std::nullopt;
                     },
                     room};
    for (step_t t = 1; t <= 3; ++t) {
      auto x = stop(t);
      ASSERT_TRUE(other.try_add(x));
    }
  }
  EXPECT_EQ(seen, (std::vector<step_t>{1, 2, 3}));
}

} // namespace hippo
