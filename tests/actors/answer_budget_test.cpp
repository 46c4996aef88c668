#include "gateway/answer_budget.hpp"

#include <random>

#include <gtest/gtest.h>

namespace hippo {
namespace {

struct AnswerBudgetTest : testing::Test {
  ~AnswerBudgetTest() noexcept override = default;

  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  answer_budget all{100};

  /// Whether a promise is kept by now.
  template <class T>
  bool is_kept(kj::Promise<T>& x) {
    return x.poll(scope);
  }
};

TEST_F(AnswerBudgetTest, WhoFindsNoRoomWaitsForItInTurn) {
  auto first = all.take(60).wait(scope);
  auto second = all.take(50);
  auto third = all.take(1); // which would fit, but comes later
  EXPECT_FALSE(is_kept(second));
  EXPECT_FALSE(is_kept(third));
  first.resize(40);
  EXPECT_TRUE(is_kept(second));
  EXPECT_TRUE(is_kept(third));
  EXPECT_EQ(all.used(), 91u);
}

TEST_F(AnswerBudgetTest, WhatIsLargerThanAllHasRoomAlone) {
  auto small = all.take(1);
  auto large = all.take(1000);
  EXPECT_FALSE(is_kept(large));
  { const auto done = small.wait(scope); }
  EXPECT_TRUE(is_kept(large));
  auto next = all.take(1);
  EXPECT_FALSE(is_kept(next));
}

TEST_F(AnswerBudgetTest, NothingNeedsNoRoom) {
  auto full = all.take(1000).wait(scope);
  auto waiting = all.take(1);
  auto nothing = all.take(0);
  EXPECT_TRUE(is_kept(nothing));
  EXPECT_FALSE(is_kept(waiting));
}

TEST_F(AnswerBudgetTest, WhoHasGoneAwayKeepsNobodyWaiting) {
  auto full = all.take(100).wait(scope);
  {
    auto gone = all.take(100);
    EXPECT_FALSE(is_kept(gone));
  }
  auto last = all.take(100);
  { const auto done = kj::mv(full); }
  EXPECT_TRUE(is_kept(last));
}

TEST_F(AnswerBudgetTest, RandomUseNeverGoesBeyondItsRoomAndServesAll) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::minstd_rand random{seed};
    std::vector<answer_budget::share> held;
    std::vector<kj::Promise<answer_budget::share>> asked;
    for (int i = 0; i < 200; ++i) {
      if (random() % 2 == 0)
        asked.push_back(all.take(1 + random() % 40));
      else if (!held.empty())
        held.erase(held.begin()
                   + static_cast<std::ptrdiff_t>(random() % held.size()));
      if (random() % 8 == 0 && !asked.empty())
        asked.erase(asked.begin()
                    + static_cast<std::ptrdiff_t>(random() % asked.size()));
      while (!asked.empty() && asked.front().poll(scope)) {
        held.push_back(asked.front().wait(scope));
        asked.erase(asked.begin());
      }
      EXPECT_LE(all.used(), 100u);
    }
    while (!held.empty() || !asked.empty()) {
      held.clear();
      ASSERT_TRUE(asked.empty() || asked.front().poll(scope)) << seed;
      if (!asked.empty()) {
        held.push_back(asked.front().wait(scope));
        asked.erase(asked.begin());
      }
    }
    EXPECT_EQ(all.used(), 0u);
  }
}

struct AnswerLedgerTest : AnswerBudgetTest {
  ~AnswerLedgerTest() noexcept override = default;

  kj::Own<answer_ledger> one = kj::refcounted<answer_ledger>(all, 50);
  kj::Own<answer_ledger> other = kj::refcounted<answer_ledger>(all, 50);

  void post(answer_ledger& to, std::size_t bytes) {
    to.post(to.open(10).wait(scope), bytes);
  }
};

TEST_F(AnswerLedgerTest, AnAnswerTakesRoomUntilItIsWritten) {
  post(*one, 70);
  auto next = one->open(10);
  EXPECT_FALSE(is_kept(next));
  one->note_written(69);
  EXPECT_FALSE(is_kept(next));
  one->note_written(1);
  EXPECT_TRUE(is_kept(next));
  EXPECT_EQ(all.used(), 10u);
}

TEST_F(AnswerLedgerTest, WhoDoesNotReadHoldsUpHimselfAlone) {
  post(*one, 60);
  auto mine = one->open(10);
  auto theirs = other->open(10);
  EXPECT_FALSE(is_kept(mine));
  EXPECT_TRUE(is_kept(theirs));
}

TEST_F(AnswerLedgerTest, AllTogetherHaveNoMoreThanThereIs) {
  post(*one, 60);
  post(*other, 60);
  auto third = kj::refcounted<answer_ledger>(all, 50);
  auto mine = third->open(10);
  EXPECT_FALSE(is_kept(mine));
  one = nullptr; // that client is gone
  EXPECT_TRUE(is_kept(mine));
}

} // namespace
} // namespace hippo
