#include <algorithm>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/model/workload_descriptor.hpp"
#include "hippo/service/merge/collecting.hpp"
#include "hippo/service/merge/gangs.hpp"
#include "merge/gang_chaos.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

using test::merge_world;

using test::each_three;

// -- how long trainers are collected ------------------------------------------

TEST(Collecting, OthersGetTrainersAfterTenSeconds) {
  collecting x;
  const trainer_id a{1};
  const trainer_id b{2};
  x.hold({a}, moment{});
  x.hold({a, b}, moment{8s});
  EXPECT_FALSE(x.is_due(moment{100s})) << "nobody needs them";
  EXPECT_TRUE(x.ask_back(b));
  EXPECT_TRUE(x.is_asked_back(b) && !x.is_asked_back(a));
  EXPECT_FALSE(x.is_due(moment{17s}));
  EXPECT_TRUE(x.is_due(moment{18s}));
  EXPECT_FALSE(x.ask_back(trainer_id{3}));
  x.hold({a}, moment{18s});
  EXPECT_FALSE(x.is_due(moment{100s}) || x.is_asked_back(b));
}

TEST(Collecting, RestsAreLongerEachTimeUntilAPathBegins) {
  collecting x;
  std::vector<std::int64_t> spans;
  for (int i = 0; i < 7; ++i)
    spans.push_back(x.give_back() / 1s);
  EXPECT_EQ(spans, (std::vector<std::int64_t>{10, 20, 40, 80, 160, 240, 240}));
  x.note_begun();
  EXPECT_EQ(x.give_back(), 10s);
}

// -- decisions of a merger ----------------------------------------------------

merger_options with_ranks(std::uint32_t ranks) {
  merger_options result;
  result.workload.name = std::string{python_workload};
  result.workload.options["ranks"] = scalar{static_cast<double>(ranks)};
  result.gang_key = "key";
  return result;
}

/// A merger of trials of several ranks, and trainers that are granted by hand.
struct rank_world : merge_world {
  explicit rank_world(std::uint32_t ranks = 4,
                      merger_options options = {}) // its other fields
    : merge_world(with(std::move(options), ranks)) {
    add_study(each_three);
    apply(merge_event::started{});
  }

  static merger_options with(merger_options chosen, std::uint32_t ranks) {
    const auto those = with_ranks(ranks);
    chosen.workload = those.workload;
    chosen.gang_key = those.gang_key;
    return chosen;
  }

  std::vector<trainer_id> grant_some(unsigned count, std::uint32_t ranks = 1,
                                     const std::string& kind = "model") {
    std::vector<trainer_id> result;
    for (unsigned i = 0; i < count; ++i) {
      const auto id = join(kind, ranks);
      grant(id);
      result.push_back(id);
    }
    return result;
  }

  /// Grants and answers all that is asked for, but trains nothing.
  void settle() {
    for (int i = 0; i < 10'000; ++i) {
      if (!commits.empty())
        commit_one();
      else if (grant_for_demand())
        continue;
      else if (!demands.empty())
        answer_demand();
      else
        return;
    }
    ADD_FAILURE() << "trainers come and go";
  }

  [[nodiscard]] std::pair<trainer_id, lease_id> lead() const {
    const auto all = leads();
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }

  [[nodiscard]] std::size_t held() const { return core.leases().trainers(); }

  /// Those that are here say that they are idle.
  void beat() {
    std::vector<trainer_id> idle;
    for (const auto& [id, x] : trainers)
      if (x.granted && x.jobs.empty())
        idle.push_back(id);
    for (auto id : idle)
      apply(merge_event::heartbeat{id, lease_id{}, 0});
  }

  void lose_gang(const std::string& culprit) {
    const auto [id, number] = lead();
    end(id, number, error{errc::gang_lost, "lost " + culprit});
  }

  void expect_done() {
    run_all();
    EXPECT_TRUE(core.leases().leases().empty());
    EXPECT_EQ(held(), 0u);
    EXPECT_TRUE(unanswered.empty());
    expect_results_as_alone(0, each_three);
  }
};

