#include "hippo/service/merge/gangs.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <ranges>

#include <gtest/gtest.h>

#include "hippo/model/parts.hpp"
#include "merge/gang_chaos.hpp"

namespace hippo {
namespace {

using test::merge_world;

using test::each_three;

// -- how many members ---------------------------------------------------------

/// A path that is .9 of linear for each doubling.
gang_candidate candidate(double seconds, unsigned members = 1,
                         double least_gain = 0) {
  return {seconds, seconds, members, least_gain,
          [](unsigned x) { return gang_speeds{}.at("", "", x); }};
}

using numbers = std::vector<unsigned>;

TEST(Gangs, TheLongestPathHasMoreMembersFirst) {
  EXPECT_EQ(choose_members({candidate(60), candidate(100)}, 8, 1),
            (numbers{1, 2}));
  // With two members the second one is the shorter one, by little.
  EXPECT_EQ(choose_members({candidate(60), candidate(100)}, 8, 2),
            (numbers{1, 2}));
  EXPECT_EQ(choose_members({candidate(60), candidate(100)}, 8, 4),
            (numbers{2, 4}));
  EXPECT_EQ(choose_members({candidate(10), candidate(100)}, 8, 7),
            (numbers{1, 8}));
}

TEST(Gangs, NobodyJoinsWhereAllIsDoneNoSooner) {
  // The other one takes as long all the same.
  EXPECT_EQ(choose_members({candidate(10), candidate(10)}, 8, 1),
            (numbers{1, 1}));
  EXPECT_EQ(choose_members({candidate(10), candidate(10)}, 8, 2),
            (numbers{2, 2}));
  EXPECT_EQ(choose_members({candidate(10), candidate(10)}, 8, 3),
            (numbers{2, 2}));
  std::vector<gang_candidate> all(28, candidate(100));
  EXPECT_EQ(choose_members(all, 8, 12), numbers(28, 1));
  all.insert(all.begin(), 3, candidate(200));
  auto expected = numbers(31, 1);
  EXPECT_EQ(choose_members(all, 8, 2), expected);
  std::fill_n(expected.begin(), 3, 2);
  EXPECT_EQ(choose_members(all, 8, 12), expected)
    << "with two members, they take 111 s";
  // Nor beside a path that they cannot join.
  EXPECT_EQ(choose_members({candidate(100)}, 8, 7, 60), (numbers{2}));
  EXPECT_EQ(choose_members({candidate(100)}, 8, 7, 100), (numbers{1}));
}

TEST(Gangs, ASecondMayCostAFifthOfTheIdleTrainersTime) {
  // Two trainers for the first path cost 11.1 s of device time.
  EXPECT_EQ(choose_members({candidate(100), candidate(89)}, 8, 1),
            (numbers{1, 1}));
  EXPECT_EQ(choose_members({candidate(100), candidate(88)}, 8, 1),
            (numbers{2, 1}));
  // Two for each cost 11.1 s by path, for 44.4 s.
  const auto equal = [](std::size_t paths, std::uint64_t idle) {
    return choose_members(std::vector(paths, candidate(100)), 8, idle);
  };
  EXPECT_EQ(equal(16, 24), numbers(16, 2));
  EXPECT_EQ(equal(17, 23), numbers(17, 2));
  EXPECT_EQ(equal(18, 22), numbers(18, 1));
  EXPECT_EQ(equal(20, 20), numbers(20, 1));
}

TEST(Gangs, MembersAreToBeEfficient) {
  const auto by = [](double at_2, double at_4) {
    auto result = candidate(100);
    result.speedup = [=](unsigned members) {
      return members == 1 ? 1 : members == 2 ? at_2 : at_4;
    };
    return choose_members({result}, 4, 1000);
  };
  EXPECT_EQ(by(1.39, 4), (numbers{1}));
  EXPECT_EQ(by(1.41, 2.78), (numbers{2}));
  EXPECT_EQ(by(2, 2.78), (numbers{2}));
  EXPECT_EQ(by(2, 2.82), (numbers{4}));
  auto linear = candidate(100);
  linear.speedup = [](unsigned members) { return members; };
  EXPECT_EQ(choose_members({linear}, 8, 7), (numbers{8}));
}

TEST(Gangs, MembersArePowersOfTwoUpToTheParts) {
  EXPECT_EQ(choose_members({candidate(100)}, 4, UINT64_MAX), (numbers{4}));
  EXPECT_EQ(choose_members({candidate(100)}, 8, 2), (numbers{2}));
  EXPECT_EQ(choose_members({candidate(100)}, 8, 3), (numbers{4}));
  EXPECT_EQ(choose_members({candidate(100, 2)}, 8, 1), (numbers{2}));
  EXPECT_EQ(choose_members({candidate(100, 2)}, 8, 2), (numbers{4}));
  EXPECT_EQ(choose_members({candidate(100, 8)}, 8, 100), (numbers{8}));
  EXPECT_EQ(choose_members({}, 8, 100), (numbers{}));
}

TEST(Gangs, MembersThatGainTooLittleAreNotAsked) {
  // A second one saves 100 - 100 / 1.8 = 44.4 s.
  EXPECT_EQ(choose_members({candidate(100, 1, 44)}, 2, 1), (numbers{2}));
  EXPECT_EQ(choose_members({candidate(100, 1, 45)}, 2, 1), (numbers{1}));
  EXPECT_EQ(choose_members({candidate(100, 1, 45)}, 4, 3), (numbers{4}));
  EXPECT_EQ(choose_members({candidate(100, 1, 45), candidate(50)}, 2, 1),
            (numbers{1, 1}));
  auto slow = candidate(100);
  slow.speedup = [](unsigned members) { return members > 2 ? 1.9 : members; };
  EXPECT_EQ(choose_members({slow}, 8, 7), (numbers{2}));
}

TEST(Gangs, MembersGoToPathsThatLastLonger) {
  EXPECT_EQ(choose_members({candidate(100, 4), candidate(100)}, 8, 0),
            (numbers{2, 2}));
  EXPECT_EQ(choose_members({candidate(100, 2), candidate(300)}, 8, 0),
            (numbers{1, 2}));
  // As long as that saves enough: here 100 - 100 / 1.8 = 44.4 s.
  EXPECT_EQ(choose_members({candidate(100, 4, 44), candidate(100)}, 8, 0),
            (numbers{2, 2}));
  EXPECT_EQ(choose_members({candidate(100, 4, 45), candidate(100)}, 8, 0),
            (numbers{4, 1}));
  // Of all that would change, none may be worth more.
  EXPECT_EQ(choose_members(
              {candidate(100, 4), candidate(40, 2, 44), candidate(100)}, 8, 0),
            (numbers{2, 1, 2}));
  EXPECT_EQ(choose_members(
              {candidate(100, 4), candidate(40, 2, 45), candidate(100)}, 8, 0),
            (numbers{4, 2, 1}));
  // The longest one cannot have more.
  EXPECT_EQ(choose_members({candidate(100, 4), candidate(600, 8)}, 8, 0),
            (numbers{4, 8}));
}

TEST(Gangs, NoDivisionNeedsMoreTrainersThanThereAreOrEndsLater) {
  std::mt19937 rng{1};
  for (int round = 0; round < 2000; ++round) {
    std::vector<gang_candidate> all(1 + rng() % 6);
    std::uint64_t trainers = rng() % 10;
    const auto idle = trainers;
    for (auto& x : all) {
      x = candidate(static_cast<double>(1 + rng() % 1000), 1u << rng() % 4,
                    static_cast<double>(rng() % 100));
      trainers += x.members;
    }
    const auto floor = static_cast<double>(rng() % 300);
    const auto end = [&](const numbers& members) {
      double result = floor;
      for (std::size_t i = 0; i < all.size(); ++i)
        result = std::max(result, all[i].left / all[i].speedup(members[i]));
      return result;
    };
    numbers before;
    for (const auto& x : all)
      before.push_back(x.members);
    const auto after = choose_members(all, 8, idle, floor);
    ASSERT_LE(std::accumulate(after.begin(), after.end(), 0u), trainers);
    if (after != before) {
      ASSERT_LT(end(after), end(before)) << round;
    }
  }
}

TEST(Gangs, NobodyHelpsToMeasureAlone) {
  EXPECT_EQ(choose_members({{9, 0, 1, 0, candidate(1).speedup}}, 8, 7),
            (numbers{1}));
}

TEST(Gangs, OnlyPartsOfABatchAreShared) {
  const auto parts_of = [](const std::string& name) {
    workload_spec spec{name, {{parts_option, scalar{8.0}}}};
    for (const auto& x : built_in_workloads())
      if (x.name == name)
        return parts_of_batch(x, spec);
    return 0u;
  };
  EXPECT_EQ(parts_of("cifar-resnet56"), 8u);
  EXPECT_EQ(parts_of("clicks-dlrm"), 1u);
  EXPECT_EQ(parts_of("graph-sage-full"), 1u);
  workload_descriptor known;
  known.hyper_parameters.emplace_back().min_option = parts_option;
  for (const auto& [parts, expected] : std::vector<std::pair<double, unsigned>>{
         {1, 1}, {2, 2}, {3, 1}, {64, 64}, {128, 1}, {0, 1}, {-2, 1}})
    EXPECT_EQ(parts_of_batch(known, {"x", {{parts_option, scalar{parts}}}}),
              expected)
      << parts;
  EXPECT_EQ(parts_of_batch(known, {"x", {}}), 1u);
}

TEST(Gangs, LossesAreCountedByNodeAndByTrainer) {
  gang_losses x;
  const trainer_id bad{3};
  const std::vector<stage> stages{{node_id{1}, 0, 5, {}},
                                  {node_id{2}, 5, 9, {}}};
  for (unsigned i = 0; i < gang_losses::losses_max; ++i) {
    EXPECT_TRUE(x.may_share(stages) && x.may_join(bad));
    x.note_lost(node_id{2}, bad, "no torch, " + std::to_string(i));
  }
  EXPECT_EQ(x.reason(bad), "no torch, 2");
  EXPECT_EQ(x.reason(trainer_id{4}), "");
  EXPECT_FALSE(x.may_share(stages));
  EXPECT_TRUE(x.may_share({stages.front()}));
  EXPECT_FALSE(x.may_join(bad));
  EXPECT_TRUE(x.may_join(trainer_id{4}));
  x.note_ended(bad);
  EXPECT_TRUE(x.may_join(bad));
  EXPECT_EQ(x.reason(bad), "");
}

TEST(Gangs, AnErrorNamesAMemberByItsAddress) {
  const gang_place gang{lease_id{1}, {"a:40", "a:401", "b:40"}, 0, "s"};
  EXPECT_EQ(named_member(gang, "member 1 (a:401) is silent"), 1u);
  EXPECT_EQ(named_member(gang, "lost a:40"), 0u);
  EXPECT_EQ(named_member(gang, "lost b:40: closed"), 2u);
  EXPECT_EQ(named_member(gang, "lost somebody"), std::nullopt);
}

TEST(Gangs, SecretsDifferByKeyAndLease) {
  const auto one = gang_secret("key", lease_id{1});
  EXPECT_EQ(one, gang_secret("key", lease_id{1}));
  EXPECT_NE(one, gang_secret("key", lease_id{2}));
  EXPECT_NE(one, gang_secret("yek", lease_id{1}));
  EXPECT_GE(one.size(), 32u);
}

// -- decisions of a merger
// -------------------------------------------------------

merger_options with_parts(unsigned parts) {
  merger_options result;
  result.parts = parts;
  result.gang_key = "key";
  return result;
}

/// A merger that has saved a checkpoint, and trainers that wait for demand.
struct gang_world : merge_world {
  explicit gang_world(unsigned trainers_there,
                      merger_options options = with_parts(4))
    : merge_world(std::move(options)) {
    add_study(each_three);
    apply(merge_event::started{});
    train(0, {constant(.9)}, 9);
    grant();
    run_all();
    for (unsigned i = 1; i < trainers_there; ++i)
      join("model");
    // Later paths have measured ones of their like.
    sent_leases.clear();
  }

