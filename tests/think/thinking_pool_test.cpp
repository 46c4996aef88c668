#include "hippo/search/think/thinking_pool.hpp"

#include <atomic>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using namespace std::chrono_literals;

TEST(ThinkingPool, JobsOfAPartyRunOneAfterTheOtherInTheirOrder) {
  const auto pool = std::make_shared<thinking_pool>(4);
  std::vector<int> seen; // without a lock: they never run at the same time
  std::promise<void> done;
  thinking_place place{pool, job_kind::decision};
  for (int i = 0; i < 1000; ++i)
    place.post([&seen, &done, i](const job_turn&) {
      seen.push_back(i);
      if (i == 999)
        done.set_value();
    });
  done.get_future().wait();
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

/// Holds a thread until it is told to go on.
struct obstacle {
  std::promise<void> begun;
  std::promise<void> go;
  thinking::job job() {
    return [this](const job_turn&) {
      begun.set_value();
      go.get_future().wait();
    };
  }
};

TEST(ThinkingPool, QuestionsThatTakeLongKeepNoOtherKindWaiting) {
  const auto pool = std::make_shared<thinking_pool>(4);
  obstacle first, second;
  thinking_place rude{pool, job_kind::question};
  thinking_place ruder{pool, job_kind::question};
  rude.post(first.job());
  ruder.post(second.job());
  first.begun.get_future().wait();
  second.begun.get_future().wait();
  std::promise<void> admitted, decided;
  thinking_place client{pool, job_kind::admission};
  thinking_place study{pool, job_kind::decision};
  client.post([&](const job_turn&) { admitted.set_value(); });
  study.post([&](const job_turn&) { decided.set_value(); });
  admitted.get_future().wait();
  decided.get_future().wait();
  first.go.set_value();
  second.go.set_value();
}

TEST(ThinkingPool, WhoLeavesIsForgotten) {
  const auto pool = std::make_shared<thinking_pool>(3);
  std::promise<void> begun;
  std::atomic<bool> was_told = false, ran = false;
  const auto held = std::make_shared<int>(1);
  {
    thinking_place gone{pool, job_kind::question};
    gone.post([&](const job_turn& turn) {
      begun.set_value();
      while (!turn.is_cancelled())
        std::this_thread::yield();
      EXPECT_TRUE(turn.is_over());
      was_told = true;
    });
    begun.get_future().wait();
    gone.post([&ran, held](const job_turn&) { ran = true; });
    EXPECT_EQ(gone.waiting(), 1u);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1); // at once
  EXPECT_TRUE(pool->close(1min));
  EXPECT_TRUE(was_told);
  EXPECT_FALSE(ran);
}

TEST(ThinkingPool, ClosingDoesNotWaitForWhatDoesNotEnd) {
  thinking_pool pool{3};
  obstacle x;
  pool.post(pool.join(job_kind::decision), x.job());
  x.begun.get_future().wait();
  EXPECT_FALSE(pool.close(1ms));
  x.go.set_value();
  EXPECT_TRUE(pool.close(1min));
}

TEST(ThinkingPool, AJobIsToldThatItsTurnIsOver) {
  const auto pool = std::make_shared<thinking_pool>(3);
  thinking_place place{pool, job_kind::decision};
  std::promise<bool> at_first;
  place.post([&](const job_turn& turn) {
    at_first.set_value(turn.is_over());
    while (!turn.is_over())
      std::this_thread::yield();
  });
  at_first.get_future().wait();
  EXPECT_TRUE(pool->close(1min));
}

TEST(ThinkingPool, HoldsUnderStress) {
  const auto pool = std::make_shared<thinking_pool>(5);
  std::atomic<std::uint64_t> ran = 0;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random{seed};
      for (int i = 0; i < 200; ++i) {
        thinking_place x{pool, static_cast<job_kind>(random() % job_kinds)};
        // Jobs reach what outlives them, as they do elsewhere.
        const auto shared = std::make_shared<std::atomic<int>>(0);
        for (auto left = random() % 8; left > 0; --left)
          x.post([&ran, shared](const job_turn&) {
            EXPECT_EQ(shared->fetch_add(1), 0); // one at a time
            ++ran;
            shared->fetch_sub(1);
          });
        if (random() % 2 == 0)
          while (x.waiting() > 0)
            std::this_thread::yield();
      }
    });
  for (auto& x : threads)
    x.join();
  EXPECT_TRUE(pool->close(1min));
  EXPECT_GT(ran, 0u);
}

} // namespace
} // namespace hippo