TEST(Ranks, TrainersAreCollectedUntilAllRanksAreThere) {
  rank_world x;
  x.train(0, {x.constant(.1)}, 9);
  EXPECT_EQ(x.wanted, 1u) << "it is not known how many are needed";
  std::vector<std::uint64_t> wanted;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(x.sent_leases.empty());
    x.grant_some(1);
    wanted.push_back(x.wanted);
  }
  EXPECT_EQ(wanted, (std::vector<std::uint64_t>{3, 2, 1, 0}));
  ASSERT_EQ(x.sent_leases.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto& work = x.sent_leases[i].second;
    ASSERT_TRUE(work.gang);
    EXPECT_EQ(work.gang->rank, i);
    EXPECT_EQ(work.gang->members.size(), 4u);
  }
  EXPECT_TRUE(x.wanted_helpers.helping.empty());
  // The time of all counts.
  const auto [trainer, number] = x.lead();
  x.pass(10);
  x.step(trainer, number);
  x.apply(merge_event::time_passed{});
  const auto after = x.core.overview();
  EXPECT_DOUBLE_EQ(after.busy_seconds, 40);
  EXPECT_DOUBLE_EQ(after.study_seconds[study_no{}], 40);
  EXPECT_EQ(after.status.running.size(), 4u);
  x.expect_done();
  EXPECT_EQ(x.trained, x.distinct());
}

TEST(Ranks, DemandIsOfTrainersForEachPath) {
  rank_world x;
  x.train(0, {x.constant(.1), x.constant(.2), x.constant(.3)}, 9);
  x.grant_some(1, 2);
  EXPECT_EQ(x.wanted, 1u); // all begin at step 0
  x.grant_some(1, 2);
  EXPECT_EQ(x.wanted, 2u); // one has begun
  // Trainers of another kind come closest to a whole.
  x.grant_some(3, 1);
  EXPECT_EQ(x.wanted, 1u);
  EXPECT_EQ(x.wanted_helpers.helping.size(), 3u);
  x.grant_some(1, 4);
  EXPECT_EQ(x.core.leases().leases().size(), 3u);
  EXPECT_EQ(x.wanted, 1u);
  x.expect_done();
}

TEST(Ranks, OneThatHoldsAllTrainsAlone) {
  rank_world x;
  x.train(0, {x.constant(.1)}, 9);
  x.grant_some(3);
  x.grant_some(1, 4);
  ASSERT_EQ(x.sent_leases.size(), 1u);
  EXPECT_FALSE(x.sent_leases[0].second.gang);
  EXPECT_EQ(x.held(), 1u) << "the others have nothing to wait for";
  x.expect_done();
}

TEST(Ranks, TrainersOfOtherKindsOrRanksAreNotJoined) {
  rank_world x;
  x.train(0, {x.constant(.1)}, 9);
  x.grant_some(2, 1);
  x.grant_some(1, 2);
  x.grant_some(2, 1, "other");
  x.grant_some(1, 2, "other");
  EXPECT_TRUE(x.sent_leases.empty());
  EXPECT_EQ(x.held(), 6u);
  x.grant_some(1, 2);
  ASSERT_EQ(x.sent_leases.size(), 2u);
  EXPECT_EQ(x.held(), 2u);
  x.expect_done();
}

TEST(Ranks, OthersGetCollectedTrainersWithinTenSeconds) {
  rank_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto those = x.grant_some(3);
  EXPECT_EQ(x.wanted_helpers.helping, std::set(those.begin(), those.end()));
  for (int i = 0; i < 60; ++i) { // nobody needs them
    x.pass(1);
    x.beat();
  }
  EXPECT_EQ(x.held(), 3u);
  x.apply(merge_event::yield_asked{those[1]});
  EXPECT_EQ(x.held(), 0u);
  ASSERT_EQ(x.cool_downs.size(), 3u);
  for (const auto& y : x.cool_downs) {
    EXPECT_TRUE(y.joined && y.unable.empty());
    EXPECT_EQ(y.span, 10s);
  }
  EXPECT_EQ(x.wanted, 4u);
  // Asked for at once, they stay for the rest of the time.
  for (auto id : those)
    x.grant(id);
  x.apply(merge_event::yield_asked{those[0]});
  for (int i = 0; i < 9; ++i) {
    x.pass(1);
    x.beat();
    EXPECT_EQ(x.held(), 3u) << i;
  }
  x.pass(1);
  x.beat();
  EXPECT_EQ(x.held(), 0u);
  EXPECT_EQ(x.cool_downs.back().span, 20s);
  // A path that begins ends that.
  x.join("model");
  x.pass(20);
  x.settle();
  EXPECT_EQ(x.leads().size(), 1u);
  const auto [trainer, number] = x.lead();
  x.end(trainer, number, error{errc::gang_lost, "lost somebody"});
  x.lose(those[0]);
  x.apply(merge_event::yield_asked{those[1]});
  x.pass(10);
  x.beat();
  EXPECT_EQ(x.cool_downs.back().span, 10s);
  x.join("model");
  x.pass(10);
  x.expect_done();
}