  /// Grants and answers all that is asked for, but trains nothing.
  void settle() {
    for (int i = 0; i < 10'000; ++i) {
      if (!commits.empty())
        commit_one();
      else if (grant_for_demand() || grant_helper())
        continue;
      else if (!demands.empty())
        answer_demand();
      else
        return;
    }
    ADD_FAILURE() << "trainers come and go";
  }

  /// The lead of the only gang.
  std::pair<trainer_id, lease_id> lead() const {
    const auto all = leads();
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }

  /// A path for which a gang of so many has begun.
  void begin_gang(std::size_t members, double rate = .1) {
    train(0, {constant(rate)}, 9);
    settle();
    for (const auto& [id, x] : trainers)
      if (const auto number = first_lease(x)) {
        pass(1);
        step(id, *number);
        break;
      }
    settle();
    ASSERT_EQ(leads().size(), 1u);
    ASSERT_EQ(members_of(lead().second).size(), members);
  }

  /// A path is trained by one trainer alone, though others are idle.
  void expect_nobody_joins() {
    train(0, {constant(.1)}, 9);
    settle();
    EXPECT_EQ(core.leases().trainers(), 1u);
    expect_done();
    for (const auto& [id, work] : sent_leases)
      EXPECT_FALSE(work.gang);
  }

