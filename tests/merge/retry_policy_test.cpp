#include "hippo/service/merge/retry_policy.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "merge/leases.hpp"

namespace hippo {
namespace {

using std::chrono::milliseconds;
using test::lease_of;

constexpr trainer_id first_trainer{1};
constexpr trainer_id second_trainer{2};

lease_end failed_at(step_t at, errc code, std::string log = {}) {
  return {lease_id{1}, at, error{code, "it broke"}, std::move(log)};
}

/// Node 1 from state 0 on, and node 2, which leaves it at state 10.
struct plan_of_two : search_plan {
  plan_of_two() {
    restore_node(node_id{1}, root_node, 0, {{"lr", form::constant(.1)}}, 0);
    restore_node(node_id{2}, node_id{1}, 10, {{"lr", form::constant(.01)}}, 0);
  }
};

/// Steps 0 to 20, on both nodes.
running_lease lease_of_both(trainer_id trainer) {
  return lease_of(lease_id{1}, trainer, 0,
                  {{node_id{1}, 0, 10, {}}, {node_id{2}, 10, 20, {}}});
}

/// The same lease once it has passed the stops before a state where it fails.
running_lease failing_at(running_lease x, step_t at) {
  for (const auto& y : x.work.stops)
    if (y.at <= at && y.at > x.progress.reached && at < 20) {
      x.progress.reached = y.at;
      x.progress.has_reported = true;
    }
  return x;
}

path path_of(std::vector<stage> stages) { return {{}, std::move(stages)}; }

class RetryPolicy : public testing::Test {
protected:
  verdict judge(const running_lease& x, const lease_end& end) {
    return policy.judge(end.failure->code == errc::diverged
                          ? x
                          : failing_at(x, end.at),
                        end, plan);
  }

  plan_of_two plan;
  retry_policy policy{3};
};

TEST_F(RetryPolicy, CancelledLeaseIsLeasedAgain) {
  const auto x = judge(lease_of_both(first_trainer),
                       failed_at(4, errc::cancelled));
  ASSERT_TRUE(std::holds_alternative<retry>(x));
  EXPECT_FALSE(std::get<retry>(x).trainer_leaves);
}

TEST_F(RetryPolicy, TrainerThatHandsALeaseBackUntouchedLeaves) {
  auto lease =
    lease_of(lease_id{1}, first_trainer, 0, {{node_id{1}, 5, 10, {}}});
  auto x = judge(lease, failed_at(5, errc::cancelled));
  ASSERT_TRUE(std::holds_alternative<retry>(x));
  EXPECT_TRUE(std::get<retry>(x).trainer_leaves);
}

TEST_F(RetryPolicy, CancellingIsNoAttempt) {
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(std::holds_alternative<retry>(
      judge(lease_of_both(first_trainer), failed_at(4, errc::cancelled))));
  EXPECT_TRUE(std::holds_alternative<retry>(
    judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed))));
}

TEST_F(RetryPolicy, CoolDownDoublesUpToItsLimit) {
  milliseconds want = retry_policy::cool_down_first;
  for (int i = 0; i < 9; ++i) {
    const auto x = judge(lease_of_both(first_trainer),
                         failed_at(4, errc::io_failed));
    ASSERT_TRUE(std::holds_alternative<cool_down>(x));
    EXPECT_EQ(std::get<cool_down>(x).span, want);
    want = std::min(2 * want, retry_policy::cool_down_last);
  }
  EXPECT_EQ(want, milliseconds{60'000});
}

TEST_F(RetryPolicy, CoolDownsAreOfEachTrainerAndEndWithSuccess) {
  const auto span = [&](trainer_id x) {
    return std::get<cool_down>(
             judge(lease_of_both(x), failed_at(4, errc::io_failed)))
      .span;
  };
  EXPECT_EQ(span(first_trainer), milliseconds{1000});
  EXPECT_EQ(span(first_trainer), milliseconds{2000});
  EXPECT_EQ(span(second_trainer), milliseconds{1000});
  policy.note_success(first_trainer);
  EXPECT_EQ(span(first_trainer), milliseconds{1000});
  EXPECT_EQ(span(second_trainer), milliseconds{2000});
  policy.forget(second_trainer);
  EXPECT_EQ(span(second_trainer), milliseconds{1000});
}

TEST_F(RetryPolicy, SaysWhatIsInTheWayUntilItIsNot) {
  const auto fail = [&](trainer_id x, const std::string& why) {
    auto end = failed_at(4, errc::io_failed);
    end.failure->message = why;
    judge(lease_of_both(x), end);
  };
  EXPECT_EQ(policy.hindrance(), "");
  fail(first_trainer, "cannot write a: No space left on device");
  EXPECT_TRUE(policy.is_hindered(first_trainer));
  EXPECT_FALSE(policy.is_hindered(second_trainer));
  const auto said = policy.hindrance();
  EXPECT_NE(said.find("write a: No space left on device"), std::string::npos);
  // Each time it is another file: that is no news.
  fail(first_trainer, "cannot write b: No space left on device");
  EXPECT_EQ(policy.hindrance(), said);
  fail(second_trainer, "cannot write c: No space left on device");
  EXPECT_NE(policy.hindrance().find("1 more does not"), std::string::npos);
  fail(first_trainer, "cannot write a: Permission denied");
  EXPECT_NE(policy.hindrance().find("Permission denied"), std::string::npos);
  policy.note_kept(first_trainer);
  EXPECT_NE(policy.hindrance().find("No space"), std::string::npos);
  policy.note_success(second_trainer);
  EXPECT_EQ(policy.hindrance(), "");
}

TEST_F(RetryPolicy, FailureOfADiskIsNoAttempt) {
  const auto lease = lease_of_both(first_trainer);
  const auto broken = failed_at(4, errc::training_failed);
  EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, broken)));
  for (int i = 0; i < 5; ++i)
    judge(lease, failed_at(4, errc::io_failed));
  EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, broken)));
  EXPECT_TRUE(std::holds_alternative<fail_from>(judge(lease, broken)));
}

