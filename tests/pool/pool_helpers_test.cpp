#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/service/pool/pool_core.hpp"
#include "pool/admitting.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

/// Mergers whose trainers others could help.
struct PoolHelpers : testing::Test {
  moment now{};
  pool_core pool{pool_options{1s, 15s}, moment{}};
  pool_core::effects last;

  trainer_id join(const std::string& gang = "node:1",
                  const std::string& kind = "cpu") {
    hello x;
    x.host = "node";
    x.device = kind;
    x.gang = gang;
    pool_core::effects out;
    const auto result = test::admitted(pool, x, std::nullopt, now, out).trainer;
    apply(pool_event::heard{heartbeat{result, {}, 0, 0}});
    return result;
  }

  void apply(any_pool_event event) { last = pool.apply(std::move(event), now); }

  void demand(merger_number merger, std::uint64_t trainers,
              std::uint64_t helpers = 0, std::set<trainer_id> helping = {}) {
    apply(pool_event::demanded{
      merger, 1, trainers, {}, {}, {helpers, {"cpu"}, std::move(helping)}});
  }

  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    return test::effects_of<T>(last);
  }

  [[nodiscard]] std::vector<trainer_id> asked() const {
    std::vector<trainer_id> result;
    for (const auto& x : all<pool_effect::ask_to_yield>())
      result.push_back(x.trainer);
    return result;
  }
};

using numbers = std::vector<trainer_id>;

TEST_F(PoolHelpers, AGrantHasTheAddressForOthersOfAGang) {
  demand(1, 1);
  join("node:17");
  const auto grants = all<pool_effect::grant>();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].gang, "node:17");
}

TEST_F(PoolHelpers, ATrainerHelpsOnlyWhereNobodyHasAUseForItAlone) {
  demand(1, 0, 3);
  demand(2, 1);
  const auto first = join();
  const auto second = join();
  EXPECT_EQ(pool.holder_of(first), 2u);
  EXPECT_EQ(pool.holder_of(second), 1u);
  EXPECT_EQ(pool.waiting_leases(), 0u);
  // No more than could help, and none that nobody can reach, or of other kinds.
  const auto alone = join("");
  const auto other = join("node:1", "gpu");
  EXPECT_EQ(pool.holder_of(alone), std::nullopt);
  EXPECT_EQ(pool.holder_of(other), std::nullopt);
  EXPECT_EQ(pool.holder_of(join()), 1u);
  EXPECT_EQ(pool.holder_of(join()), 1u);
  EXPECT_EQ(pool.holder_of(join()), std::nullopt);
}

TEST_F(PoolHelpers, HelpersAreNoDemandOfElasticScaling) {
  apply(pool_event::introduced{1, {"key", "model", ""}});
  demand(1, 0, 100);
  EXPECT_EQ(pool.waiting_leases(), 0u);
  ASSERT_EQ(pool.demands().size(), 1u);
  EXPECT_EQ(pool.demands()[0].wanted, 0u);
  EXPECT_TRUE(pool.stuck().empty());
}

TEST_F(PoolHelpers, HelpersAreAskedBackAtOnceWhateverTheShares) {
  demand(1, 1, 2);
  const auto own = join();
  demand(1, 0, 2);
  const auto x = join();
  const auto y = join();
  demand(1, 0, 0, {x, y});
  // The second one has had far more by now, and one helper is enough.
  demand(2, 1);
  EXPECT_EQ(asked(), (numbers{x}));
  EXPECT_EQ(pool.reserved_for(x), 2u);
  now += 5s;
  apply(pool_event::review_due{false});
  EXPECT_EQ(asked(), (numbers{}));
  apply(pool_event::released{x});
  EXPECT_EQ(pool.holder_of(x), 2u);
  EXPECT_EQ(pool.holder_of(y), 1u);
  EXPECT_EQ(pool.holder_of(own), 1u);
  // It is no helper any more.
  demand(1, 1, 0, {y});
  EXPECT_EQ(asked(), (numbers{}));
  demand(2, 2);
  EXPECT_EQ(asked(), (numbers{y}));
}

