#include "hippo/merge/retry_policy.hpp"

#include <algorithm>
#include <map>
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
using test::at_second;
using test::lease_of;

constexpr trainer_id first_trainer{1};
constexpr trainer_id second_trainer{2};

lease_end failed_at(step_t at, errc code, std::string log = {}) {
  return {1, at, error{code, "it broke"}, std::move(log)};
}

/// Node 1 from state 0 on, and node 2, which leaves it at state 10.
search_plan plan_of_two() {
  search_plan result;
  result.restore_node(1, 0, 0, {{"lr", form::constant(.1)}}, 0);
  result.restore_node(2, 1, 10, {{"lr", form::constant(.01)}}, 0);
  return result;
}

/// Steps 0 to 20, on both nodes.
running_lease lease_of_both(trainer_id trainer) {
  return lease_of(lease_id{1}, trainer, 0, {{1, 0, 10, {}}, {2, 10, 20, {}}});
}

path path_of(std::vector<stage> stages) { return {{}, std::move(stages)}; }

class RetryPolicy : public testing::Test {
protected:
  verdict judge(const running_lease& x, const lease_end& end,
                double second = 0) {
    return policy.judge(x, end, plan, at_second(second));
  }

  search_plan plan = plan_of_two();
  retry_policy policy{3};
};

TEST_F(RetryPolicy, CancelledLeaseIsLeasedAgain) {
  const auto x = judge(lease_of_both(first_trainer),
                       failed_at(4, errc::cancelled));
  ASSERT_TRUE(std::holds_alternative<retry>(x));
  EXPECT_FALSE(std::get<retry>(x).trainer_leaves);
}

TEST_F(RetryPolicy, TrainerThatHandsALeaseBackUntouchedLeaves) {
  auto lease = lease_of(lease_id{1}, first_trainer, 0, {{1, 5, 10, {}}});
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
       std::map<step_t, node_id>{{4, 1}, {10, 1}, {11, 2}, {20, 2}}) {
    const auto x = judge(lease_of_both(first_trainer),
                         failed_at(at, errc::diverged));
    ASSERT_TRUE(std::holds_alternative<mark_diverged>(x)) << at;
    EXPECT_EQ(std::get<mark_diverged>(x).node, node) << at;
    EXPECT_EQ(std::get<mark_diverged>(x).at, at);
  }
}

TEST_F(RetryPolicy, BadCheckpointInsideANodeIsOfThatNode) {
  plan.restore_checkpoint(2, 15, {"b.ckpt", 8, 1});
  auto lease = lease_of(lease_id{1}, first_trainer, 0, {{2, 15, 20, {}}});
  lease.work.start.file = "b.ckpt";
  const auto x = judge(lease, failed_at(15, errc::bad_checkpoint));
  ASSERT_TRUE(std::holds_alternative<forget_checkpoint>(x));
  EXPECT_EQ(std::get<forget_checkpoint>(x).node, 2u);
  EXPECT_EQ(std::get<forget_checkpoint>(x).at, 15u);
}

TEST_F(RetryPolicy, BadCheckpointAtTheBeginOfANodeIsOfTheOneThatItLeaves) {
  plan.restore_checkpoint(1, 10, {"a.ckpt", 8, 1});
  auto lease = lease_of(lease_id{1}, first_trainer, 0, {{2, 10, 20, {}}});
  lease.work.start.file = "a.ckpt";
  const auto x = judge(lease, failed_at(10, errc::bad_checkpoint));
  ASSERT_TRUE(std::holds_alternative<forget_checkpoint>(x));
  EXPECT_EQ(std::get<forget_checkpoint>(x).node, 1u);
  EXPECT_EQ(std::get<forget_checkpoint>(x).at, 10u);
}

TEST_F(RetryPolicy, BadCheckpointThatIsForgottenAlreadyIsNoAttempt) {
  auto lease = lease_of(lease_id{1}, first_trainer, 0, {{2, 15, 20, {}}});
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
  EXPECT_EQ(failed.node, 1u);
  EXPECT_EQ(failed.at, 7u);
  EXPECT_EQ(failed.reason.code, errc::training_failed);
  EXPECT_EQ(failed.reason.message,
            "it broke\nlog of trainer 1:\nlast words");
}

TEST_F(RetryPolicy, FailureWithoutALogSaysWhyAlone) {
  retry_policy once{1};
  const auto x = once.judge(lease_of_both(first_trainer),
                            failed_at(9, errc::training_failed), plan,
                            at_second(0));
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).reason.message, "it broke");
}

TEST_F(RetryPolicy, StateAtABorderFailsInTheStageThatBeginsThere) {
  retry_policy once{1};
  auto x = once.judge(lease_of_both(first_trainer),
                      failed_at(10, errc::training_failed), plan,
                      at_second(0));
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).node, 2u);
  EXPECT_EQ(std::get<fail_from>(x).at, 11u);
  x = once.judge(lease_of_both(first_trainer),
                 failed_at(20, errc::training_failed), plan, at_second(0));
  ASSERT_TRUE(std::holds_alternative<fail_from>(x));
  EXPECT_EQ(std::get<fail_from>(x).node, 2u);
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