TEST_F(RetryPolicy, DivergedStateIsOfTheStageThatReachesIt) {
  for (const auto& [at, node] :
       std::map<step_t, node_id>{{4, node_id{1}},
                                 {10, node_id{1}},
                                 {11, node_id{2}},
                                 {20, node_id{2}}}) {
    const auto x = judge(lease_of_both(first_trainer),
                         failed_at(at, errc::diverged));
    ASSERT_TRUE(std::holds_alternative<mark_diverged>(x)) << at;
    EXPECT_EQ(std::get<mark_diverged>(x).node, node) << at;
    EXPECT_EQ(std::get<mark_diverged>(x).at, at);
  }
}

/// A lease of both nodes that has reported up to the state that diverges.
running_lease diverging(trainer_id x, step_t at, std::string name = {}) {
  auto result = lease_of_both(x);
  result.trainer_name = std::move(name);
  result.progress.reached = at;
  result.progress.has_reported = true;
  return result;
}

TEST_F(RetryPolicy, DivergenceTakesTheWordOfTwoWhereThereAreTwo) {
  policy.set_able({first_trainer, second_trainer});
  const auto claim = failed_at(12, errc::diverged);
  const auto what = path_of({{node_id{2}, 10, 20, {}}});
  EXPECT_TRUE(
    std::holds_alternative<retry>(judge(diverging(first_trainer, 12), claim)));
  EXPECT_TRUE(policy.is_left_to_others(first_trainer, what));
  EXPECT_FALSE(policy.is_left_to_others(second_trainer, what));
  const auto x = judge(diverging(second_trainer, 12), claim);
  ASSERT_TRUE(std::holds_alternative<mark_diverged>(x));
  EXPECT_EQ(std::get<mark_diverged>(x).at, 12u);
  EXPECT_FALSE(policy.is_left_to_others(first_trainer, what));
}

TEST_F(RetryPolicy, DivergenceIsConfirmedWhereverTheSecondStartsFrom) {
  policy.set_able({first_trainer, second_trainer});
  const auto claim = failed_at(12, errc::diverged);
  judge(diverging(first_trainer, 12), claim);
  auto second = diverging(second_trainer, 12);
  second.progress.saved = 11;
  EXPECT_TRUE(std::holds_alternative<mark_diverged>(judge(second, claim)));
}

TEST_F(RetryPolicy, WhoSaysThatItDivergesWhereAnotherMeasuresIsToBlame) {
  policy.set_able({first_trainer, second_trainer});
  judge(diverging(first_trainer, 12), failed_at(12, errc::diverged));
  EXPECT_TRUE(policy.note_recorded(lease_of_both(second_trainer), 11).empty());
  EXPECT_EQ(policy.note_recorded(lease_of_both(second_trainer), 12),
            std::set{first_trainer});
}

TEST_F(RetryPolicy, OneProcessUnderTwoNumbersConfirmsNothing) {
  policy.set_able({first_trainer, second_trainer, trainer_id{3}});
  const auto claim = failed_at(12, errc::diverged);
  for (const auto x : {first_trainer, second_trainer})
    EXPECT_TRUE(std::holds_alternative<retry>(
      judge(diverging(x, 12, "host:1"), claim)));
}

TEST_F(RetryPolicy, WhoseWordWasConfirmedIsAskedNowAndThen) {
  policy.set_able({first_trainer, second_trainer});
  const auto is_believed = [&](step_t at) {
    return std::holds_alternative<mark_diverged>(
      judge(diverging(first_trainer, at), failed_at(at, errc::diverged)));
  };
  for (step_t at = 1; at <= retry_policy::confirmed_for_trust; ++at) {
    EXPECT_FALSE(is_believed(at));
    judge(diverging(second_trainer, at), failed_at(at, errc::diverged));
  }
  for (unsigned i = 1; i < retry_policy::trusted_asked_every; ++i)
    EXPECT_TRUE(is_believed(9));
  EXPECT_FALSE(is_believed(9));
  // Contradicted once, it begins anew.
  EXPECT_EQ(policy.note_recorded(lease_of_both(second_trainer), 9),
            std::set{first_trainer});
  EXPECT_FALSE(is_believed(9));
}

/// Whatever trainers say of whatever states: the same is asked of each of them
/// at most once, and it ends.
TEST_F(RetryPolicy, DivergenceIsSettledAfterEachTrainerWasAskedOnce) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    retry_policy x{3};
    std::set<trainer_id> able;
    for (std::uint64_t i = 1; i <= 1 + rng() % 4; ++i)
      able.insert(trainer_id{i});
    x.set_able(able);
    std::map<trainer_id, step_t> says;
    for (const auto id : able)
      says[id] = 1 + rng() % 3;
    const auto what = path_of({{node_id{1}, 0, 10, {}}});
    std::optional<verdict> settled;
    for (std::size_t turns = 0; !settled; ++turns) {
      ASSERT_LT(turns, 3 * able.size());
      std::vector<trainer_id> may;
      for (const auto id : able)
        if (!x.is_left_to_others(id, what))
          may.push_back(id);
      ASSERT_FALSE(may.empty()) << "somebody always may try";
      const auto id = may[rng() % may.size()];
      const auto got = x.judge(diverging(id, says[id]),
                               failed_at(says[id], errc::diverged), plan);
      if (!std::holds_alternative<retry>(got))
        settled = got;
    }
    ASSERT_TRUE(std::holds_alternative<mark_diverged>(*settled));
  }
}

