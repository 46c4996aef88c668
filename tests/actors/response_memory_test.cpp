#include "gateway/response_memory.hpp"

#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <kj/async-io.h>

namespace hippo {
namespace {

using purpose = response_memory::line::purpose;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

struct AnswerRoomTest : testing::Test {
  ~AnswerRoomTest() noexcept override = default;

  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  byte_ledger ledger{"all", 64 * mib};
  response_memory room{{16 * mib, 2}, timer};
  int connections = 0;

  std::unique_ptr<response_memory::line> line(const std::string& party = "one",
                                              std::uint64_t most = 8 * mib) {
    return std::make_unique<response_memory::line>(
      room, ledger.root().open(party).open(std::to_string(++connections)),
      most);
  }
  bool is_kept(kj::Promise<held_room>& x) { return x.poll(scope); }
};

TEST_F(AnswerRoomTest, AConnectionHoldsSoMuchOrOneAnswer) {
  auto mine = line();
  auto first = mine->take(12 * mib, purpose::hold).wait(scope);
  auto second = mine->take(mib, purpose::hold);
  EXPECT_FALSE(is_kept(second));
  auto theirs = line();
  auto other = theirs->take(mib, purpose::hold); // which has its own line
  EXPECT_TRUE(is_kept(other));
  EXPECT_FALSE(first.resize(7 * mib));
  EXPECT_TRUE(is_kept(second));
}

TEST_F(AnswerRoomTest, WhatIsMoreThanAnybodyGetsIsCut) {
  auto mine = line();
  EXPECT_EQ(mine->take(1000 * mib, purpose::hold).wait(scope).bytes(),
            16 * mib);
}

TEST_F(AnswerRoomTest, WhoHasGoneAwayKeepsNobodyWaiting) {
  auto mine = line();
  auto full = mine->take(8 * mib, purpose::hold).wait(scope);
  {
    auto gone = mine->take(8 * mib, purpose::hold);
    EXPECT_FALSE(is_kept(gone));
  }
  auto last = mine->take(mib, purpose::hold);
  { const auto done = kj::mv(full); }
  EXPECT_TRUE(is_kept(last));
}

TEST_F(AnswerRoomTest, TurnsAreTakenByWhoHasHadTheLeast) {
  auto greedy = line(), modest = line();
  auto first = greedy->take(1, purpose::make).wait(scope);
  auto second = greedy->take(1, purpose::make).wait(scope);
  auto third = greedy->take(1, purpose::make);
  auto mine = modest->take(1, purpose::make);
  auto held = modest->take_now(1); // takes no turn
  EXPECT_TRUE(held);
  EXPECT_FALSE(is_kept(third));
  EXPECT_FALSE(is_kept(mine));
  timer.advanceTo(timer.now() + 100 * kj::MILLISECONDS);
  first.end_turn();
  EXPECT_TRUE(is_kept(mine)); // which came later
  EXPECT_FALSE(is_kept(third));
  second.end_turn();
  EXPECT_TRUE(is_kept(third));
}

TEST_F(AnswerRoomTest, ATurnThatTakesTooLongHoldsNobodyUp) {
  auto mine = line(), other = line();
  auto first = mine->take(1, purpose::make).wait(scope);
  auto second = mine->take(1, purpose::make).wait(scope);
  auto third = other->take(1, purpose::make);
  EXPECT_FALSE(is_kept(third));
  timer.advanceTo(timer.now() + 3 * kj::SECONDS);
  room.serve();
  EXPECT_TRUE(is_kept(third));
}

TEST_F(AnswerRoomTest, OnceItIsClosedNobodyIsServedAndAllIsGivenBack) {
  int said = 0;
  room.on_starving([&] { ++said; });
  auto mine = line(), other = line();
  auto first = mine->take(8 * mib, purpose::make).wait(scope);
  auto second = mine->take(8 * mib, purpose::make);
  EXPECT_FALSE(is_kept(second));
  room.close();
  { const auto done = kj::mv(first); }
  EXPECT_FALSE(is_kept(second));
  EXPECT_EQ(mine->account().held(), 0u);
  auto third = other->take(1000 * mib, purpose::hold);
  EXPECT_EQ(said, 0);
}

TEST_F(AnswerRoomTest, ItIsSaidWhenSomebodyStarves) {
  int said = 0;
  room.on_starving([&] { ++said; });
  std::vector<std::unique_ptr<response_memory::line>> hogs;
  std::vector<held_room> held;
  for (int i = 0; i < 20; ++i) {
    hogs.push_back(line());
    if (auto x = hogs.back()->take_now(
          std::min<std::uint64_t>(hogs.back()->account().available(), 8 * mib)))
      held.push_back(std::move(*x));
  }
  EXPECT_EQ(said, 0);
  auto mine = line();
  auto wanted = mine->take(mib, purpose::make);
  EXPECT_FALSE(is_kept(wanted));
  EXPECT_GT(said, 0);
  EXPECT_TRUE(room.somebody_starves());
  held.erase(held.begin()); // the one with the most
  EXPECT_TRUE(is_kept(wanted));
  EXPECT_FALSE(room.somebody_starves());
  // Another party is not harmed by all of them together.
  auto elsewhere = line("two");
  auto theirs = elsewhere->take(mib, purpose::hold);
  EXPECT_TRUE(is_kept(theirs));
}

/// Connections ask, are answered, give back and go at random. Nobody waits
/// while nothing is held, and all that was booked is given back.
TEST_F(AnswerRoomTest, NobodyWaitsForEver) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random{seed};
    std::vector<std::unique_ptr<response_memory::line>> lines;
    std::vector<kj::Promise<held_room>> asked;
    std::vector<held_room> held;
    for (int i = 0; i < 8; ++i)
      lines.push_back(line(i % 2 == 0 ? "one" : "two"));
    for (int i = 0; i < 300; ++i) {
      const auto what = random() % 3;
      if (what == 0)
        asked.push_back(lines[random() % lines.size()]->take(
          random() % (8 * mib),
          random() % 2 == 0 ? purpose::make : purpose::hold));
      else if (what == 1 && !asked.empty())
        asked.erase(asked.begin()
                    + static_cast<std::ptrdiff_t>(random() % asked.size()));
      else if (!held.empty())
        held.erase(held.begin()
                   + static_cast<std::ptrdiff_t>(random() % held.size()));
      for (auto x = asked.begin(); x != asked.end();)
        if (x->poll(scope)) {
          held.push_back(x->wait(scope));
          x = asked.erase(x);
        } else {
          ++x;
        }
      ASSERT_LE(ledger.root().held(), 64 * mib);
      ASSERT_TRUE(asked.empty() || !held.empty()) << "seed " << seed;
    }
    while (!held.empty() || !asked.empty()) {
      ASSERT_FALSE(held.empty()) << "seed " << seed;
      held.pop_back();
      for (auto x = asked.begin(); x != asked.end();)
        if (x->poll(scope)) {
          held.push_back(x->wait(scope));
          x = asked.erase(x);
        } else {
          ++x;
        }
    }
    EXPECT_EQ(ledger.root().held(), 0u);
  }
}

} // namespace
} // namespace hippo
