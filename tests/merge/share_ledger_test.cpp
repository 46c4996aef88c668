#include "hippo/service/merge/share_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "merge/leases.hpp"

namespace hippo {
namespace {

using test::at_second;

constexpr trainer_id first_trainer{1};
constexpr trainer_id second_trainer{2};
constexpr study_no s0{0}, s1{1}, s2{2};
constexpr double rounding = 1e-6;

/// A ledger of studies with these weights.
share_ledger ledger_of(const std::vector<double>& weights) {
  share_ledger result{at_second(0)};
  for (auto x : weights)
    result.add_study(x);
  return result;
}

TEST(ShareLedger, LeaseAloneHasAllOfItsTrainer) {
  auto x = ledger_of({1});
  x.begin(lease_id{1}, first_trainer, {s0});
  EXPECT_DOUBLE_EQ(x.shares().devices(0), 1);
  EXPECT_TRUE(x.has(lease_id{1}));
  EXPECT_EQ(x.leases(), 1u);
}

TEST(ShareLedger, LeasesOfATrainerHaveEqualPartsOfIt) {
  auto x = ledger_of({1, 1});
  x.begin(lease_id{1}, first_trainer, {s0});
  x.begin(lease_id{2}, first_trainer, {s0});
  x.begin(lease_id{3}, first_trainer, {s1});
  EXPECT_NEAR(x.shares().devices(0), 2. / 3, rounding);
  EXPECT_NEAR(x.shares().devices(1), 1. / 3, rounding);
}

TEST(ShareLedger, LeaseThatIsLeftAloneHasAllOfItsTrainerAgain) {
  auto x = ledger_of({1, 1});
  x.begin(lease_id{1}, first_trainer, {s0});
  x.begin(lease_id{2}, first_trainer, {s1});
  x.end(lease_id{1});
  EXPECT_NEAR(x.shares().devices(0), 0, rounding);
  EXPECT_NEAR(x.shares().devices(1), 1, rounding);
  EXPECT_FALSE(x.has(lease_id{1}));
}

TEST(ShareLedger, TrainersDoNotShareTheirTime) {
  auto x = ledger_of({1});
  x.begin(lease_id{1}, first_trainer, {s0});
  x.begin(lease_id{2}, second_trainer, {s0});
  EXPECT_NEAR(x.shares().devices(0), 2, rounding);
}

TEST(ShareLedger, BeneficiariesDivideALeaseByWeight) {
  auto x = ledger_of({1, 3});
  x.begin(lease_id{1}, first_trainer, {s0, s1});
  EXPECT_NEAR(x.shares().devices(0), .25, rounding);
  EXPECT_NEAR(x.shares().devices(1), .75, rounding);
  EXPECT_EQ(x.beneficiaries(lease_id{1}), (std::vector<study_no>{s0, s1}));
}

TEST(ShareLedger, AFailedLeaseIsChargedToBeneficiariesByWeight) {
  auto x = ledger_of({1, 3});
  x.begin(lease_id{1}, first_trainer, {s0, s1});
  x.begin(lease_id{2}, first_trainer, {s0});
  x.set_waiting(s0, true);
  x.set_waiting(s1, true);
  const auto before = x.shares().lag(0, 1);
  x.charge(lease_id{1}, 8); // 2 and 6, by their weights 2 each
  EXPECT_NEAR(x.shares().lag(0, 1), before, rounding);
  x.charge(lease_id{2}, 8);
  EXPECT_NEAR(x.shares().lag(0, 1), before - 8, rounding);
  EXPECT_EQ(x.shares().seconds(0), 0) << "nobody has had that time";
}

TEST(ShareLedger, ABudgetIsSpentOnceItWasHadAndIsTakenOnce) {
  auto x = ledger_of({1});
  x.add_study(3, 6.0);
  x.begin(lease_id{1}, first_trainer, {s0, s1}); // three quarters of it
  x.advance(at_second(7));
  EXPECT_TRUE(x.has_budgets());
  EXPECT_TRUE(x.take_spent().empty());
  x.advance(at_second(8));
  EXPECT_EQ(x.take_spent(),
            (std::vector<spent_study>{{s1, study_limit::device_time}}));
  EXPECT_FALSE(x.has_budgets());
  x.advance(at_second(9));
  EXPECT_TRUE(x.take_spent().empty());
}

TEST(ShareLedger, WhatWasHadIsTakenOnceItIsEnough) {
  auto x = ledger_of({1, 3});
  x.begin(lease_id{1}, first_trainer, {s0, s1});
  x.advance(at_second(2)); // 0.5 and 1.5
  using served = std::vector<served_study>;
  EXPECT_EQ(x.take_served(1), (served{{s1, 1.5, 0}}));
  EXPECT_EQ(x.take_served(1), served{});
  x.advance(at_second(4));
  EXPECT_EQ(x.take_served(1), (served{{s0, 1, 0}, {s1, 1.5, 0}}));
  EXPECT_EQ(x.take_served(0), served{}) << "nothing is no record";
}

TEST(ShareLedger, WhatSpentABudgetIsTakenAtOnce) {
  share_ledger x{at_second(0)};
  x.add_study(1, {}, 4.5);
  x.set_price(first_trainer, 3600); // 1 a second
  x.begin(lease_id{1}, first_trainer, {s0});
  x.advance(at_second(4));
  using served = std::vector<served_study>;
  EXPECT_EQ(x.take_served(1), (served{{s0, 4, 4}}));
  x.advance(at_second(4.5));
  EXPECT_EQ(x.take_served(1), served{});
  EXPECT_EQ(x.take_spent().size(), 1u);
  EXPECT_EQ(x.take_served(1), (served{{s0, 0.5, 0.5}}));
  x.advance(at_second(5));
  EXPECT_EQ(x.take_served(1), served{}) << "once";
}

TEST(ShareLedger, ABudgetOfCostIsSpentByThePriceOfTheTime) {
  share_ledger x{at_second(0)};
  x.add_study(1, 1000.0, 6.0);
  x.set_price(first_trainer, 3600); // 1 a second
  x.begin(lease_id{1}, first_trainer, {s0});
  x.advance(at_second(4));
  x.end(lease_id{1});
  x.begin(lease_id{2}, second_trainer, {s0}); // of which no price is known
  x.advance(at_second(90));
  EXPECT_TRUE(x.take_spent().empty());
  EXPECT_NEAR(x.cost(s0), 4, rounding);
  x.end(lease_id{2});
  x.begin(lease_id{3}, first_trainer, {s0});
  x.advance(at_second(92.5));
  EXPECT_EQ(x.take_spent(),
            (std::vector<spent_study>{{s0, study_limit::cost}}));
  EXPECT_TRUE(x.has_budgets()) << "of time there is some left";
  x.advance(at_second(93));
  EXPECT_TRUE(x.take_spent().empty());
}

TEST(ShareLedger, TimeWithoutALeaseCostsNoStudy) {
  auto x = ledger_of({1});
  x.set_price(first_trainer, 3600);
  x.advance(at_second(10));
  x.begin(lease_id{1}, first_trainer, {s0});
  x.advance(at_second(12));
  x.end(lease_id{1});
  x.advance(at_second(20));
  EXPECT_NEAR(x.cost(s0), 2, rounding);
}

TEST(ShareLedger, APriceHoldsFromTheNextLeaseOn) {
  auto x = ledger_of({1});
  x.set_price(first_trainer, 3600);
  x.begin(lease_id{1}, first_trainer, {s0});
  x.forget_price(first_trainer);
  x.advance(at_second(2));
  x.end(lease_id{1});
  x.begin(lease_id{2}, first_trainer, {s0});
  x.advance(at_second(3));
  EXPECT_NEAR(x.cost(s0), 2, rounding);
}

TEST(ShareLedger, BeneficiariesKeepTheirPartsWhenATrainerIsDivided) {
  auto x = ledger_of({1, 3});
  x.begin(lease_id{1}, first_trainer, {s0, s1});
  x.begin(lease_id{2}, first_trainer, {s0});
  EXPECT_NEAR(x.shares().devices(0), .125 + .5, rounding);
  EXPECT_NEAR(x.shares().devices(1), .375, rounding);
}

TEST(ShareLedger, LeaseCountsForThoseThatItServesNow) {
  auto x = ledger_of({1, 1, 1});
  x.begin(lease_id{1}, first_trainer, {s0, s1});
  x.serve(lease_id{1}, {s2});
  EXPECT_NEAR(x.shares().devices(0), 0, rounding);
  EXPECT_NEAR(x.shares().devices(1), 0, rounding);
  EXPECT_NEAR(x.shares().devices(2), 1, rounding);
  x.check_invariants();
}

TEST(ShareLedger, LeaseThatServesNobodyCountsForThoseThatItDid) {
  auto x = ledger_of({1, 1});
  x.begin(lease_id{1}, first_trainer, {s1});
  x.serve(lease_id{1}, {});
  EXPECT_EQ(x.beneficiaries(lease_id{1}), std::vector<study_no>{s1});
  EXPECT_NEAR(x.shares().devices(1), 1, rounding);
}

TEST(ShareLedger, NewWeightDividesWhatIsServedFromThenOn) {
  auto x = ledger_of({1, 1});
  x.begin(lease_id{1}, first_trainer, {s0, s1});
  x.set_weight(s0, 3);
  EXPECT_NEAR(x.shares().devices(0), .5, rounding);
  x.serve(lease_id{1}, {s0, s1});
  EXPECT_NEAR(x.shares().devices(0), .75, rounding);
}

TEST(ShareLedger, TimeIsBookedForWhoHoldsDevices) {
  auto x = ledger_of({1, 1});
  x.begin(lease_id{1}, first_trainer, {s0});
  x.advance(at_second(10));
  x.begin(lease_id{2}, first_trainer, {s1});
  x.advance(at_second(14));
  EXPECT_NEAR(x.shares().seconds(0), 12, rounding);
  EXPECT_NEAR(x.shares().seconds(1), 2, rounding);
  EXPECT_EQ(x.advanced_to(), at_second(14));
}

TEST(ShareLedger, TimeThatGoesBackwardsCountsAsNone) {
  auto x = ledger_of({1});
  x.begin(lease_id{1}, first_trainer, {s0});
  x.advance(at_second(10));
  x.advance(at_second(4));
  EXPECT_EQ(x.advanced_to(), at_second(10));
  x.advance(at_second(11));
  EXPECT_NEAR(x.shares().seconds(0), 11, rounding);
}

TEST(ShareLedger, TurnsOfStudiesThatDoNotWaitAreOverWhenALeaseBegins) {
  auto x = ledger_of({1, 3});
  x.begin(lease_id{1}, first_trainer, {s0});
  x.begin(lease_id{2}, second_trainer, {s1});
  x.advance(at_second(90)); // virtual times of 90 and 30
  x.set_waiting(s0, true);
  x.begin(lease_id{3}, trainer_id{3}, {s0});
  for (std::uint64_t id = 1; id <= 3; ++id)
    x.end(lease_id{id});
  EXPECT_NEAR(x.shares().lag(1, 0), 0, rounding);
}

TEST(ShareLedger, ProjectionLetsGoOfALeaseAndItsStudiesWait) {
  auto x = ledger_of({1, 1});
  x.begin(lease_id{1}, first_trainer, {s0});
  x.begin(lease_id{2}, first_trainer, {s1});
  const auto projected = x.projected_without(lease_id{1});
  EXPECT_TRUE(projected.waits(0));
  EXPECT_FALSE(projected.waits(1));
  EXPECT_NEAR(projected.devices(0), 0, rounding);
  EXPECT_NEAR(projected.devices(1), .5, rounding);
  EXPECT_FALSE(x.shares().waits(0));
  EXPECT_NEAR(x.shares().devices(0), .5, rounding);
}

/// What a ledger is to have: everything is computed anew from the leases.
struct ledger_model {
  struct entry {
    trainer_id trainer{};
    std::vector<std::pair<study_no, double>> parts; ///< of the lease
  };