TEST_F(RetryPolicy, ALeaseMayCrossTheLeaveOfItsTrainerOnce) {
  EXPECT_TRUE(policy.may_hand_back(first_trainer));
  EXPECT_FALSE(policy.may_hand_back(first_trainer));
  EXPECT_TRUE(policy.may_hand_back(second_trainer));
  policy.note_success(first_trainer);
  EXPECT_TRUE(policy.may_hand_back(first_trainer));
}

TEST_F(RetryPolicy, StartIsDoubtedOnceSomebodyCouldNotReadIt) {
  plan.restore_checkpoint(node_id{2}, 15, {"b.ckpt", 8, 1});
  auto lease =
    lease_of(lease_id{1}, first_trainer, 0, {{node_id{2}, 15, 20, {}}});
  lease.work.start.file = "b.ckpt";
  EXPECT_FALSE(policy.is_start_doubted(lease));
  judge(lease, failed_at(15, errc::bad_checkpoint));
  EXPECT_TRUE(policy.is_start_doubted(lease));
  lease.progress.has_recorded = true;
  EXPECT_FALSE(policy.is_start_doubted(lease));
}

TEST_F(RetryPolicy, BadCheckpointInsideANodeIsOfThatNode) {
  plan.restore_checkpoint(node_id{2}, 15, {"b.ckpt", 8, 1});
  auto lease =
    lease_of(lease_id{1}, first_trainer, 0, {{node_id{2}, 15, 20, {}}});
  lease.work.start.file = "b.ckpt";
  const auto bad = failed_at(15, errc::bad_checkpoint);
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(std::holds_alternative<retry>(judge(lease, bad)));
  const auto x = judge(lease, bad);
  ASSERT_TRUE(std::holds_alternative<forget_checkpoint>(x));
  EXPECT_EQ(std::get<forget_checkpoint>(x).node, node_id{2});
  EXPECT_EQ(std::get<forget_checkpoint>(x).at, 15u);
}

TEST_F(RetryPolicy, BadCheckpointAtTheBeginOfANodeIsOfTheOneThatItLeaves) {
  plan.restore_checkpoint(node_id{1}, 10, {"a.ckpt", 8, 1});
  auto lease =
    lease_of(lease_id{1}, first_trainer, 0, {{node_id{2}, 10, 20, {}}});
  lease.work.start.file = "a.ckpt";
  const auto bad = failed_at(10, errc::bad_checkpoint);
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(std::holds_alternative<retry>(judge(lease, bad)));
  const auto x = judge(lease, bad);
  ASSERT_TRUE(std::holds_alternative<forget_checkpoint>(x));
  EXPECT_EQ(std::get<forget_checkpoint>(x).node, node_id{1});
  EXPECT_EQ(std::get<forget_checkpoint>(x).at, 10u);
}

TEST_F(RetryPolicy, ACheckpointIsGoodWhileAnotherHasNotTried) {
  plan.restore_checkpoint(node_id{2}, 15, {"b.ckpt", 8, 1});
  policy.set_able({first_trainer, second_trainer});
  const auto bad = failed_at(15, errc::bad_checkpoint);
  const auto lease_to = [](trainer_id x) {
    auto result = lease_of(lease_id{1}, x, 0, {{node_id{2}, 15, 20, {}}});
    result.work.start.file = "b.ckpt";
    return result;
  };
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(
      std::holds_alternative<retry>(judge(lease_to(first_trainer), bad)));
  auto healthy = lease_to(second_trainer);
  EXPECT_EQ(policy.note_recorded(healthy, 16), std::set{first_trainer});
}

/// Whoever cannot read it trains it again, which is a new checkpoint each time:
/// what fails behind it would be tried for ever.
TEST_F(RetryPolicy, AForgottenCheckpointLeavesOtherAttemptsCounted) {
  plan.restore_checkpoint(node_id{2}, 15, {"b.ckpt", 8, 1});
  auto lease =
    lease_of(lease_id{1}, first_trainer, 0, {{node_id{2}, 15, 20, {}}});
  lease.work.start.file = "b.ckpt";
  const auto broken = failed_at(16, errc::training_failed);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, broken)));
    const auto bad = failed_at(15, errc::bad_checkpoint);
    EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, bad)));
    EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, bad)));
    EXPECT_TRUE(std::holds_alternative<forget_checkpoint>(judge(lease, bad)));
  }
  EXPECT_TRUE(std::holds_alternative<fail_from>(judge(lease, broken)));
}

TEST_F(RetryPolicy, BadCheckpointThatIsForgottenAlreadyIsNoAttempt) {
  auto lease =
    lease_of(lease_id{1}, first_trainer, 0, {{node_id{2}, 15, 20, {}}});
  lease.work.start.file = "b.ckpt";
  for (int i = 0; i < 5; ++i) {
    const auto x = judge(lease, failed_at(15, errc::bad_checkpoint));
    ASSERT_TRUE(std::holds_alternative<retry>(x));
    EXPECT_FALSE(std::get<retry>(x).trainer_leaves);
  }
}

TEST_F(RetryPolicy, BadCheckpointWithoutOneToStartFromIsAnAttempt) {
  const auto lease = lease_of_both(first_trainer);
  const auto bad = failed_at(0, errc::bad_checkpoint);
  EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, bad)));
  EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, bad)));
  EXPECT_TRUE(std::holds_alternative<fail_from>(judge(lease, bad)));
}

TEST_F(RetryPolicy, LastAttemptFailsWhatCouldNotBeReached) {
  const auto lease = lease_of_both(first_trainer);
  judge(lease, failed_at(4, errc::training_failed));
  judge(lease, failed_at(5, errc::training_failed));
  const auto x
    = judge(lease, failed_at(6, errc::training_failed, "last words"));
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  const auto& failed = std::get<fail_from>(x);
  EXPECT_EQ(failed.node, node_id{1});
  EXPECT_EQ(failed.at, 7u);
  EXPECT_EQ(failed.reason.code, errc::training_failed);
  EXPECT_EQ(failed.reason.message,
            "it broke\nlog of trainer 1:\nlast words");
}

