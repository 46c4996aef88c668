// Batches that threads prepare.

#include "hippo/train/batch_pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "train/message_of.hpp"

namespace hippo {
namespace {

using pipeline = batch_pipeline<std::uint64_t>;

/// Prepares the square of the number.
pipeline::preparer squares() {
  return [](std::uint64_t number) { return number * number; };
}

TEST(BatchPipeline, BatchesComeInTheirOrder) {
  for (const unsigned threads : {0, 1, 2, 8})
    for (const std::uint64_t count : {0, 1, 2, 3, 100}) {
      pipeline batches{count, threads, squares};
      for (std::uint64_t i = 0; i < count; ++i)
        EXPECT_EQ(batches.next(), i * i) << threads;
      EXPECT_EQ(batches.next(), std::nullopt);
      EXPECT_EQ(batches.next(), std::nullopt);
    }
}

TEST(BatchPipeline, AFewBatchesAreAheadOfTraining) {
  constexpr unsigned threads = 3;
  std::atomic<std::uint64_t> begun{0};
  pipeline batches{1000, threads, [&] {
                     return [&](std::uint64_t number) {
                       ++begun;
                       return number;
                     };
                   }};
  for (std::uint64_t taken = 0; taken < 1000; ++taken) {
    EXPECT_LE(begun, taken + std::uint64_t{2} * threads);
    EXPECT_EQ(batches.next(), taken);
  }
  EXPECT_EQ(begun, 1000);
}

TEST(BatchPipeline, TheNextBatchIsPreparedWhileTheLastOneIsInUse) {
  std::latch second{1};
  pipeline batches{2, 1, [&] {
                     return [&](std::uint64_t number) {
                       if (number == 1)
                         second.count_down();
                       return number;
                     };
                   }};
  EXPECT_EQ(batches.next(), 0);
  second.wait(); // it comes without a call of next
  EXPECT_EQ(batches.next(), 1);
}

TEST(BatchPipeline, EachThreadHasAPreparerOfItsOwn) {
  std::atomic<unsigned> made{0};
  for (const unsigned threads : {0, 1, 4}) {
    made = 0;
    pipeline batches{50, threads, [&] {
                       ++made;
                       return [calls = std::uint64_t{0}](
                                std::uint64_t number) mutable {
                         ++calls; // a race if two threads had it
                         return number;
                       };
                     }};
    while (batches.next())
      ;
    EXPECT_EQ(made, std::max(threads, 1U));
  }
}

TEST(BatchPipeline, AFailureArrivesInThePlaceOfItsBatch) {
  for (const unsigned threads : {0, 1, 2, 8}) {
    pipeline batches{100, threads, [] {
                       return [](std::uint64_t number) {
                         if (number >= 7)
                           throw std::runtime_error(std::to_string(number));
                         return number;
                       };
                     }};
    for (std::uint64_t i = 0; i < 7; ++i)
      EXPECT_EQ(batches.next(), i);
    EXPECT_EQ(message_of<std::runtime_error>([&] { batches.next(); }), "7");
  }
}

TEST(BatchPipeline, AFailureToBeginEndsTheThreadsBefore) {
  unsigned made = 0;
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              pipeline{1000, 4, [&] {
                         if (++made == 3)
                           throw std::runtime_error("no memory");
                         return squares();
                       }};
            }),
            "no memory");
}

TEST(BatchPipeline, EndsAtAnyTime) {
  for (const unsigned threads : {0, 1, 2, 8})
    for (std::uint64_t taken = 0; taken < 60; ++taken) {
      const auto alive = std::make_shared<int>(0);
      {
        batch_pipeline<std::shared_ptr<int>> batches{
          50, threads, [&] { return [&](std::uint64_t) { return alive; }; }};
        for (std::uint64_t i = 0; i < taken; ++i)
          batches.next();
      }
      EXPECT_EQ(alive.use_count(), 1) << threads << ' ' << taken;
    }
}

TEST(BatchPipeline, AnUnreadFailureIsDropped) {
  for (const unsigned threads : {1, 2, 8})
    pipeline{100, threads, [] {
               return [](std::uint64_t) -> std::uint64_t {
                 throw std::runtime_error("nobody reads it");
               };
             }};
}

TEST(BatchPipeline, WaitingIsMeasured) {
  std::latch asked{1};
  pipeline batches{1, 1, [&] {
                     return [&](std::uint64_t number) {
                       asked.wait();
                       return number;
                     };
                   }};
  EXPECT_EQ(batches.waited().count(), 0);
  std::jthread later{[&] { asked.count_down(); }};
  EXPECT_EQ(batches.next(), 0);
  EXPECT_GT(batches.waited().count(), 0);
}

TEST(BatchPipeline, PreparationWithoutThreadsIsWaiting) {
  constexpr std::chrono::milliseconds time{2};
  pipeline batches{3, 0, [&] {
                     return [&](std::uint64_t number) {
                       std::this_thread::sleep_for(time);
                       return number;
                     };
                   }};
  EXPECT_EQ(batches.next(), 0);
  EXPECT_EQ(batches.next(), 1);
  EXPECT_GE(batches.waited(), 2 * time);
}

} // namespace
} // namespace hippo
