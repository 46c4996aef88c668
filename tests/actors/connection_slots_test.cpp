#include "gateway/connection_slots.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using number = connection_slots::number;

struct ConnectionSlotsTest : testing::Test {
  ~ConnectionSlotsTest() noexcept override = default;

  connection_slots all{{4, 2, 10}};
  number last = 0;

  connection_slots::decision open(const std::string& party) {
    return all.open(++last, party);
  }
  number greeted(const std::string& party) {
    const auto x = open(party);
    EXPECT_FALSE(x.is_spare);
    all.note_greeted(last);
    return last;
  }
};

TEST_F(ConnectionSlotsTest, WhoHasSaidNothingMakesRoom) {
  greeted("a");
  const auto silent = open("a");
  EXPECT_FALSE(silent.let_go);
  const auto oldest = last;
  open("a");
  open("a");
  const auto next = open("b");
  EXPECT_FALSE(next.is_spare);
  EXPECT_EQ(next.let_go, oldest);
  // The party with the most of them makes room, whoever comes.
  EXPECT_EQ(open("b").let_go, oldest + 1);
}

TEST_F(ConnectionSlotsTest, AFloodOfTheSilentShutsNobodyOut) {
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(open("flood").is_spare);
  const auto mine = open("victim");
  EXPECT_FALSE(mine.is_spare);
  all.note_greeted(last);
  const auto me = last;
  for (int i = 0; i < 1000; ++i)
    EXPECT_NE(open("flood").let_go, me);
}

TEST_F(ConnectionSlotsTest, WhoHasFewTakesFromWhoHasTheMost) {
  std::vector<number> hogs;
  for (int i = 0; i < 4; ++i) {
    hogs.push_back(greeted("hog"));
    all.note_busy(hogs.back(), true);
  }
  EXPECT_EQ(open("b").let_go, hogs[3]); // all are busy: the youngest
  all.note_greeted(last);
  all.note_busy(hogs[1], false);
  EXPECT_EQ(open("c").let_go, hogs[1]); // it is idle
  all.note_greeted(last);
  EXPECT_EQ(open("d").let_go, hogs[2]);
  all.note_greeted(last);
  // Each has one now, which is its share; nobody pays for a fifth party.
  EXPECT_TRUE(open("e").is_spare);
}

TEST_F(ConnectionSlotsTest, AmongItsOwnTheIdleMakeRoomInTime) {
  std::vector<number> mine;
  for (int i = 0; i < 4; ++i)
    mine.push_back(greeted("a"));
  EXPECT_TRUE(open("a").is_spare);
  for (int i = 0; i < 10; ++i)
    all.beat();
  all.note_moved(mine[0]);
  all.note_busy(mine[1], true);
  const auto next = open("a");
  EXPECT_FALSE(next.is_spare);
  EXPECT_EQ(next.let_go, mine[2]);
}

TEST_F(ConnectionSlotsTest, TheSpareOnesMakeRoomForEachOther) {
  for (int i = 0; i < 4; ++i)
    all.note_busy(greeted("a"), true);
  EXPECT_TRUE(open("a").is_spare);
  const auto first = last;
  EXPECT_FALSE(open("a").let_go);
  const auto third = open("a");
  EXPECT_TRUE(third.is_spare);
  EXPECT_EQ(third.let_go, first);
  EXPECT_EQ(all.spare(), 2u);
}

TEST_F(ConnectionSlotsTest, ATokenMakesItAnothersConnection) {
  for (int i = 0; i < 4; ++i)
    all.note_busy(greeted("address"), true);
  all.note_party(1, "ada");
  all.note_party(2, "ada");
  // Two each: a third party would have as many as is its share with one.
  EXPECT_FALSE(open("bob").is_spare);
}

/// Parties come, greet, work and go at random. Checked after every step: nobody
/// within his share is let go once he has said something, and who has less than
/// his share gets in.
TEST(ConnectionSlotsModelTest, NobodyWithinHisSharePaysForAnother) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    std::mt19937 random{seed};
    const std::size_t most = 4 + random() % 12, spare = 1 + random() % 3;
    connection_slots all{{most, spare, 3}};
    struct known {
      std::string party;
      bool greeted = false, spare = false;
    };
    std::map<number, known> there;
    const auto count = [&](const std::string& party) {
      return static_cast<std::size_t>(std::ranges::count_if(
        there, [&](const auto& x) {
          return !x.second.spare && x.second.party == party;
        }));
    };
    number last = 0;
    for (int i = 0; i < 400; ++i) {
      const auto pick = [&] {
        auto at = there.begin();
        std::advance(at, random() % there.size());
        return at;
      };
      const auto what = random() % 10;
      if (what < 5 || there.empty()) {
        const std::string party{static_cast<char>('a' + random() % 4)};
        std::set<std::string> parties{party};
        bool any_silent = false;
        std::size_t used = 0;
        for (const auto& [no, x] : there)
          if (!x.spare) {
            parties.insert(x.party);
            any_silent = any_silent || !x.greeted;
            ++used;
          }
        const auto share = most / parties.size();
        const auto before = count(party);
        const auto got = all.open(++last, party);
        if (used < most) {
          ASSERT_FALSE(got.let_go || got.is_spare);
        } else if (before < share || any_silent) {
          ASSERT_FALSE(got.is_spare) << "seed " << seed << " step " << i;
        }
        if (got.let_go) {
          const auto gone = there.find(*got.let_go);
          ASSERT_NE(gone, there.end());
          ASSERT_EQ(gone->second.spare, got.is_spare);
          if (!got.is_spare && gone->second.greeted
              && gone->second.party != party) {
            ASSERT_FALSE(any_silent) << "seed " << seed << " step " << i;
            ASSERT_GT(count(gone->second.party), share)
              << "seed " << seed << " step " << i;
          }
          there.erase(gone);
        }
        there.emplace(last, known{party, false, got.is_spare});
      } else if (what < 7) {
        const auto x = pick();
        all.note_greeted(x->first);
        x->second.greeted = true;
      } else if (what == 7) {
        all.note_busy(pick()->first, random() % 2 == 0);
      } else if (what == 8) {
        const auto x = pick();
        all.close(x->first);
        there.erase(x);
      } else {
        all.beat();
      }
      ASSERT_EQ(all.size() + all.spare(), there.size());
    }
  }
}

} // namespace
} // namespace hippo