TEST_F(RetryPolicy, FailureWithoutALogSaysWhyAlone) {
  retry_policy once{1};
  const auto x = once.judge(lease_of_both(first_trainer),
                            failed_at(9, errc::training_failed), plan);
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).reason.message, "it broke");
}

TEST_F(RetryPolicy, StateAtABorderFailsInTheStageThatBeginsThere) {
  retry_policy once{1};
  auto x = once.judge(failing_at(lease_of_both(first_trainer), 10),
                      failed_at(10, errc::training_failed), plan);
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).node, node_id{2});
  EXPECT_EQ(std::get<fail_from>(x).at, 11u);
  x = once.judge(failing_at(lease_of_both(first_trainer), 19),
                 failed_at(20, errc::training_failed), plan);
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).node, node_id{2});
  EXPECT_EQ(std::get<fail_from>(x).at, 20u);
}

TEST_F(RetryPolicy, AttemptsCountFromTheStateThatIsSaved) {
  auto lease = lease_of_both(first_trainer);
  const auto broken = failed_at(6, errc::training_failed);
  judge(lease, broken);
  judge(lease, broken);
  lease.progress.reached = 5;
  lease.progress.saved = 5;
  EXPECT_TRUE(std::holds_alternative<retry>(judge(lease, broken)));
  lease.progress.reached = 0;
  lease.progress.saved = 0;
  EXPECT_TRUE(std::holds_alternative<fail_from>(judge(lease, broken)));
}

TEST_F(RetryPolicy, TrainerThatCannotStartTheWorkloadRestsAndSaysWhy) {
  auto code = errc::missing_data;
  for (const auto span : {1000, 2000, 4000}) {
    code = span == 2000 ? errc::cannot_start : errc::missing_data;
    const auto x = judge(lease_of_both(first_trainer),
                         failed_at(0, code));
    ASSERT_TRUE(std::holds_alternative<cool_down>(x));
    EXPECT_EQ(std::get<cool_down>(x).span, milliseconds{span});
    EXPECT_EQ(std::get<cool_down>(x).unable, "it broke");
  }
}

TEST_F(RetryPolicy, NoNumberOfFailuresIsAVerdictWhileAnotherHasNotTried) {
  policy.set_able({first_trainer, second_trainer});
  const auto broken = failed_at(4, errc::training_failed);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(std::holds_alternative<retry>(
      judge(lease_of_both(first_trainer), broken)));
  EXPECT_TRUE(std::holds_alternative<fail_from>(
    judge(lease_of_both(second_trainer), broken)));
}

TEST_F(RetryPolicy, ThreeTrainersThatFailAreAVerdictWhoeverElseThereIs) {
  policy.set_able({trainer_id{1}, trainer_id{2}, trainer_id{3}, trainer_id{4}});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto x = judge(lease_of_both(trainer_id{i}),
                         failed_at(4, errc::training_failed));
    ASSERT_EQ(std::holds_alternative<fail_from>(x), i == 3);
    if (i == 3) {
      EXPECT_EQ(std::get<fail_from>(x).reason.code, errc::fails_everywhere);
    }
  }
}

TEST_F(RetryPolicy, OneTrainerOrDifferentStepsAreNoLastingVerdict) {
  const auto broken = failed_at(4, errc::training_failed);
  judge(lease_of_both(first_trainer), broken);
  judge(lease_of_both(first_trainer), broken);
  auto x = judge(lease_of_both(first_trainer), broken);
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).reason.code, errc::training_failed);
  for (std::uint64_t i = 1; i <= 3; ++i)
    x = judge(lease_of_both(trainer_id{i}),
              failed_at(i, errc::training_failed));
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).reason.code, errc::training_failed);
}

TEST_F(RetryPolicy, AfterAVerdictWhoTriesAgainBeginsAnew) {
  const auto broken = failed_at(4, errc::training_failed);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(std::holds_alternative<fail_from>(
                  judge(lease_of_both(first_trainer), broken)),
                i == 2);
}

TEST_F(RetryPolicy, FailedStateIsLeftToThoseThatHaveNotTried) {
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  const auto path = path_of({{node_id{1}, 0, 10, {}}});
  EXPECT_FALSE(policy.is_left_to_others(first_trainer, path));
  policy.set_able({first_trainer});
  EXPECT_FALSE(policy.is_left_to_others(first_trainer, path));
  policy.set_able({first_trainer, second_trainer});
  EXPECT_TRUE(policy.is_left_to_others(first_trainer, path));
  EXPECT_FALSE(policy.is_left_to_others(second_trainer, path));
  judge(lease_of_both(second_trainer), failed_at(4, errc::training_failed));
  EXPECT_FALSE(policy.is_left_to_others(first_trainer, path));
}

/// Else each of two that fail in different places would be waited for.
TEST_F(RetryPolicy, WhoFailsFirstOnThePathIsNotWaitedForByOthers) {
  policy.set_able({first_trainer, second_trainer});
  judge(lease_of_both(second_trainer), failed_at(14, errc::training_failed));
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  const auto path =
    path_of({{node_id{1}, 0, 10, {}}, {node_id{2}, 10, 20, {}}});
  EXPECT_TRUE(policy.is_left_to_others(first_trainer, path));
  EXPECT_FALSE(policy.is_left_to_others(second_trainer, path));
  const auto rest = path_of({{node_id{2}, 10, 20, {}}});
  EXPECT_FALSE(policy.is_left_to_others(first_trainer, rest));
  EXPECT_TRUE(policy.is_left_to_others(second_trainer, rest));
}