TEST(Ranks, APathOnTrainersThatOthersNeedEndsSoon) {
  rank_world x{2};
  x.train(0, {x.constant(.1)}, 9);
  const auto first = x.grant_some(1).front();
  x.apply(merge_event::yield_asked{first});
  x.grant_some(1);
  const auto [trainer, number] = x.lead();
  ASSERT_FALSE(x.sent_stops.empty());
  EXPECT_EQ(x.sent_stops.back().stop.lease, number);
  EXPECT_TRUE(x.sent_stops.back().stop.point.last);
  x.pass(1);
  x.step(trainer, number);
  EXPECT_EQ(x.held(), 0u) << "both are free";
  EXPECT_EQ(x.wanted, 2u);
  x.expect_done();
}

TEST(Ranks, AllAreFreeOnceAMemberIsNeededMore) {
  for (const std::uint32_t rank : {0u, 2u}) {
    rank_world x;
    x.train(0, {x.constant(.1), x.constant(.2)}, 9);
    x.grant_some(4);
    const auto [trainer, number] = x.lead();
    x.apply(merge_event::yield_asked{x.members_of(number).at(rank).first});
    EXPECT_EQ(x.sent_stops.back().stop.lease, number);
    x.pass(1);
    x.step(trainer, number);
    EXPECT_EQ(x.held(), 0u);
    EXPECT_TRUE(x.cool_downs.empty());
    x.expect_done();
  }
}

TEST(Ranks, MembersGoOnWithTheNextPath) {
  rank_world x{2};
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto those = x.grant_some(2);
  for (int i = 0; i < 3; ++i) {
    x.pass(1);
    x.step(x.lead().first, x.lead().second);
  }
  EXPECT_EQ(x.held(), 2u);
  EXPECT_EQ(x.lead().first, those[0]);
  x.expect_done();
}

TEST(Ranks, BudgetsOfDeviceTimeAreOfAllMembers) {
  rank_world x{2};
  x.add_study(each_three, 1, false, {}, 15.0);
  x.train(1, {x.constant(.1)}, 9);
  x.grant_some(2);
  ASSERT_EQ(x.leads().size(), 1u);
  x.pass(7);
  x.beat();
  x.apply(merge_event::time_passed{});
  EXPECT_EQ(x.studies[1].spent, 0u);
  x.pass(1);
  x.apply(merge_event::time_passed{});
  EXPECT_EQ(x.studies[1].spent, 1u);
}

TEST(Ranks, AStudyIsOfferedATrialForAllTrainersOfOne) {
  rank_world x;
  x.studies[0].wants_capacity = true;
  x.give(0, x.orders_of(0));
  x.grant_some(3);
  EXPECT_EQ(x.studies[0].offered, 0u);
  EXPECT_EQ(x.held(), 3u);
  x.grant_some(1);
  EXPECT_EQ(x.studies[0].offered, 1u);
  x.studies[0].wants_capacity = false;
  x.train(0, {x.constant(.1)}, 9);
  EXPECT_EQ(x.leads().size(), 1u);
  x.expect_done();
}

TEST(Ranks, OneThatHoldsAllIsTakenBeforeOthersThatAreThere) {
  rank_world x{2};
  x.studies[0].wants_capacity = true;
  x.give(0, x.orders_of(0));
  x.grant_some(2);
  const auto whole = x.grant_some(1, 2).front();
  EXPECT_EQ(x.studies[0].offered, 1u);
  x.studies[0].wants_capacity = false;
  x.train(0, {x.constant(.1)}, 9);
  ASSERT_EQ(x.sent_leases.size(), 1u);
  EXPECT_EQ(x.sent_leases[0].first, whole);
  x.expect_done();
}

