#include "hippo/base/byte_ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace hippo {
namespace {

TEST(ByteLedger, LeavesAsMuchFreeAsOneHolds) {
  byte_ledger books{"peers", 1200};
  std::vector<byte_account> parties;
  std::vector<byte_booking> taken;
  // Each of n that take what they can, in turns, has 1/(n+1) of the room.
  for (int n = 1; n <= 5; ++n) {
    parties.push_back(books.root().open(std::to_string(n)));
    taken.clear();
    for (bool some = true; some;) {
      some = false;
      for (const auto& x : parties)
        if (auto byte = x.take(1)) {
          taken.push_back(std::move(*byte));
          some = true;
        }
    }
    for (const auto& x : parties)
      EXPECT_NEAR(static_cast<double>(x.held()), 1200.0 / (n + 1), 1) << n;
  }
}

TEST(ByteLedger, NeverRefusesWhoHoldsLessThanIsFree) {
  byte_ledger books{"peers", 1000};
  const auto greedy = books.root().open("greedy");
  const auto all = greedy.take(greedy.available());
  ASSERT_TRUE(all);
  EXPECT_EQ(greedy.held(), 500u);
  EXPECT_FALSE(greedy.take(1));
  const auto modest = books.root().open("modest");
  EXPECT_TRUE(modest.take(250));
}

TEST(ByteLedger, SaysWhoTakesHowMuchOfWhat) {
  byte_ledger books{"clients", 1000};
  const auto x = books.root().open("10.0.0.7");
  const auto some = x.take(400);
  const auto more = x.take(200);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.failure().code, errc::resource_exhausted);
  EXPECT_EQ(more.failure().message,
            "10.0.0.7 takes 400 bytes of the service's memory, and 200 more "
            "are beyond its share of the 1000 for clients: take what was "
            "answered, or ask for less at a time");
}

TEST(ByteLedger, GivesBackWhatABookingHeld) {
  byte_ledger books{"peers", 1000};
  const auto x = books.root().open("x");
  {
    auto a = x.take(300);
    ASSERT_TRUE(a);
    byte_booking b = std::move(*a);
    EXPECT_EQ(x.held(), 300u);
    EXPECT_FALSE(b.resize(100));
    EXPECT_EQ(x.held(), 100u);
    EXPECT_TRUE(b.resize(10'000));
    EXPECT_EQ(b.bytes(), 100u);
    b = byte_booking{};
    EXPECT_EQ(x.held(), 0u);
  }
  EXPECT_EQ(books.root().held(), 0u);
}

TEST(ByteLedger, IsOneAccountToAllWhoNameIt) {
  byte_ledger books{"peers", 1000};
  auto some = books.root().open("x").take(10);
  EXPECT_EQ(books.root().open("x").held(), 10u);
  some = byte_booking{};
  EXPECT_EQ(books.root().open("x").held(), 0u);
}

/// Against a model that adds everything up anew: accounts in a tree of three
/// levels that come and go, take, change and give back.
TEST(ByteLedger, AgreesWithSums) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random{seed};
    const auto below = [&](std::uint64_t n) { return random() % n; };
    const std::uint64_t room = 1 + below(5000);
    byte_ledger books{"peers", room};
    struct held {
      std::string host, connection;
      byte_booking booking;
    };
    std::vector<held> all;
    const auto sum = [&](auto&& belongs) {
      std::uint64_t result = 0;
      for (const auto& x : all)
        if (belongs(x))
          result += x.booking.bytes();
      return result;
    };
    for (int i = 0; i < 300; ++i) {
      const auto host = std::to_string(below(3));
      const auto connection = std::to_string(below(3));
      const auto account = books.root().open(host).open(connection);
      const auto total = sum([](const held&) { return true; });
      const auto of_host = sum([&](const held& x) { return x.host == host; });
      const auto own = sum([&](const held& x) {
        return x.host == host && x.connection == connection;
      });
      const auto half = [](std::uint64_t free, std::uint64_t mine) {
        return free <= mine ? 0 : (free - mine) / 2;
      };
      const auto may = half(half(room - total, of_host), own);
      ASSERT_EQ(account.available(), may);
      ASSERT_EQ(account.held(), own);
      const auto n = below(3) == 0 ? may : below(room / 4 + 2);
      if (!all.empty() && below(3) == 0) {
        auto& x = all[below(all.size())];
        const auto before = x.booking.bytes();
        if (below(2) == 0)
          ASSERT_FALSE(x.booking.resize(below(before + 1)));
        else
          all.erase(all.begin() + (&x - all.data()));
      } else if (auto taken = account.take(n)) {
        ASSERT_LE(n, may);
        all.push_back({host, connection, std::move(*taken)});
      } else {
        ASSERT_GT(n, may);
      }
      ASSERT_LE(books.root().held(), room);
    }
    all.clear();
    ASSERT_EQ(books.root().held(), 0u);
  }
}

TEST(ByteLedger, IsExactWhateverThreadsDo) {
  byte_ledger books{"peers", 1 << 20};
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < 4; ++n)
    threads.emplace_back([&books, n] {
      std::mt19937 random{n};
      for (int i = 0; i < 2000; ++i) {
        const auto x = books.root().open(std::to_string(random() % 3));
        auto some = x.take(random() % 1000);
        if (some)
          static_cast<void>(some->resize(random() % 2000));
      }
    });
  for (auto& x : threads)
    x.join();
  EXPECT_EQ(books.root().held(), 0u);
}

} // namespace
} // namespace hippo