/// Else whoever says that it came farther each time would never be done.
TEST_F(RetryPolicy, WhatATrainerSaysOfHowFarItCameShowsNothing) {
  policy.set_able({first_trainer, second_trainer});
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  judge(lease_of_both(second_trainer), failed_at(4, errc::training_failed));
  const auto path =
    path_of({{node_id{1}, 0, 10, {}}, {node_id{2}, 10, 20, {}}});
  EXPECT_FALSE(policy.is_left_to_others(first_trainer, path));
  const auto farther = failed_at(14, errc::training_failed);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(policy.is_left_to_others(first_trainer, path));
    EXPECT_FALSE(policy.is_left_to_others(second_trainer, path));
    EXPECT_EQ(std::holds_alternative<fail_from>(
                judge(lease_of_both(first_trainer), farther)),
              i == 2);
  }
  EXPECT_TRUE(std::holds_alternative<fail_from>(
    judge(lease_of_both(second_trainer), failed_at(4, errc::training_failed))))
    << "the third one there";
}

/// Wherever beyond it a trainer says that it failed.
TEST_F(RetryPolicy, AnAttemptIsAtWhatWasToBeRecordedNext) {
  for (const auto during : {lease_part::training, lease_part::measuring,
                            lease_part::saving})
    for (const step_t at : {10, 11, 15, 20, 1000}) {
      retry_policy x{3};
      auto end = failed_at(at, errc::training_failed);
      end.during = during;
      for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(std::holds_alternative<retry>(
          x.judge(lease_of_both(first_trainer), end, plan)));
      const auto what = x.judge(lease_of_both(first_trainer), end, plan);
      if (during == lease_part::measuring) {
        ASSERT_TRUE(std::holds_alternative<fail_measuring>(what));
        EXPECT_EQ(std::get<fail_measuring>(what).node, node_id{1});
        EXPECT_EQ(std::get<fail_measuring>(what).at, 10u);
      } else {
        ASSERT_TRUE(std::holds_alternative<fail_from>(what));
        EXPECT_EQ(std::get<fail_from>(what).node, node_id{1});
        EXPECT_EQ(std::get<fail_from>(what).at, 10u);
      }
    }
}

TEST_F(RetryPolicy, OnlyWhatIsRecordedEndsWhatWasCounted) {
  const auto broken = failed_at(4, errc::training_failed);
  judge(lease_of_both(first_trainer), broken);
  judge(lease_of_both(first_trainer), broken);
  EXPECT_TRUE(policy.note_recorded(lease_of_both(second_trainer), 4).empty());
  policy.note_recorded(node_id{1}, 4);
  policy.note_recorded(node_id{2}, 14);
  EXPECT_TRUE(std::holds_alternative<fail_from>(
    judge(lease_of_both(first_trainer), broken)));
  judge(lease_of_both(first_trainer), broken);
  judge(lease_of_both(first_trainer), broken);
  policy.note_recorded(node_id{1}, 5);
  EXPECT_TRUE(std::holds_alternative<retry>(
    judge(lease_of_both(first_trainer), broken)));
}

/// The same lease, of a trainer of that name.
running_lease by_name(std::uint64_t number, const std::string& name) {
  auto result = lease_of_both(trainer_id{number});
  result.trainer_name = name;
  return result;
}

TEST_F(RetryPolicy, ThreeTrainersThatAreLostAreAVerdict) {
  policy.set_able({trainer_id{4}, trainer_id{5}});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto what = policy.judge_lost(by_name(i, "host" + std::to_string(i)),
                                        "it closed the connection");
    ASSERT_EQ(std::holds_alternative<fail_from>(what), i == 3);
    if (i < 3)
      continue;
    const auto& failed = std::get<fail_from>(what);
    EXPECT_EQ(failed.node, node_id{1});
    EXPECT_EQ(failed.at, 10u);
    EXPECT_EQ(failed.reason.code, errc::training_failed)
      << "it may go well another time";
    EXPECT_EQ(failed.reason.message,
              "3 trainers died on the way from step 0 to step 10: it closed "
              "the connection\nthe last one was host3");
  }
}

/// Whoever does not measure that state is not known to die of it.
TEST_F(RetryPolicy, TrainersThatAreLostWhereItIsMeasuredFailTheMeasurement) {
  for (std::uint64_t i = 1; i <= 3; ++i) {
    auto lease = lease_of_both(trainer_id{i});
    lease.work.stops.front().evaluate = true;
    EXPECT_EQ(
      std::holds_alternative<fail_measuring>(policy.judge_lost(lease, "gone")),
      i == 3);
  }
}

TEST_F(RetryPolicy, ATrainerThatWasOnlyCutOffTakesItsAttemptBack) {
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(std::holds_alternative<retry>(
      policy.judge_lost(by_name(i, i % 2 == 0 ? "even" : "odd"), "silent")));
    policy.note_back(i % 2 == 0 ? "even" : "odd");
  }
  EXPECT_TRUE(std::holds_alternative<retry>(
    policy.judge_lost(by_name(1, "a"), "silent")));
  EXPECT_TRUE(std::holds_alternative<retry>(
    policy.judge_lost(by_name(2, "b"), "silent")));
  policy.note_back("c"); // of nothing
  EXPECT_TRUE(std::holds_alternative<fail_from>(
    policy.judge_lost(by_name(3, "c"), "silent")));
}

/// A trainer that helps others may be lost to them while it is registered.
TEST_F(RetryPolicy, ATrainerThatWasCutOffTwiceTakesBothAttemptsBack) {
  const auto is_lost = [&](std::uint64_t number, const std::string& name) {
    return std::holds_alternative<retry>(
      policy.judge_lost(by_name(number, name), "silent"));
  };
  EXPECT_TRUE(is_lost(1, "a"));
  EXPECT_TRUE(is_lost(1, "a"));
  policy.note_back("a");
  EXPECT_TRUE(is_lost(2, "b"));
  EXPECT_TRUE(is_lost(3, "c"));
  EXPECT_FALSE(is_lost(4, "d"));
}