  by_id<study_no, double> weights;
  by_id<study_no, double> seconds;
  by_id<study_no, double> costs;
  std::map<lease_id, entry> leases;

  void serve(lease_id id, const std::vector<study_no>& studies) {
    if (studies.empty())
      return;
    double sum = 0;
    for (auto x : studies)
      sum += weights[x];
    auto& parts = leases[id].parts;
    parts.clear();
    for (auto x : studies)
      parts.emplace_back(x, weights[x] / sum);
  }

  /// An hour of the trainer of that number costs as much.
  static double price_of(trainer_id x) {
    return static_cast<double>(number_of(x)) * 36;
  }

  /// @param priced whether each device counts as what an hour of it costs
  [[nodiscard]] by_id<study_no, double> devices(bool priced = false) const {
    by_id<study_no, double> result{weights.size()};
    for (const auto& [id, x] : leases) {
      const auto together
        = std::count_if(leases.begin(), leases.end(), [&](const auto& kvp) {
            return kvp.second.trainer == x.trainer;
          });
      for (const auto& [study, part] : x.parts)
        result[study] += part / static_cast<double>(together)
                         * (priced ? price_of(x.trainer) : 1);
    }
    return result;
  }

  void advance(double span) {
    const auto held = devices();
    for (auto i : held.ids())
      seconds[i] += held[i] * span;
    const auto paid = devices(true);
    for (auto i : paid.ids())
      costs[i] += paid[i] * span / 3600;
  }
};

class ShareLedgerOfLanes : public testing::TestWithParam<int> {};

TEST_P(ShareLedgerOfLanes, IsWhatItsLeasesAddUpTo) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    share_ledger x{at_second(0)};
    ledger_model want;
    const auto studies = 1 + rng() % 4;
    for (std::size_t i = 0; i < studies; ++i) {
      const auto weight = static_cast<double>(1 + rng() % 5);
      x.add_study(weight);
      want.weights.add(weight);
    }
    want.seconds.resize(studies);
    want.costs.resize(studies);
    by_id<study_no, double> taken{studies}; // costs that were returned
    for (std::uint64_t i = 1; i <= 3; ++i)
      x.set_price(trainer_id{i}, ledger_model::price_of(trainer_id{i}));
    const auto some_studies = [&](bool may_be_none) {
      std::vector<study_no> result;
      for (auto i : id_range(study_no{0}, studies))
        if (rng() % 2 == 0)
          result.push_back(i);
      if (result.empty() && !may_be_none)
        result.push_back(static_cast<study_no>(rng() % studies));
      return result;
    };
    const auto some_lease = [&] {
      return std::next(want.leases.begin(),
                       static_cast<long>(rng() % want.leases.size()))
        ->first;
    };
    double now = 0;
    std::uint64_t last = 0;
    for (int turn = 0; turn < 80; ++turn) {
      const trainer_id trainer{1 + rng() % 3};
      const auto there = std::count_if(
        want.leases.begin(), want.leases.end(),
        [&](const auto& kvp) { return kvp.second.trainer == trainer; });
      switch (rng() % 6) {
        case 0:
        case 1:
          if (there < GetParam()) {
            const lease_id id{++last};
            const auto what = some_studies(false);
            x.begin(id, trainer, what);
            want.leases[id].trainer = trainer;
            want.serve(id, what);
          }
          break;
        case 2:
          if (!want.leases.empty()) {
            const auto id = some_lease();
            const auto what = some_studies(true);
            x.serve(id, what);
            want.serve(id, what);
          }
          break;
        case 3:
          if (!want.leases.empty()) {
            const auto id = some_lease();
            x.end(id);
            want.leases.erase(id);
          }
          break;
        case 4: {
          const auto study = static_cast<study_no>(rng() % studies);
          want.weights[study] = static_cast<double>(1 + rng() % 5);
          x.set_weight(study, want.weights[study]);
          break;
        }
        default: {
          const auto span = static_cast<double>(rng() % 100);
          now += span;
          x.advance(at_second(now));
          want.advance(span);
          if (rng() % 2 == 0)
            for (const auto& y : x.take_served(0))
              taken[y.study] += y.cost;
        }
      }
      const auto devices = want.devices();
      for (auto i : id_range(study_no{0}, studies)) {
        ASSERT_NEAR(x.shares().devices(number_of(i)), devices[i], rounding);
        ASSERT_NEAR(x.shares().seconds(number_of(i)), want.seconds[i],
                    rounding);
        ASSERT_NEAR(x.cost(i), want.costs[i], rounding);
        ASSERT_EQ(x.shares().weight(number_of(i)), want.weights[i]);
      }
      ASSERT_EQ(x.leases(), want.leases.size());
      x.check_invariants();
    }
    for (const auto& y : x.take_served(0))
      taken[y.study] += y.cost;
    for (auto i : id_range(study_no{0}, studies))
      ASSERT_NEAR(taken[i], want.costs[i], rounding);
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, ShareLedgerOfLanes, testing::Range(1, 5));

TEST(ShareLedgerDeathTest, MisuseIsAsserted) {
  auto x = ledger_of({1});
  x.begin(lease_id{1}, first_trainer, {s0});
  EXPECT_DEBUG_DEATH(x.begin(lease_id{1}, second_trainer, {s0}), "count");
  EXPECT_DEBUG_DEATH(x.add_study(0), "weight");
}

} // namespace
} // namespace hippo