TEST(Ranks, TrainersThatCannotBeEnoughAreGivenBack) {
  rank_world x{2};
  x.train(0, {x.constant(.1)}, 9);
  const auto one = x.grant_some(1).front();
  x.apply(merge_event::able_trainers{{{one, "model"}}});
  EXPECT_EQ(x.held(), 1u);
  x.apply(merge_event::able_trainers{});
  EXPECT_EQ(x.held(), 0u);
  x.join("model");
  x.expect_done();
}

TEST(Ranks, APathEndsBeforeTheFirstMemberLeaves) {
  rank_world x{2};
  x.train(0, {x.constant(.2)}, 9);
  x.grant_some(2);
  x.run_all(); // a step takes a second
  x.sent_leases.clear();
  x.train(0, {x.constant(.1)}, 9);
  x.trainers.clear();
  x.grant_some(1);
  x.grant({}, 0, 5.0);
  ASSERT_EQ(x.sent_leases.size(), 2u);
  for (const auto& [id, work] : x.sent_leases)
    EXPECT_LT(work.stages.back().end, 9u);
  x.join("model");
  x.expect_done();
}

TEST(Ranks, NewcomersInterruptWhileTrainersWaitForOthers) {
  rank_world x{2};
  x.train(0, {x.constant(.1)}, 9);
  x.grant_some(2);
  x.pass(40);
  x.add_study(each_three);
  x.train(1, {x.constant(.3)}, 9);
  x.grant_some(1); // it waits for another one
  const auto [trainer, number] = x.lead();
  x.step(trainer, number);
  x.heartbeat(trainer, number);
  EXPECT_TRUE(x.core.leases().find(number)->progress.ends_early);
  x.expect_done();
}

TEST(Ranks, LostGangsAreNoAttempts) {
  for (const bool is_lead : {false, true}) {
    merger_options options;
    options.attempts_max = 1;
    rank_world x{2, options};
    x.train(0, {x.constant(.1)}, 9);
    x.join("model");
    x.join("model");
    x.settle();
    for (unsigned i = 1; i < gang_losses::losses_max; ++i) {
      const auto lead = x.lead();
      x.heartbeat(lead.first, lead.second);
      if (is_lead) {
        x.lose(lead.first, "killed");
      } else {
        x.lose(x.members_of(lead.second).at(1).first, "killed");
        x.end(lead.first, lead.second,
              error{errc::gang_lost, "member 1 is gone"});
      }
      EXPECT_EQ(x.held(), 1u);
      EXPECT_EQ(x.wanted, 1u);
      x.join("model");
      x.settle();
    }
    EXPECT_TRUE(x.studies[0].failed.empty());
    x.expect_done();
  }
}

TEST(Ranks, APathOverWhichGangsAreLostAgainAndAgainFails) {
  for (const bool is_lead : {false, true}) {
    rank_world x{2};
    x.train(0, {x.constant(.1)}, 9);
    x.join("model");
    x.join("model");
    x.settle();
    unsigned lost = 0;
    while (!x.leads().empty() && lost < 20) {
      const auto lead = x.lead();
      x.heartbeat(lead.first, lead.second);
      ++lost;
      if (is_lead) {
        x.lose(lead.first, "killed");
      } else {
        x.lose(x.members_of(lead.second).at(1).first, "killed");
        x.end(lead.first, lead.second,
              error{errc::gang_lost, "member 1 is gone"});
      }
      x.join("model");
      x.settle();
    }
    // The first ones may be chance; then each counts as a trainer lost.
    EXPECT_EQ(lost, gang_losses::losses_max + 2);
    ASSERT_EQ(x.studies[0].failed.size(), 1u);
    EXPECT_EQ(x.held(), 0u);
  }
}

TEST(Ranks, ATrainerThatOthersDoNotReachJoinsNoMore) {
  rank_world x{2};
  x.train(0, {x.constant(.1), x.constant(.2), x.constant(.3)}, 9);
  const auto those = x.grant_some(2);
  for (unsigned i = 0; i < gang_losses::losses_max; ++i) {
    ASSERT_EQ(x.lead().first, those[0]) << i;
    x.lose_gang(x.address_of(those[1]));
  }
  EXPECT_TRUE(x.leads().empty());
  EXPECT_EQ(x.held(), 1u);
  ASSERT_EQ(x.cool_downs.size(), 1u);
  EXPECT_EQ(x.cool_downs[0].trainer, those[1]);
  EXPECT_EQ(x.cool_downs[0].unable,
            "3 gangs in a row were lost because of it: lost "
              + x.address_of(those[1]));
  EXPECT_FALSE(x.cool_downs[0].joined);
  // Should it be granted again.
  x.grant(those[1]);
  EXPECT_EQ(x.held(), 1u);
  EXPECT_TRUE(x.studies[0].failed.empty());
  x.grant_some(1);
  EXPECT_EQ(x.leads().size(), 1u);
  x.trainers.at(those[1]).is_reached = false;
  x.expect_done();
}