/// Training may cut each trainer off, or end it before it has said a word.
TEST_F(RetryPolicy, ExcusedLossesComeToAnEnd) {
  using loss = retry_policy::loss;
  for (const auto how : {loss::gone, loss::untaken}) {
    retry_policy x{3};
    std::uint64_t losses = 0;
    for (bool goes_on = true; goes_on; ++losses) {
      ASSERT_LT(losses, 100u);
      const auto name = "host" + std::to_string(losses);
      goes_on = std::holds_alternative<retry>(
        x.judge_lost(by_name(losses + 1, name), "gone", {}, {}, how));
      x.note_back(name);
    }
    EXPECT_EQ(losses, 3 * retry_policy::excused_max + 3);
  }
}

TEST_F(RetryPolicy, ATrainerThatStallsWasNotCutOff) {
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto name = "host" + std::to_string(i);
    EXPECT_EQ(std::holds_alternative<retry>(
                policy.judge_lost(by_name(i, name), "it made no step", {}, {},
                                  retry_policy::loss::stalled)),
              i < 3);
    policy.note_back(name);
  }
}

/// A lease that only measures: the state is there.
TEST_F(RetryPolicy, WhatCannotBeMeasuredAloneFailsTheMeasurement) {
  const auto lease =
    lease_of(lease_id{1}, first_trainer, 0, {{node_id{2}, 15, 15, {}}});
  const auto broken = failed_at(15, errc::training_failed);
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(
      std::holds_alternative<retry>(policy.judge(lease, broken, plan)));
  const auto x = policy.judge(lease, broken, plan);
  ASSERT_TRUE(std::holds_alternative<fail_measuring>(x));
  EXPECT_EQ(std::get<fail_measuring>(x).at, 15u);
}

TEST_F(RetryPolicy, WhatATrainerWasLostOverIsSuspectUntilItGetsOn) {
  const auto both = lease_of_both(first_trainer);
  judge(both, failed_at(4, errc::training_failed));
  EXPECT_FALSE(policy.is_suspect(both.work.stages)) << "it has said why";
  policy.judge_lost(lease_of_both(second_trainer), "gone");
  EXPECT_TRUE(policy.is_suspect(both.work.stages));
  EXPECT_TRUE(policy.is_suspect({{node_id{1}, 0, 7, {}}}));
  EXPECT_FALSE(policy.is_suspect({{node_id{2}, 10, 20, {}}}));
  EXPECT_FALSE(policy.is_suspect({{node_id{1}, 10, 20, {}}}));
  EXPECT_EQ(policy.note_recorded(lease_of_both(trainer_id{3}), 10),
            std::set{first_trainer})
    << "who is gone is not to blame";
  EXPECT_FALSE(policy.is_suspect(both.work.stages));
}

/// Whoever of the trainers that a path is not left to others by tries it, and
/// wherever each of them fails: it comes to an end.
TEST_F(RetryPolicy, TrainersThatFailInDifferentPlacesComeToAnEnd) {
  const std::vector<stage> stages{{node_id{1}, 0, 10, {}},
                                  {node_id{2}, 10, 20, {}}};
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    retry_policy x{static_cast<unsigned>(1 + rng() % 4)};
    std::map<trainer_id, std::vector<step_t>> fails_at;
    std::set<trainer_id> able;
    for (std::uint64_t i = 1; i <= 2 + rng() % 4; ++i) {
      able.insert(trainer_id{i});
      for (auto places = 1 + rng() % 2; places > 0; --places)
        fails_at[trainer_id{i}].push_back(rng() % 20);
    }
    x.set_able(able);
    bool is_over = false;
    for (int turn = 0; turn < 200 && !is_over; ++turn) {
      std::vector<trainer_id> may;
      for (const auto y : able)
        if (!x.is_left_to_others(y, path_of(stages)))
          may.push_back(y);
      ASSERT_FALSE(may.empty());
      // The first one mostly, as placement takes it.
      const auto who = may[rng() % 4 == 0 ? rng() % may.size() : 0];
      const auto& places = fails_at.at(who);
      const auto at = places[rng() % places.size()];
      is_over = std::holds_alternative<fail_from>(
        x.judge(failing_at(lease_of_both(who), at),
                failed_at(at, errc::training_failed), plan));
    }
    EXPECT_TRUE(is_over);
  }
}

TEST_F(RetryPolicy, WhatIsBehindTheBeginOfAPathDecidesNothing) {
  policy.set_able({first_trainer, second_trainer});
  judge(lease_of_both(second_trainer), failed_at(14, errc::training_failed));
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  EXPECT_FALSE(policy.is_left_to_others(first_trainer,
                                        path_of({{node_id{1}, 5, 10, {}}})));
  EXPECT_TRUE(policy.is_left_to_others(
    second_trainer,
    path_of({{node_id{1}, 5, 10, {}}, {node_id{2}, 10, 20, {}}})));
}

TEST_F(RetryPolicy, PathThatEndsBeforeAFailedStateIsNotLeftToOthers) {
  auto lease = lease_of_both(first_trainer);
  lease.progress.reached = lease.progress.saved = 6;
  judge(lease, failed_at(7, errc::training_failed));
  policy.set_able({first_trainer, second_trainer});
  const auto is_left = [&](std::vector<stage> stages) {
    return policy.is_left_to_others(first_trainer, path_of(std::move(stages)));
  };
  EXPECT_FALSE(is_left({{node_id{1}, 0, 6, {}}}));
  EXPECT_TRUE(is_left({{node_id{1}, 0, 7, {}}}));
  EXPECT_FALSE(is_left({{node_id{2}, 10, 20, {}}}));
}