TEST_F(PoolHelpers, AGrantedHelperIsOneBeforeItsMergerSaysSo) {
  demand(1, 0, 1);
  const auto x = join();
  demand(2, 1);
  EXPECT_EQ(asked(), (numbers{x}));
}

TEST_F(PoolHelpers, WhoHasAPathOfItsOwnIsNotAskedBackAtOnce) {
  demand(1, 0, 1);
  const auto x = join();
  demand(1, 0, 0, {}); // it trains alone by now
  now += 1s;
  demand(2, 1);
  EXPECT_EQ(asked(), (numbers{}));
  EXPECT_EQ(pool.holder_of(x), 1u);
}

TEST_F(PoolHelpers, AnIdleHelperIsAskedBackBeforeOneAtWork) {
  demand(1, 0, 2);
  const auto busy = join();
  const auto idle = join();
  apply(pool_event::heard{heartbeat{busy, lease_id{5}, 1, 0}});
  demand(1, 0, 0, {busy, idle});
  demand(2, 1);
  EXPECT_EQ(asked(), (numbers{idle}));
}

TEST_F(PoolHelpers, WhoIsBehindIsHelpedFirst) {
  demand(1, 1);
  demand(2, 1);
  join();
  join();
  demand(1, 0);
  apply(pool_event::released{trainer_id{2}});
  demand(2, 0, 1);
  now += 100s;
  demand(1, 0, 1);
  // The trainer that was released helps; the next one goes to the other.
  EXPECT_EQ(pool.holder_of(trainer_id{2}), 2u);
  EXPECT_EQ(pool.holder_of(join()), 1u);
}

/// Whatever comes: nobody is helped while another one waits for a trainer that
/// nobody has, and helpers are asked for as soon as somebody waits.
TEST_F(PoolHelpers, NobodyWaitsForWhatOnlyHelps) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t n) { return random() % n; };
    now = moment{};
    pool = pool_core{pool_options{1s, 15s}, now};
    std::map<merger_number, std::uint64_t> wanted;
    std::map<merger_number, std::set<trainer_id>> helping;
    std::vector<trainer_id> there;
    for (int turn = 0; turn < 200; ++turn) {
      now += std::chrono::milliseconds(below(900));
      last.clear();
      const auto any = there.empty()
                         ? trainer_id{1}
                         : there[below(std::uint32_t(there.size()))];
      switch (below(5)) {
        case 0:
          if (there.size() < 12)
            there.push_back(join(below(4) == 0 ? "" : "node:1"));
          break;
        case 1:
        case 2: {
          const merger_number merger = 1 + below(3);
          std::set<trainer_id> helps;
          for (auto x : there)
            if (pool.holder_of(x) == merger && below(2) == 0)
              helps.insert(x);
          helping[merger] = helps;
          wanted[merger] = below(3);
          demand(merger, wanted[merger], wanted[merger] > 0 ? 0 : below(6),
                 helps);
          break;
        }
        case 3:
          if (const auto from = pool.holder_of(any)) {
            helping[*from].erase(any);
            apply(pool_event::released{any});
          }
          break;
        default:
          apply(pool_event::review_due{false});
      }
      pool.check_invariants();
      for (const auto& x : all<pool_effect::grant>())
        if (wanted[x.merger] > 0)
          --wanted[x.merger];
        else
          helping[x.merger].insert(x.trainer);
      for (const auto& [merger, count] : wanted) {
        std::uint64_t promised = 0;
        bool others_help = false;
        for (auto x : there) {
          const auto from = pool.holder_of(x);
          const auto to = pool.reserved_for(x);
          EXPECT_TRUE(from || count == 0) << "seed " << seed;
          promised += to == merger;
          others_help =
            others_help
            || (from && from != merger && !to && helping[*from].contains(x));
        }
        EXPECT_TRUE(!others_help || promised >= count)
          << "seed " << seed << ", merger " << merger << " of " << count
          << " has " << promised << ", turn " << turn;
      }
      if (HasFailure())
        return;
    }
  }
}

} // namespace
} // namespace hippo