TEST(Ranks, AFollowerThatFailsCostsNoAttempt) {
  for (const auto code :
       {errc::training_failed, errc::cannot_start, errc::cancelled}) {
    merger_options options;
    options.attempts_max = 1;
    rank_world x{2, options};
    x.train(0, {x.constant(.1)}, 9);
    x.grant_some(2);
    const auto lead = x.lead();
    const auto follower = x.members_of(lead.second).at(1);
    x.end(follower.first, follower.second, error{code, "by itself"});
    EXPECT_FALSE(x.trainers.at(follower.first).granted);
    x.end(lead.first, lead.second, error{errc::gang_lost, "lost member 1"});
    EXPECT_TRUE(x.trainers.at(lead.first).granted);
    x.expect_done();
    EXPECT_TRUE(x.studies[0].failed.empty());
  }
}

TEST(Ranks, AFailureOfCodeIsAnAttempt) {
  merger_options options;
  options.attempts_max = 2;
  rank_world x{2, options};
  x.train(0, {x.constant(.1)}, 9);
  x.join("model");
  x.join("model");
  x.settle();
  std::set<trainer_id> led;
  for (int i = 0; i < 2; ++i) {
    x.apply(merge_event::able_trainers{
      {{trainer_id{1}, "model"}, {trainer_id{2}, "model"}}});
    const auto [id, number] = x.lead();
    led.insert(id);
    x.end(id, number, error{errc::training_failed, "rank 3: ValueError"});
    x.settle();
  }
  EXPECT_EQ(led.size(), 2u) << "another one leads then";
  ASSERT_EQ(x.studies[0].failed.size(), 1u);
  x.expect_done();
}

TEST(Ranks, NobodyWaitsOnceAllIsHalted) {
  rank_world x;
  x.train(0, {x.constant(.1)}, 9);
  x.grant_some(3);
  x.apply(merge_event::halted{});
  EXPECT_EQ(x.held(), 0u);
}

// -- everything at once -------------------------------------------------------

/// Trainers hold one, two or all ranks, and wait for each other.
struct rank_chaos : test::gang_chaos {
  explicit rank_chaos(std::uint32_t seed)
    : gang_chaos(seed, with_ranks(seed % 2 == 0 ? 2 : 4),
                 {.turn_ms = 900, .leases = 4, .trainers = 12}) {
    before_each_event = [this] { // who is unable rests
      for (const auto& x : cool_downs)
        if (!x.unable.empty() && trainers.contains(x.trainer))
          trainers.at(x.trainer).is_reached = false;
      cool_downs.clear();
    };
  }

  void join_any() override { join("model", std::uint32_t{1} << pick(3)); }

  /// Every trainer that is here says what it does. Those that others have
  /// needed for long are not here.
  void prepare_turn() override {
    std::vector<trainer_id> idle;
    for (const auto& [id, x] : trainers)
      if (x.granted && x.jobs.empty())
        idle.push_back(id);
    for (auto id : idle)
      apply(merge_event::heartbeat{id, lease_id{}, 0});
    std::erase_if(asked, [&](const auto& x) {
      return !core.leases().has(x.first)
             || core.leases().trainer(x.first).leases > 0;
    });
    for (const auto& [id, since] : asked)
      EXPECT_LT(now - since, collecting::held_max) << to_string(id);
  }

  void settle() override {
    for (int i = 0; i < 4; ++i)
      join("model");
    run_all();
    obey_cancels();
    pass(300);
    prepare_turn();
  }
};

class RankChaos : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RankChaos, EverythingIsTrainedAsAlone) {
  test::expect_all_is_trained_as_alone<rank_chaos>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RankChaos, testing::Range(0u, 12u));

} // namespace
} // namespace hippo