TEST_F(RetryPolicy, WhoCouldNotGetAsFarAsAnotherIsToBlame) {
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  judge(lease_of_both(trainer_id{3}), failed_at(6, errc::training_failed));
  const auto other = lease_of_both(second_trainer);
  EXPECT_TRUE(policy.note_recorded(other, 6).empty());
  EXPECT_EQ(policy.note_recorded(other, 7),
            (std::set<trainer_id>{first_trainer, trainer_id{3}}));
  EXPECT_TRUE(policy.note_recorded(other, 7).empty()) << "told once";
}

TEST_F(RetryPolicy, WhoStartsBeyondAFailureShowsNothing) {
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  const auto other
    = lease_of(lease_id{2}, second_trainer, 0, {{node_id{1}, 5, 10, {}}});
  EXPECT_TRUE(policy.note_recorded(other, 10).empty());
}

TEST_F(RetryPolicy, NobodyIsToBlameForWhatComesAndGoes) {
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  judge(lease_of_both(second_trainer), failed_at(4, errc::training_failed));
  EXPECT_TRUE(policy.note_recorded(lease_of_both(second_trainer), 10).empty());
}

TEST_F(RetryPolicy, MeasurementThatFailedIsPassedByWhoMeasures) {
  judge(lease_of(lease_id{1}, first_trainer, 0, {{node_id{1}, 10, 10, {}}}),
        failed_at(10, errc::training_failed));
  auto other
    = lease_of(lease_id{2}, second_trainer, 0, {{node_id{1}, 10, 10, {}}});
  EXPECT_TRUE(policy
                .note_recorded(lease_of(lease_id{3}, second_trainer, 0,
                                        {{node_id{1}, 10, 12, {}}}),
                               12)
                .empty())
    << "it begins there";
  EXPECT_EQ(policy.note_recorded(other, 10), std::set{first_trainer});
}

/// A trainer that was lost and comes again is still the one that has tried.
TEST_F(RetryPolicy, TrainerThatComesAgainIsNoOther) {
  policy.set_able({trainer_id{1}, trainer_id{2}, trainer_id{3}, trainer_id{4},
                   trainer_id{5}});
  const auto judge_by = [&](std::uint64_t number, const std::string& name) {
    auto lease = lease_of_both(trainer_id{number});
    lease.trainer_name = name;
    return judge(lease, failed_at(4, errc::training_failed));
  };
  EXPECT_TRUE(std::holds_alternative<retry>(judge_by(1, "host1:7")));
  EXPECT_TRUE(std::holds_alternative<retry>(judge_by(2, "host2:7")));
  EXPECT_TRUE(std::holds_alternative<retry>(judge_by(3, "host2:7")));
  EXPECT_TRUE(std::holds_alternative<retry>(judge_by(4, "host1:7")));
  const auto x = judge_by(5, "host3:7");
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).reason.code, errc::fails_everywhere);
}

/// Nor are three that agree three, if one of them has come again.
TEST_F(RetryPolicy, TrainerThatComesAgainAgreesOnlyOnce) {
  policy.set_able({trainer_id{1}, trainer_id{2}, trainer_id{3}});
  for (const std::uint64_t number : {1, 2, 3}) {
    auto lease = lease_of_both(trainer_id{number});
    lease.trainer_name = number == 1 ? "host1:7" : "host2:7";
    const auto x = judge(lease, failed_at(4, errc::training_failed));
    EXPECT_EQ(std::holds_alternative<fail_from>(x), number == 3);
    if (number == 3) {
      EXPECT_EQ(std::get<fail_from>(x).reason.code, errc::training_failed);
    }
  }
}

/// The same lease, run as a study of its own says.
running_lease run_by(running_lease x, const std::string& interpreter) {
  x.work.workload.settings = {{"python_executable", interpreter}};
  return x;
}

retry_policy::settings python(const std::string& name) {
  return {{"python_executable", name}};
}

TEST_F(RetryPolicy, AStateFailsOnceItHasUnderTheSettingsOfAllWhoWait) {
  std::vector<retry_policy::settings> asked; // in the order of the attempts
  const auto judge_by = [&](const std::string& name) {
    return policy.judge(run_by(lease_of_both(first_trainer), name),
                        failed_at(4, errc::training_failed), plan, {},
                        [&](const stage& where, step_t from) {
                          EXPECT_EQ(where.node, node_id{1});
                          EXPECT_EQ(from, 0u);
                          return std::vector{python("a"), python("b")};
                        });
  };
  const stage first{node_id{1}, 0, 10, {}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(policy.is_spent(first, python("a")), i >= 3);
    EXPECT_TRUE(std::holds_alternative<retry>(judge_by("a")));
  }
  EXPECT_FALSE(policy.is_spent(first, python("b")));
  EXPECT_FALSE(policy.is_spent({node_id{2}, 10, 20, {}}, python("a")));
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(std::holds_alternative<retry>(judge_by("b")));
  const auto x = judge_by("b");
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).under,
            (std::set{python("a"), python("b")}));
  EXPECT_FALSE(policy.is_spent(first, python("a"))) << "begins anew";
  EXPECT_TRUE(std::holds_alternative<retry>(judge_by("a")));
}