  static std::optional<lease_id> first_lease(const trainer& which) {
    return which.jobs.empty() ? std::nullopt
                              : std::optional{which.jobs.begin()->first};
  }

  void expect_done() {
    run_all();
    EXPECT_TRUE(core.leases().leases().empty());
    EXPECT_TRUE(unanswered.empty());
    expect_results_as_alone(0, each_three);
  }
};

TEST(Gangs, IdleTrainersJoinThePathInTraining) {
  gang_world x{6};
  x.begin_gang(4);
  const auto [trainer, number] = x.lead();
  EXPECT_EQ(x.sent_leases.size(), 5u); // alone first
  EXPECT_EQ(x.core.status().running.size(), 4u);
  for (const auto& y : x.core.status().running) {
    EXPECT_EQ(y.members, 4u);
    EXPECT_EQ(y.at, 1u);
  }
  // Two more are of no use.
  EXPECT_EQ(x.core.leases().trainers(), 4u);
  EXPECT_EQ(x.wanted_helpers.trainers, 0u);
  EXPECT_EQ(x.wanted_helpers.helping.size(), 3u);
  // The time of all counts.
  const auto before = x.core.overview();
  x.pass(10);
  x.step(trainer, number);
  x.apply(merge_event::time_passed{});
  const auto after = x.core.overview();
  EXPECT_DOUBLE_EQ(after.busy_seconds - before.busy_seconds, 40);
  EXPECT_DOUBLE_EQ(
    after.study_seconds[study_no{}] - before.study_seconds[study_no{}], 40);
  EXPECT_EQ(after.timeline.size() - before.timeline.size(), 4u);
  EXPECT_EQ(after.status.trained_steps, x.trained);
  for (const auto& y : x.core.status().running)
    EXPECT_EQ(y.at, 3u);
  x.expect_done();
  EXPECT_EQ(x.trained, x.distinct());
}

TEST(Gangs, NobodyJoinsWithoutPartsOrAKeyOrAnAddress) {
  for (int i = 0; i < 3; ++i) {
    auto options = with_parts(i == 0 ? 1 : 4);
    if (i == 1)
      options.gang_key.clear();
    gang_world x{4, options};
    if (i == 2)
      for (auto& [id, y] : x.trainers)
        y.is_reached = false;
    x.expect_nobody_joins();
  }
}

TEST(Gangs, NobodyJoinsWhileAStudyHasABudgetOfDeviceTimeOrCost) {
  for (int i = 0; i < 2; ++i) {
    gang_world x{4};
    const auto limited = std::optional{1e6};
    x.add_study(each_three, 1, false, {}, i == 0 ? limited : std::nullopt,
                i == 1 ? limited : std::nullopt);
    x.expect_nobody_joins();
  }
}

TEST(Gangs, NobodyJoinsOneOfTwoEqualPaths) {
  gang_world x{3};
  x.train(0, {x.constant(.1)}, 9);
  x.train(0, {x.constant(.2)}, 9);
  x.settle();
  EXPECT_EQ(x.core.leases().leases().size(), 2u);
  x.expect_done();
  for (const auto& [id, work] : x.sent_leases)
    EXPECT_TRUE(!work.gang || work.gang->members.size() <= 2);
}

TEST(Gangs, MembersOfOtherKindsAreNotJoined) {
  gang_world x{1};
  x.join("other");
  x.join("other");
  x.train(0, {x.constant(.1)}, 9);
  x.settle();
  EXPECT_EQ(x.core.leases().trainers(), 1u);
  x.expect_done();
}

TEST(Gangs, PathsComeFirst) {
  gang_world x{4};
  x.begin_gang(4);
  const auto lead = x.lead();
  x.train(0, {x.constant(.2)}, 9);
  EXPECT_TRUE(x.sent_stops.empty() || !x.sent_stops.back().stop.point.last
              || x.sent_stops.back().stop.lease != lead.second)
    << "the pool may have a trainer";
  x.settle();
  ASSERT_FALSE(x.sent_stops.empty());
  EXPECT_EQ(x.sent_stops.back().stop.lease, lead.second);
  EXPECT_TRUE(x.sent_stops.back().stop.point.last);
  x.sent_leases.clear();
  x.pass(1);
  x.step(lead.first, lead.second);
  // Both have a trainer, and the others divide themselves.
  std::set<lease_id> own;
  for (const auto& [id, work] : x.sent_leases)
    own.insert(work.gang ? work.gang->lead : work.number);
  EXPECT_EQ(own.size(), 2u);
  x.expect_done();
}

TEST(Gangs, MembersMoveToAPathThatWouldEndLater) {
  gang_world x{5};
  x.begin_gang(4);
  const auto lead = x.lead();
  x.sent_stops.clear();
  x.train(0, {x.constant(.2)}, 9);
  x.settle(); // the fifth trainer begins it
  ASSERT_EQ(x.sent_stops.size(), 1u);
  EXPECT_EQ(x.sent_stops.back().stop.lease, lead.second);
  EXPECT_TRUE(x.sent_stops.back().stop.point.last);
  x.pass(1);
  x.step(lead.first, lead.second);
  x.settle();
  EXPECT_EQ(x.members_of(x.lead().second).size(), 2u);
  // The other one ends early as well, to be joined.
  for (const auto& [id, y] : x.trainers)
    if (const auto number = x.first_lease(y);
        number && x.core.leases().find(*number)->members() == 1) {
      x.pass(1);
      x.step(id, *number);
      break;
    }
  x.settle();
  const auto leads = x.leads();
  ASSERT_EQ(leads.size(), 2u);
  for (const auto& [id, number] : leads)
    EXPECT_EQ(x.members_of(number).size(), 2u);
  x.expect_done();
}

TEST(Gangs, AStudyThatWantsCapacityComesFirst) {
  gang_world x{4};
  x.begin_gang(4);
  const auto lead = x.lead();
  x.studies[0].wants_capacity = true;
  x.give(0, x.orders_of(0));
  x.settle();
  EXPECT_TRUE(x.sent_stops.back().stop.point.last);
  x.pass(1);
  x.step(lead.first, lead.second);
  EXPECT_EQ(x.studies[0].offered, 3u);
  x.studies[0].wants_capacity = false;
  x.give(0, x.orders_of(0));
  x.expect_done();
}

TEST(Gangs, AHelperThatOthersNeedIsReleased) {
  gang_world x{4};
  x.begin_gang(4);
  const auto lead = x.lead();
  const auto follower = x.members_of(lead.second).at(2);
  x.apply(merge_event::yield_asked{follower.first});
  EXPECT_EQ(x.sent_stops.back().stop.lease, lead.second);
  x.pass(1);
  x.step(lead.first, lead.second);
  EXPECT_FALSE(x.trainers.at(follower.first).granted);
  EXPECT_EQ(x.members_of(x.lead().second).size(), 2u);
  x.expect_done();
}

TEST(Gangs, LostGangsAreNoAttemptsAndThreeOfThemEndJoining) {
  for (const bool is_lead : {false, true}) {
    auto options = with_parts(2);
    options.attempts_max = 1;
    gang_world x{2, options};
    x.begin_gang(2);
    for (unsigned i = 0; i < gang_losses::losses_max; ++i) {
      ASSERT_EQ(x.leads().size(), 1u) << i;
      const auto lead = x.lead();
      if (is_lead) {
        x.lose(lead.first, "killed");
      } else {
        x.lose(x.members_of(lead.second).at(1).first, "killed");
        x.end(lead.first, lead.second,
              error{errc::gang_lost, "member 1 is gone"});
      }
      x.join("model");
      x.settle();
      // A trainer that goes on alone joins at its next step.
      if (const auto& running = x.core.leases().leases(); running.size() == 1) {
        x.pass(1);
        x.step(running.begin()->second.trainer, running.begin()->first);
        x.settle();
      }
    }
    EXPECT_TRUE(x.leads().empty());
    EXPECT_TRUE(x.studies[0].failed.empty());
    x.expect_done();
  }
}

TEST(Gangs, AFollowerThatFailsBreaksItsGangAndCostsNoAttempt) {
  for (const auto code : {errc::io_failed, errc::training_failed,
                          errc::cannot_start, errc::cancelled}) {
    auto options = with_parts(2);
    options.attempts_max = 1;
    gang_world x{2, options};
    x.begin_gang(2);
    const auto lead = x.lead();
    const auto follower = x.members_of(lead.second).at(1);
    x.end(follower.first, follower.second, error{code, "by itself"});
    EXPECT_FALSE(x.trainers.at(follower.first).granted);
    EXPECT_EQ(x.cool_downs.size(),
              code == errc::io_failed || code == errc::cannot_start ? 1u : 0u);
    x.end(lead.first, lead.second, error{errc::gang_lost, "lost member 1"});
    x.expect_done();
    EXPECT_TRUE(x.studies[0].failed.empty());
  }
}

TEST(Gangs, AHelperThatMayNotJoinDoesNotComeAndGo) {
  gang_world x{2, with_parts(2)};
  for (int i = 0; i < 6; ++i) {
    x.train(0, {x.constant(.01 * (i + 1))}, 9);
    x.settle();
    const auto running = x.core.leases().leases(); // as they are now
    for (const auto& [number, y] : running)
      if (!y.is_follower()) {
        x.pass(1);
        x.step(y.trainer, number);
      }
    x.settle();
    if (x.leads().empty())
      break;
    const auto lead = x.lead();
    const auto follower = x.members_of(lead.second).at(1);
    x.end(follower.first, follower.second,
          error{errc::training_failed, "never"});
    x.end(lead.first, lead.second, error{errc::gang_lost, "lost member 1"});
    x.run_all();
  }
  const auto grants = x.grants_made;
  x.train(0, {x.constant(.5)}, 9);
  x.settle();
  EXPECT_LE(x.grants_made, grants + 2);
  x.expect_done();
}

TEST(Gangs, AFailureOfTheLeadIsAnAttempt) {
  auto options = with_parts(2);
  options.attempts_max = 1;
  gang_world x{2, options};
  x.begin_gang(2);
  const auto lead = x.lead();
  x.end(lead.first, lead.second, error{errc::training_failed, "code"});
  x.expect_done();
  EXPECT_EQ(x.studies[0].failed.size(), 1u);
}

TEST(Gangs, WhoTrainsAloneCannotLoseAGang) {
  auto options = with_parts(2);
  options.attempts_max = 1;
  gang_world x{1, options};
  x.train(0, {x.constant(.1)}, 9);
  x.settle();
  const auto id = x.core.leases().leases().begin()->second.trainer;
  x.end(id, x.lease_of(id), error{errc::gang_lost, "whom?"});
  x.expect_done();
  EXPECT_EQ(x.studies[0].failed.size(), 1u);
}

TEST(Gangs, ALeadThatGoesOnWithoutItsFollowerIsCancelled) {
  gang_world x{2, with_parts(2)};
  x.begin_gang(2);
  const auto lead = x.lead();
  const auto follower = x.members_of(lead.second).at(1);
  x.end(follower.first, follower.second); // so it says
  EXPECT_TRUE(x.cancelled.empty());
  for (int i = 0; i < 90; ++i) {
    x.pass(1);
    x.apply(merge_event::heartbeat{follower.first, lease_id{}, 0});
    x.heartbeat(lead.first, lead.second);
    EXPECT_EQ(x.cancelled.size(), i < 60 ? 0u : 1u) << i;
  }
  x.obey_cancels();
  x.expect_done();
}

TEST(Gangs, AFollowerThatSaysItIsIdleBreaksItsGang) {
  gang_world x{2, with_parts(2)};
  x.begin_gang(2);
  const auto lead = x.lead();
  const auto follower = x.members_of(lead.second).at(1);
  x.heartbeat(follower.first, follower.second);
  for (int i = 0; i < 9; ++i) {
    x.pass(1);
    x.apply(merge_event::heartbeat{follower.first, lease_id{}, 0});
    x.trainers.at(follower.first).jobs.clear();
  }
  EXPECT_FALSE(x.core.leases().has(follower.first));
  x.end(lead.first, lead.second, error{errc::gang_lost, "silent"});
  x.expect_done();
}

TEST(Gangs, AFollowerThatIsStillDoesNotStall) {
  auto options = with_parts(2);
  options.stall_max = std::chrono::seconds{5};
  options.unmeasured_stall_max = std::chrono::seconds{5};
  gang_world x{2, options};
  x.begin_gang(2);
  const auto lead = x.lead();
  const auto follower = x.members_of(lead.second).at(1);
  for (int i = 0; i < 200; ++i) {
    x.pass(1);
    x.apply(merge_event::heartbeat{follower.first, follower.second, 1});
  }
  EXPECT_TRUE(x.stalled.empty());
  for (int i = 0; i < 200 && x.stalled.empty(); ++i) {
    x.pass(1);
    x.heartbeat(lead.first, lead.second);
  }
  ASSERT_EQ(x.stalled.size(), 1u);
  EXPECT_EQ(x.stalled[0].trainer, lead.first);
  EXPECT_TRUE(x.trainers.at(follower.first).jobs.empty()
              || x.members_of(lead.second).empty());
  x.join("model");
  x.expect_done();
}

TEST(Gangs, AReportOfAFollowerIsNotBelieved) {
  gang_world x{2, with_parts(2)};
  x.begin_gang(2);
  const auto lead = x.lead();
  const auto follower = x.members_of(lead.second).at(1);
  auto job = x.trainers.at(follower.first).jobs.at(follower.second);
  x.report(x.train_to(job, job.work.stops.back()));
  ASSERT_EQ(x.cancelled.size(), 1u);
  EXPECT_EQ(x.cancelled[0].second, follower.second);
  x.obey_cancels();
  x.end(lead.first, lead.second, error{errc::gang_lost, "lost member 1"});
  x.expect_done();
}

TEST(Gangs, AFollowerThatLeavesEndsTheGangInGoodOrder) {
  gang_world x{2, with_parts(2)};
  x.begin_gang(2);
  const auto lead = x.lead();
  x.apply(merge_event::able_trainers{{{lead.first, "model"}}});
  ASSERT_FALSE(x.sent_stops.empty());
  EXPECT_EQ(x.sent_stops.back().stop.lease, lead.second);
  EXPECT_TRUE(x.sent_stops.back().stop.point.last);
  x.expect_done();
}

TEST(Gangs, ALateReportOfALostLeadCounts) {
  gang_world x{2, with_parts(2)};
  x.begin_gang(2);
  const auto lead = x.lead();
  auto job = x.trainers.at(lead.first).jobs.at(lead.second);
  const auto late = x.train_to(job, job.work.stops.at(job.next_stop));
  x.lose(lead.first, "killed");
  x.report(late);
  x.join("model");
  x.expect_done();
}

TEST(Gangs, AllEndAtAHaltOrWhenTheMergerRetires) {
  for (const bool retires : {false, true}) {
    gang_world x{4};
    x.begin_gang(4);
    const auto lead = x.lead();
    if (retires)
      x.apply(merge_event::retiring{});
    else
      x.apply(merge_event::halted{});
    if (retires) {
      ASSERT_EQ(x.cancelled.size(), 1u);
      EXPECT_EQ(x.cancelled[0].second, lead.second);
      x.obey_cancels();
    } else {
      EXPECT_EQ(x.sent_stops.back().stop.lease, lead.second);
      x.step(lead.first, lead.second);
    }
    x.run_all();
    EXPECT_TRUE(x.core.leases().leases().empty());
    EXPECT_EQ(x.core.leases().trainers(), 0u);
    EXPECT_EQ(x.retired.size(), retires ? 1u : 0u);
  }
}

TEST(Gangs, TheSpeedOfAGangIsLearned) {
  time_estimates x{{"batch_size"}};
  const std::string kind = "cpu";
  EXPECT_DOUBLE_EQ(x.speedup(&kind, "64;", 4), 3.24);
  // Before a step alone was measured, its time follows.
  x.learn_gang_step("64;", 10, 10, kind, 2);
  EXPECT_DOUBLE_EQ(x.step_seconds("64;", &kind), 1.8);
  EXPECT_DOUBLE_EQ(x.speedup(&kind, "64;", 2), 1.8);
  x.learn_gang_step("64;", 10, 12, kind, 2);
  EXPECT_DOUBLE_EQ(x.step_seconds("64;", &kind), 1.8);
  EXPECT_DOUBLE_EQ(x.speedup(&kind, "64;", 2), 1.5);
  // So are other numbers, and other keys.
  EXPECT_DOUBLE_EQ(x.speedup(&kind, "64;", 4), 1.5 * 1.8);
  EXPECT_DOUBLE_EQ(x.speedup(&kind, "128;", 2), 1.5);
  EXPECT_DOUBLE_EQ(x.speedup(nullptr, "64;", 2), 1.8);
  EXPECT_DOUBLE_EQ(x.speedup(&kind, "64;", 1), 1);
}

// -- everything at once -------------------------------------------------------

/// Members share parts. Little time passes between two events, so that handing
/// over costs little.
struct parts_chaos : test::gang_chaos {
  explicit parts_chaos(std::uint32_t seed)
    : gang_chaos(seed, with_parts(2u << seed % 3),
                 {.turn_ms = 30, .leases = 2, .trainers = 9}) {}

  bool grant_any() override { return grant_for_demand() || grant_helper(); }

  void settle() override {
    run_all();
    obey_cancels();
    pass(61);
    join("model");
  }
};

class GangChaos : public testing::TestWithParam<std::uint32_t> {};

TEST_P(GangChaos, EverythingIsTrainedAsAlone) {
  test::expect_all_is_trained_as_alone<parts_chaos>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, GangChaos, testing::Range(0u, 12u));

} // namespace
} // namespace hippo