TEST_F(RetryPolicy, FailedStateIsLeftToOthersWhileTheyAreAtWork) {
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed));
  lease_table leases{2, lease_id{1}};
  leases.add(first_trainer);
  leases.add(second_trainer);
  const auto path = path_of({{1, 0, 10, {}}});
  EXPECT_FALSE(
    policy.is_left_to_others(first_trainer, path, leases, at_second(1)));
  leases.begin(lease_of(leases.next_id(), first_trainer));
  EXPECT_FALSE(
    policy.is_left_to_others(first_trainer, path, leases, at_second(1)));
  leases.begin(lease_of(leases.next_id(), second_trainer));
  EXPECT_TRUE(
    policy.is_left_to_others(first_trainer, path, leases, at_second(1)));
  EXPECT_FALSE(
    policy.is_left_to_others(second_trainer, path, leases, at_second(1)));
}

TEST_F(RetryPolicy, FailedStateIsLeftToOthersForSixtySeconds) {
  judge(lease_of_both(first_trainer), failed_at(4, errc::training_failed), 5);
  lease_table leases{2, lease_id{1}};
  leases.add(second_trainer);
  leases.begin(lease_of(leases.next_id(), second_trainer));
  const auto path = path_of({{1, 0, 10, {}}});
  EXPECT_TRUE(
    policy.is_left_to_others(first_trainer, path, leases, at_second(64.9)));
  EXPECT_FALSE(
    policy.is_left_to_others(first_trainer, path, leases, at_second(65)));
}

TEST_F(RetryPolicy, PathThatEndsBeforeAFailedStateIsNotLeftToOthers) {
  auto lease = lease_of_both(first_trainer);
  lease.progress.reached = lease.progress.saved = 6;
  judge(lease, failed_at(7, errc::training_failed));
  lease_table leases{1, lease_id{1}};
  leases.add(second_trainer);
  leases.begin(lease_of(leases.next_id(), second_trainer));
  const auto is_left = [&](std::vector<stage> stages) {
    return policy.is_left_to_others(first_trainer, path_of(std::move(stages)),
                                    leases, at_second(1));
  };
  EXPECT_FALSE(is_left({{1, 0, 6, {}}}));
  EXPECT_TRUE(is_left({{1, 0, 7, {}}}));
  EXPECT_FALSE(is_left({{2, 10, 20, {}}}));
}

TEST_F(RetryPolicy, FollowsAModelUnderRandomFailures) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    const auto attempts_max = static_cast<unsigned>(1 + rng() % 4);
    retry_policy x{attempts_max};
    lease_table leases{1, lease_id{1}};
    for (std::uint64_t i = 1; i <= 3; ++i) {
      leases.add(trainer_id{i});
      if (rng() % 2 == 0)
        leases.begin(lease_of(leases.next_id(), trainer_id{i}));
    }
    struct failure {
      node_id node = 0;
      step_t since = 0;
      trainer_id trainer{};
      double when = 0;
    };
    std::vector<failure> failures;
    double now = 0;
    for (int turn = 0; turn < 40; ++turn) {
      now += static_cast<double>(rng() % 30);
      const trainer_id trainer{1 + rng() % 3};
      auto lease = lease_of_both(trainer);
      const auto at = rng() % 20;
      lease.progress.saved = lease.progress.reached
        = rng() % 3 == 0 ? at / 5 * 5 : 0;
      failure next;
      next.node = at < 10 ? 1u : 2u;
      next.since = std::max<step_t>(lease.progress.saved, at < 10 ? 0 : 10);
      next.trainer = trainer;
      next.when = now;
      failures.push_back(next);
      const auto is_same = [](const failure& a, const failure& b) {
        return a.node == b.node && a.since == b.since;
      };
      const auto attempts = std::count_if(
        failures.begin(), failures.end(),
        [&](const failure& y) { return is_same(y, next); });
      const auto what = x.judge(lease, failed_at(at, errc::training_failed),
                                plan, at_second(now));
      ASSERT_EQ(std::holds_alternative<fail_from>(what),
                attempts >= static_cast<long>(attempts_max));
      const trainer_id asked{1 + rng() % 3};
      const auto end = 1 + rng() % 20;
      std::vector<stage> stages{{1, 0, std::min<step_t>(end, 10), {}}};
      if (end > 10)
        stages.push_back({2, 10, end, {}});
      bool want = false;
      for (const auto& y : failures) {
        std::set<trainer_id> tried;
        double last = 0;
        for (const auto& z : failures)
          if (is_same(y, z)) {
            tried.insert(z.trainer);
            last = std::max(last, z.when);
          }
        bool others = false;
        for (const auto& kvp : leases.leases())
          others |= tried.count(kvp.second.trainer) == 0;
        const bool on_way
          = y.node == 1 ? y.since < std::min<step_t>(end, 10)
                        : end > 10 && y.since < end;
        want |= on_way && tried.count(asked) > 0 && now - last < 60 && others;
      }
      ASSERT_EQ(x.is_left_to_others(asked, path_of(stages), leases,
                                    at_second(now)),
                want);
    }
  }
}

TEST(RetryPolicyDeathTest, LeaseThatEndedWellIsNotJudged) {
  const auto plan = plan_of_two();
  retry_policy policy{3};
  EXPECT_DEBUG_DEATH(retry_policy{0}, "attempts_max");
#ifndef NDEBUG
  EXPECT_DEATH(policy.judge(lease_of_both(first_trainer), {1, 20, {}, {}},
                            plan, at_second(0)),
               "failure");
#endif
}

} // namespace
} // namespace hippo