/// Else one that fails under the settings of one study, and cannot be read
/// under those of another, would be tried for ever.
TEST_F(RetryPolicy, WhetherACheckpointCanBeReadIsNotOfTheSettings) {
  plan.restore_checkpoint(node_id{2}, 15, {"b.ckpt", 8, 1});
  const auto judge_by = [&](const std::string& name, step_t at, errc why) {
    auto lease = run_by(
      lease_of(lease_id{1}, first_trainer, 0, {{node_id{2}, 15, 20, {}}}),
      name);
    lease.work.start.file = "b.ckpt";
    return policy.judge(lease, failed_at(at, why), plan, {},
                        [](const stage&, step_t) {
                          return std::vector{python("a"), python("b")};
                        });
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
      std::holds_alternative<retry>(judge_by("a", 15, errc::training_failed)));
    EXPECT_TRUE(
      std::holds_alternative<retry>(judge_by("b", 15, errc::bad_checkpoint)));
  }
  EXPECT_TRUE(std::holds_alternative<forget_checkpoint>(
    judge_by("b", 15, errc::bad_checkpoint)));
  // The other counts stay as they are.
  EXPECT_TRUE(
    std::holds_alternative<retry>(judge_by("a", 15, errc::training_failed)));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(std::holds_alternative<fail_from>(
                judge_by("b", 15, errc::training_failed)),
              i == 2);
}

TEST_F(RetryPolicy, NobodyIsToBlameForTheSettingsOfAStudy) {
  const auto broken = failed_at(4, errc::training_failed);
  judge(run_by(lease_of_both(first_trainer), "a"), broken);
  judge(run_by(lease_of_both(trainer_id{3}), "b"), broken);
  EXPECT_EQ(policy.note_recorded(run_by(lease_of_both(second_trainer), "b"), 9),
            std::set{trainer_id{3}});
  EXPECT_TRUE(
    policy.note_recorded(run_by(lease_of_both(second_trainer), "a"), 9).empty())
    << "what was passed is no failure any more";
}

TEST_F(RetryPolicy, WhoFailedUnderSomeSettingsMayTryUnderOthers) {
  judge(run_by(lease_of_both(first_trainer), "a"),
        failed_at(4, errc::training_failed));
  policy.set_able({first_trainer, second_trainer});
  const auto path = path_of({{node_id{1}, 0, 10, {}}});
  EXPECT_TRUE(policy.is_left_to_others(first_trainer, path, python("a")));
  EXPECT_FALSE(policy.is_left_to_others(first_trainer, path, python("b")));
}

/// However failures fall, a state fails only when enough trainers have tried,
/// or all there are, often enough.
TEST_F(RetryPolicy, FollowsAModelUnderRandomFailures) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    const auto attempts_max = static_cast<unsigned>(1 + rng() % 4);
    retry_policy x{attempts_max};
    std::set<trainer_id> able;
    struct failed_state {
      std::vector<trainer_id> tried;
      step_t passed_at = 0;
    };
    std::map<std::pair<node_id, step_t>, failed_state> model;
    const auto others = [&](const std::vector<trainer_id>& tried) {
      return std::any_of(able.begin(), able.end(), [&](trainer_id y) {
        return std::count(tried.begin(), tried.end(), y) == 0;
      });
    };
    for (int turn = 0; turn < 60; ++turn) {
      if (rng() % 8 == 0) {
        able.clear();
        for (std::uint64_t i = 1; i <= 4; ++i)
          if (rng() % 2 == 0)
            able.insert(trainer_id{i});
        x.set_able(able);
      }
      const trainer_id trainer{1 + rng() % 4};
      auto lease = lease_of_both(trainer);
      const auto at = rng() % 20;
      lease.progress.saved = lease.progress.reached
        = rng() % 3 == 0 ? at / 5 * 5 : 0;
      lease.progress.has_reported = lease.progress.reached > 0;
      lease = failing_at(lease, at);
      const std::pair<node_id, step_t> key{
        node_id{at < 10 ? 1u : 2u},
        std::max<step_t>(lease.progress.saved, at < 10 ? 0 : 10)};
      auto& tried = model[key].tried;
      tried.push_back(trainer);
      auto& passed_at = model[key].passed_at;
      passed_at = std::max<step_t>(passed_at, at + 1);
      const auto different
        = std::set<trainer_id>(tried.begin(), tried.end()).size();
      // There or before it, wherever they started.
      std::vector<trainer_id> stuck;
      for (const auto& [where, y] : model)
        if (y.passed_at <= passed_at)
          stuck.insert(stuck.end(), y.tried.begin(), y.tried.end());
      const bool fails = different >= attempts_max
                         || (tried.size() >= attempts_max && !others(stuck));
      const auto what
        = x.judge(lease, failed_at(at, errc::training_failed), plan);
      ASSERT_EQ(std::holds_alternative<fail_from>(what), fails);
      if (fails)
        model.erase(key);
      const trainer_id asked{1 + rng() % 4};
      const auto end = 1 + rng() % 20;
      std::vector<stage> stages{{node_id{1}, 0, std::min<step_t>(end, 10), {}}};
      if (end > 10)
        stages.push_back({node_id{2}, 10, end, {}});
      const auto is_on_way = [&](const auto& where) {
        return where.first == node_id{1}
                 ? where.second < std::min<step_t>(end, 10)
                 : end > 10 && where.second < end;
      };
      bool want = false;
      for (const auto& [where, y] : model) {
        if (!is_on_way(where)
            || std::count(y.tried.begin(), y.tried.end(), asked) == 0)
          continue;
        std::vector<trainer_id> failed; // there or before
        for (const auto& [before, z] : model)
          if (is_on_way(before) && z.passed_at <= y.passed_at)
            failed.insert(failed.end(), z.tried.begin(), z.tried.end());
        want = want || others(failed);
      }
      ASSERT_EQ(x.is_left_to_others(asked, path_of(stages)), want);
    }
  }
}

TEST(RetryPolicyDeathTest, LeaseThatEndedWellIsNotJudged) {
  const plan_of_two plan;
  retry_policy policy{3};
  EXPECT_DEBUG_DEATH(retry_policy{0}, "attempts_max");
#ifndef NDEBUG
  EXPECT_DEATH(policy.judge(lease_of_both(first_trainer),
                            {lease_id{1}, 20, {}, {}}, plan),
               "failure");
#endif
}

} // namespace
} // namespace hippo
