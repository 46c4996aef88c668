#include "hippo/service/merge/preemption.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "merge/world.hpp"

namespace hippo {
namespace {

using test::world;

constexpr trainer_id only_trainer{1};

preemption preempt_in(const world& x, lease_id id,
                      policy chosen = policy::critical_path) {
  return preempt(x.view(), x.totals, chosen, *x.leases.find(id));
}

/// A trainer that works for a study, and shorter work of a second one that
/// waits, and has had a second as the first one has, or nothing. A hand-over
/// takes so many seconds.
struct contended : world {
  explicit contended(double handover, bool is_new = false) {
    first = add_study(100'000);
    second = add_study(10);
    leases.add(only_trainer);
    if (!is_new)
      for (auto x : {second, first}) {
        const lease_id before{1000};
        ledger.begin(before, only_trainer, {x});
        advance(1);
        ledger.end(before);
      }
    id = begin(only_trainer, 0, add_trial(first, 100'000));
    estimates.learn(timed::save, handover / 2);
    add_trial(second, 10);
  }

  study_no first{}, second{};
  lease_id id{};
};

TEST(HandoverSeconds, SavingLoadingAndDispatchCount) {
  contended x{6};
  EXPECT_DOUBLE_EQ(handover_seconds(x.view(), x.totals), 6);
  x.estimates.learn(timed::load, 1);
  EXPECT_DOUBLE_EQ(handover_seconds(x.view(), x.totals), 4);
  x.totals.dispatch_seconds = 5;
  EXPECT_DOUBLE_EQ(handover_seconds(x.view(), x.totals), 9);
  x.leases.next_id(); // a second lease
  EXPECT_DOUBLE_EQ(handover_seconds(x.view(), x.totals), 6.5);
}

TEST(SecondsToLast, LeaseLastsTenTimesAsLongAsAHandover) {
  contended x{6};
  const auto& lease = *x.leases.find(x.id);
  EXPECT_DOUBLE_EQ(seconds_to_last(x.view(), x.totals, lease), 60);
  x.advance(45);
  EXPECT_DOUBLE_EQ(seconds_to_last(x.view(), x.totals, lease), 15);
  x.advance(45);
  EXPECT_DOUBLE_EQ(seconds_to_last(x.view(), x.totals, lease), -30);
}

TEST(Preempt, WhereNobodyWaitsALeaseGoesOn) {
  world x;
  const auto study = x.add_study(100);
  x.leases.add(only_trainer);
  const auto id = x.begin(only_trainer, 0, x.add_trial(study, 100));
  x.estimates.learn(timed::save, 1);
  x.advance(10'000);
  x.leases.progress(id).outranked = true;
  const auto what = preempt_in(x, id);
  EXPECT_FALSE(what.ends);
  EXPECT_FALSE(what.outranked);
}

TEST(Preempt, StudyThatIsBehindWithinTheSlackWaits) {
  contended x{2};
  x.advance(59);
  EXPECT_FALSE(preempt_in(x, x.id).ends);
}

TEST(Preempt, LeaseEndsForAStudyThatWouldBeLeftBehind) {
  contended x{2};
  x.advance(61);
  const auto what = preempt_in(x, x.id);
  EXPECT_TRUE(what.ends);
  EXPECT_FALSE(what.outranked);
}

TEST(Preempt, LeaseEndsForAStudyOnlyOnceItHasLasted) {
  contended x{20};
  x.advance(199);
  EXPECT_FALSE(preempt_in(x, x.id).ends);
  x.advance(1);
  EXPECT_TRUE(preempt_in(x, x.id).ends);
}

TEST(Preempt, StudyThatHasHadNothingWaitsForSecondsOnly) {
  contended x{20, true};
  x.advance(fair_shares::first_quantum_seconds - 1);
  EXPECT_FALSE(preempt_in(x, x.id).ends);
  x.advance(2);
  const auto what = preempt_in(x, x.id);
  EXPECT_TRUE(what.ends) << "however little the lease has lasted";
  EXPECT_FALSE(what.outranked);
}

TEST(Preempt, WhereATrainerIsFreeALeaseGoesOn) {
  contended x{2};
  x.advance(100);
  x.leases.add(trainer_id{2});
  EXPECT_FALSE(preempt_in(x, x.id).ends);
}

TEST(Preempt, LeaseForTheStudyThatIsBehindGoesOn) {
  contended x{2};
  x.advance(100);
  x.end(x.id);
  const auto id = x.begin(only_trainer, 0, x.add_trial(x.second, 10));
  x.advance(100'000);
  x.ledger.set_waiting(x.first, false);
  EXPECT_FALSE(preempt_in(x, id).ends);
}

/// A trainer that is near the end of what one study waits for, and work that
/// takes so many seconds and waits. A hand-over takes two.
struct outrun : world {
  explicit outrun(step_t waiting, bool has_saved = true) {
    const auto study = add_study(10);
    leases.add(only_trainer);
    id = begin(only_trainer, 0, add_trial(study, 10));
    if (has_saved)
      estimates.learn(timed::save, 1);
    longer = add_study(waiting);
    if (waiting > 0)
      add_trial(longer, waiting);
  }

  study_no longer{};
  lease_id id{};
};

TEST(Preempt, LeaseIsOutrankedTwiceBeforeItEnds) {
  outrun x{1000};
  auto what = preempt_in(x, x.id);
  EXPECT_FALSE(what.ends);
  EXPECT_TRUE(what.outranked);
  x.leases.progress(x.id).outranked = true;
  what = preempt_in(x, x.id);
  EXPECT_TRUE(what.ends);
  EXPECT_TRUE(what.outranked);
}

TEST(Preempt, GainOfAHandoverIsTwentyTimesItsCost) {
  outrun near{50};
  EXPECT_FALSE(preempt_in(near, near.id).outranked);
  outrun far{51};
  EXPECT_TRUE(preempt_in(far, far.id).outranked);
}

TEST(Preempt, LeaseThatIsOutrankedNoMoreGoesOn) {
  outrun x{40};
  x.leases.progress(x.id).outranked = true;
  const auto what = preempt_in(x, x.id);
  EXPECT_FALSE(what.ends);
  EXPECT_FALSE(what.outranked);
}

TEST(Preempt, OnlyTheCriticalPathOutranks) {
  outrun x{1000};
  EXPECT_FALSE(preempt_in(x, x.id, policy::breadth_first).outranked);
  EXPECT_FALSE(preempt_in(x, x.id, policy::trial).outranked);
}

TEST(Preempt, NothingOutranksBeforeSavingIsKnown) {
  outrun x{1000, false};
  EXPECT_FALSE(preempt_in(x, x.id).outranked);
}

TEST(Preempt, StudyThatIsBehindIsNotInterruptedForLongerWork) {
  for (const auto& [had, outranked] : {std::pair{20., true}, {40., false}}) {
    world x;
    const auto longer = x.add_study(1000);
    const auto shorter = x.add_study(10);
    x.leases.add(only_trainer);
    const auto shorter_node = x.add_trial(shorter, 10);
    const auto before
      = x.begin(only_trainer, 0, x.add_trial(longer, 1000));
    x.advance(had);
    x.end(before);
    const auto id = x.begin(only_trainer, 0, shorter_node);
    x.estimates.learn(timed::save, 1);
    EXPECT_EQ(preempt_in(x, id).outranked, outranked) << had;
  }
}

TEST(YieldAt, LeaseThatHasLastedEndsAtItsNextStep) {
  contended x{6};
  x.leases.progress(x.id).reached = 70;
  x.advance(60);
  EXPECT_EQ(yield_at(x.view(), x.totals, *x.leases.find(x.id)), 71u);
}

TEST(YieldAt, LeaseEndsWhereItWillHaveLasted) {
  contended x{6};
  x.advance(40);
  auto& progress = x.leases.progress(x.id);
  progress.reached = 40;
  progress.reported = x.ledger.advanced_to();
  EXPECT_EQ(yield_at(x.view(), x.totals, *x.leases.find(x.id)), 61u);
  x.advance(10); // of which nothing was reported
  EXPECT_EQ(yield_at(x.view(), x.totals, *x.leases.find(x.id)), 61u);
}

} // namespace
} // namespace hippo
