#include "hippo/service/merge/study_table.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

constexpr study_no s0{0}, s1{1}, s2{2}, s3{3};

std::vector<segment> values(double lr) {
  return {{0, {{"lr", form::constant(lr)}}}};
}

study_orders::trial trial_of(std::uint64_t no, double lr = .1) {
  return {no, values(lr), {}, false};
}

/// Two studies, known to the store as 7 and 8, measured at 10 and 20.
class StudyTable : public testing::Test {
protected:
  StudyTable() {
    studies.add({study_id{7}, {10, {20}}, 1, false});
    studies.add({study_id{8}, {10, {20}}, 1, false});
  }

  void apply(study_no study, const study_orders& orders, bool merge = true) {
    const auto why = studies.apply(study, orders, merge);
    EXPECT_FALSE(why) << why->message;
  }

  /// Orders a trial up to state `to`.
  void start(study_no study, std::uint64_t no, step_t to, double lr = .1) {
    study_orders x;
    x.added = {trial_of(no, lr)};
    x.asked = {{no, to, 0, false}};
    apply(study, x);
  }

  /// Leases steps 0 to 20 of a node.
  void lease_node(std::uint64_t number, std::uint64_t node) {
    lease x;
    x.number = lease_id{number};
    x.stages = {{node_id{node}, 0, 20, {}}};
    x.stops = {{10, true, true}, {20, true, true}};
    plan.begin_lease(x);
  }

  void measure(std::uint64_t number, step_t at) {
    stop_report x;
    x.lease = lease_id{number};
    x.at = at;
    x.values = {{"loss", 1}};
    x.trained_steps = 10;
    plan.record(x);
  }

  /// Expects orders to be refused, and nothing to be done.
  void expect_refused(study_orders x, const std::string& why) {
    const auto trials = plan.trials();
    x.wants_capacity = true;
    const auto refused = studies.apply(s0, x, true);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, errc::invalid_argument);
    EXPECT_EQ(refused->message, why);
    EXPECT_EQ(plan.trials(), trials);
    EXPECT_FALSE(studies.wants_capacity(s0));
    studies.check_invariants();
  }

  search_plan plan;
  study_table studies{plan};
};

TEST_F(StudyTable, StudiesAreNumberedAsTheyAreAdded) {
  EXPECT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies.add({study_id{9}, {10, {20}}, 1, false}), s2);
  EXPECT_EQ(studies.stored_id(s0), study_id{7});
  EXPECT_EQ(studies.stored_id(s2), study_id{9});
  EXPECT_TRUE(studies.has(s2));
  EXPECT_FALSE(studies.has(s3));
}

TEST_F(StudyTable, TrialsGoByTheNumbersOfTheirStudy) {
  study_orders x;
  x.added = {trial_of(2, .1), trial_of(0, .2)};
  x.asked = {{0, 20, 0, false}, {2, 10, 0, false}};
  apply(s1, x);
  EXPECT_EQ(plan.asked_to(trial_id{0}), 10u);
  EXPECT_EQ(plan.asked_to(trial_id{1}), 20u);
}

TEST_F(StudyTable, OrdersWithUnknownTrialsAreRefused) {
  study_orders x;
  x.asked = {{3, 10, 0, false}};
  expect_refused(x, "there is no trial 3");
  x = {};
  x.added = {trial_of(5)};
  x.dropped = {4};
  expect_refused(x, "there is no trial 4");
  x = {};
  x.added = {trial_of(5)};
  x.rerouted = {trial_of(2)};
  expect_refused(x, "there is no trial 2");
  x = {};
  x.added = {trial_of(5)};
  x.added[0].fork_of = 5; // it is not there before itself
  expect_refused(x, "there is no trial 5");
}

TEST_F(StudyTable, OrdersWithATrialTwiceAreRefused) {
  study_orders x;
  x.added = {trial_of(1), trial_of(1)};
  expect_refused(x, "there is a trial 1 already");
  start(s0, 1, 10);
  x.added = {trial_of(2), trial_of(1)};
  expect_refused(x, "there is a trial 1 already");
}

TEST_F(StudyTable, OrdersForATrialWithoutValuesAreRefused) {
  study_orders x;
  x.added = {{4, {}, {}, false}};
  expect_refused(x, "trial 4 has no values");
}

TEST_F(StudyTable, OrdersThatAcknowledgeWhatWasNotSentAreRefused) {
  study_orders x;
  x.acked = 1;
  expect_refused(x, "it has acknowledged 1 of 0 messages");
}

TEST_F(StudyTable, LongerTrialsAreMeasuredFurther) {
  start(s0, 0, 20);
  start(s1, 0, 20); // shares all of it, and stays as it is
  lease_node(1, 1);
  measure(1, 10);
  measure(1, 20);
  plan.end_lease(lease_id{1});
  EXPECT_EQ(studies.take_news().at(s0).size(), 2u);
  study_orders x;
  x.when = measuring{10, {20, 35}};
  x.rerouted = {trial_of(0)};
  x.rerouted[0].segments.push_back({25, {{"lr", form::constant(.01)}}});
  x.dropped = {0};
  x.asked = {{0, 20, 0, false}, {0, 35, 0, false}};
  x.asked[0].again = true;
  apply(s0, x);
  EXPECT_EQ(plan.asked_to(trial_id{0}), 35u);
  EXPECT_EQ(plan.asked_to(trial_id{1}), 20u);
  lease more;
  more.number = lease_id{2};
  more.stages = {{node_id{1}, 20, 25, {}}, {node_id{2}, 25, 35, {}}};
  more.stops = plan.stops_of(node_id{1}, 20, 25, 0);
  std::vector<step_t> stops;
  for (const auto& y : plan.stops_of(node_id{2}, 25, 35, 0))
    if (y.evaluate)
      stops.push_back(y.at);
  EXPECT_EQ(stops, (std::vector<step_t>{30, 35}));
  plan.begin_lease(more);
  measure(2, 30);
  measure(2, 35);
  const auto news = studies.take_news();
  ASSERT_TRUE(news.contains(s0));
  EXPECT_EQ(news.at(s0).size(), 2u);
  EXPECT_FALSE(news.contains(s1));
  studies.check_invariants();
}

TEST_F(StudyTable, TrialAddedWithOrdersMayBeUsedByThem) {
  study_orders x;
  x.added = {trial_of(0), trial_of(1, .2)};
  x.added[1].fork_of = 0;
  x.dropped = {0};
  x.asked = {{1, 10, 0, false}};
  apply(s0, x);
  EXPECT_EQ(plan.asked_to(trial_id{1}), 10u);
}

TEST_F(StudyTable, MergedTrialsShareAStrand) {
  start(s0, 0, 20);
  start(s1, 0, 20);
  EXPECT_EQ(plan.strand_of(trial_id{0}), 0u);
  EXPECT_EQ(plan.figures().unique_steps, 20u);
}

TEST_F(StudyTable, TrialsAreOfStrandsOfTheirOwnUnlessTheyAreMerged) {
  study_orders x;
  x.added = {trial_of(3), trial_of(4), trial_of(5, .2)};
  x.added[2].fork_of = 3;
  apply(s1, x, false);
  EXPECT_EQ(plan.strand_of(trial_id{0}), 8 * strands_per_study + 4);
  EXPECT_EQ(plan.strand_of(trial_id{1}), 8 * strands_per_study + 5);
  EXPECT_EQ(plan.strand_of(trial_id{2}), plan.strand_of(trial_id{0}));
}

TEST_F(StudyTable, NewsGoesByTheNumbersOfItsStudy) {
  start(s0, 4, 20);
  start(s1, 2, 20);
  lease_node(1, 1);
  measure(1, 10);
  const auto news = studies.take_news();
  ASSERT_EQ(news.size(), 2u);
  for (const auto& [study, no] :
       {std::pair<study_no, trial_no>{s0, 4}, {s1, 2}}) {
    ASSERT_EQ(news.at(study).size(), 1u);
    const auto& x = std::get<trial_measured>(news.at(study)[0]);
    EXPECT_EQ(x.trial, no);
    EXPECT_EQ(x.node, node_id{1});
    EXPECT_EQ(x.at, 10u);
    EXPECT_EQ(x.values, (metrics{{"loss", 1}}));
  }
  EXPECT_TRUE(studies.take_news().empty());
}

TEST_F(StudyTable, FailuresAreNews) {
  start(s0, 4, 20);
  plan.fail(node_id{1}, 5, {errc::training_failed, "it broke"});
  const auto news = studies.take_news();
  ASSERT_EQ(news.count(s0), 1u);
  const auto& x = std::get<trial_failed>(news.at(s0)[0]);
  EXPECT_EQ(x.trial, 4u);
  EXPECT_EQ(x.reason.message, "it broke");
}

/// Two studies of which the second has trials with three seeds, 4 to 6.
class Repeats : public StudyTable {
protected:
  Repeats() {
    study_registration x{study_id{9}, {10, {20}}, 1, false};
    x.repeats = {
      {3, repeat_summary::mean}, 4, {{{"loss", direction::minimize}}, {}}};
    studies.add(x);
  }

  /// Measures a state of a node that a lease trains.
  void measure_as(std::uint64_t number, step_t at, double loss) {
    stop_report x;
    x.lease = lease_id{number};
    x.at = at;
    x.values = {{"loss", loss}, {"ms", 2 * loss}};
    x.trained_steps = 10;
    plan.record(x);
  }

  std::vector<trial_measured> measured() {
    std::vector<trial_measured> result;
    for (const auto& [study, news] : studies.take_news())
      for (const auto& x : news)
        result.push_back(std::get<trial_measured>(x));
    return result;
  }
};

TEST_F(Repeats, ATrialIsTrainedWithEachSeedAndSharesTheFirst) {
  start(s0, 0, 20);
  start(s2, 5, 20);
  EXPECT_EQ(plan.trials(), 4u);
  // The first seed is that of the workload itself.
  EXPECT_EQ(plan.figures().unique_steps, 60u);
  EXPECT_EQ(plan.figures(s2).asked_steps, 60u);
  study_orders x;
  x.added = {trial_of(6)};
  x.asked = {{6, 20, 0, false}};
  apply(s2, x); // trials of one study share, seed by seed
  EXPECT_EQ(plan.figures().unique_steps, 60u);
}

TEST_F(Repeats, TheLastSeedBringsTheSummary) {
  start(s2, 5, 20);
  for (std::uint64_t i = 1; i <= 3; ++i)
    lease_node(i, i);
  measure_as(3, 10, 9);
  measure_as(3, 20, 12); // it may be ahead
  measure_as(1, 10, 3);
  auto parts = measured();
  ASSERT_EQ(parts.size(), 3u);
  for (const auto& x : parts) {
    EXPECT_EQ(x.trial, 5u);
    EXPECT_TRUE(x.is_part);
  }
  EXPECT_EQ(parts[0].seed_no, 3u);
  EXPECT_EQ(parts[0].values, (metrics{{"loss", 9}, {"ms", 18}}));
  EXPECT_EQ(parts[2].seed_no, 1u);
  measure_as(2, 10, 6);
  parts = measured();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_FALSE(parts[0].is_part);
  EXPECT_EQ(parts[0].seed_no, 2u);
  EXPECT_EQ(parts[0].node, node_id{2});
  EXPECT_EQ(parts[0].values, (metrics{{"loss", 6},
                                      {"loss.seed4", 3},
                                      {"loss.seed5", 6},
                                      {"loss.seed6", 9},
                                      {"loss.std", 3},
                                      {"ms", 12}}));
  measure_as(1, 20, 12);
  measure_as(2, 20, 12);
  parts = measured();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].is_part);
  EXPECT_EQ(parts[1].values.at("loss"), 12);
  EXPECT_EQ(parts[1].values.at("loss.std"), 0);
}

TEST_F(Repeats, AFailureNamesItsSeed) {
  start(s2, 5, 20);
  plan.fail(node_id{2}, 5, {errc::training_failed, "it broke"});
  const auto news = studies.take_news();
  ASSERT_EQ(news.at(s2).size(), 1u);
  const auto& x = std::get<trial_failed>(news.at(s2)[0]);
  EXPECT_EQ(x.trial, 5u);
  EXPECT_EQ(x.reason.message, "seed 5: it broke");
  study_orders drop;
  drop.dropped = {5};
  apply(s2, drop);
  EXPECT_FALSE(plan.is_waiting(s2));
}

TEST_F(Repeats, WhatIsKnownIsToldOfNoMore) {
  study_orders x;
  x.added = {trial_of(0)};
  x.asked = {{0, 20, 10, false, 25}};
  apply(s2, x);
  EXPECT_EQ(plan.figures(s2).delivered_steps, 30u);
  EXPECT_EQ(plan.figures(s2).shared_steps, 25u);
  for (std::uint64_t i = 1; i <= 3; ++i)
    lease_node(i, i);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    measure_as(i, 10, 1);
    EXPECT_TRUE(measured().empty());
    measure_as(i, 20, 1);
    EXPECT_EQ(measured().size(), 1u);
  }
}

TEST_F(Repeats, PausedTrialsWaitForTheirRunningSeeds) {
  start(s2, 0, 20);
  lease_node(2, 2);
  studies.set_paused(s2, true);
  EXPECT_TRUE(studies.take_quiesced().empty());
  study_orders x;
  x.added = {trial_of(1, .2)};
  x.asked = {{1, 10, 0, false}};
  apply(s2, x);
  EXPECT_EQ(plan.asked_to(trial_id{3}), 0u);
  measure_as(2, 10, 1);
  measure_as(2, 20, 1);
  EXPECT_EQ(measured().size(), 2u);
  EXPECT_EQ(studies.take_quiesced().size(), 1u);
  studies.set_paused(s2, false);
  for (std::uint64_t i = 3; i < 6; ++i)
    EXPECT_EQ(plan.asked_to(trial_id{i}), 10u);
}

TEST_F(Repeats, UnmergedRunsAreOfStrandsOfTheirOwn) {
  study_orders x;
  x.added = {trial_of(0), trial_of(1, .2)};
  x.added[1].fork_of = 0;
  apply(s2, x, false);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.strand_of(trial_id{i}), 9 * strands_per_study + i + 1);
    EXPECT_EQ(plan.strand_of(trial_id{3 + i}), plan.strand_of(trial_id{i}));
  }
}

TEST_F(StudyTable, DroppedTrialWaitsForNothing) {
  start(s0, 0, 20);
  EXPECT_TRUE(plan.is_waiting(s0));
  study_orders x;
  x.dropped = {0};
  apply(s0, x);
  EXPECT_FALSE(plan.is_waiting(s0));
}

TEST_F(StudyTable, ReroutedTrialGoesOnWithOtherValues) {
  study_orders x;
  x.added = {trial_of(0)};
  x.added[0].responsive = true;
  x.asked = {{0, 10, 0, false}};
  apply(s0, x);
  study_orders y;
  y.rerouted = {{0, {values(.1)[0], {10, values(.2)[0].config}}, {}, true}};
  apply(s0, y);
  EXPECT_EQ(plan.node(plan.leaf_of(trial_id{0})).begin, 10u);
}

TEST_F(StudyTable, RequestThatIsOverIsCountedAndNotTrained) {
  study_orders x;
  x.added = {trial_of(0)};
  x.asked = {{0, 20, 0, true}};
  apply(s0, x);
  EXPECT_FALSE(plan.is_waiting(s0));
  EXPECT_EQ(plan.figures().asked_steps, 20u);
}

TEST_F(StudyTable, WhatATrialKnowsAlreadyIsNotSentAgain) {
  start(s0, 0, 20);
  lease_node(1, 1);
  measure(1, 10);
  studies.take_news();
  study_orders x;
  x.added = {trial_of(5)};
  x.asked = {{5, 20, 10, false}};
  apply(s1, x);
  EXPECT_TRUE(studies.take_news().empty());
  measure(1, 20);
  const auto news = studies.take_news();
  ASSERT_EQ(news.count(s1), 1u);
  EXPECT_EQ(news.at(s1).size(), 1u);
}

TEST_F(StudyTable, PausedStudyWaitsForNothingNew) {
  start(s0, 0, 20);
  studies.set_paused(s0, true);
  EXPECT_FALSE(plan.is_waiting(s0));
  start(s0, 1, 20, .2);
  EXPECT_FALSE(plan.is_waiting(s0));
  EXPECT_FALSE(plan.is_waiting(s1));
  studies.set_paused(s0, false);
  EXPECT_TRUE(plan.is_waiting(s0));
  EXPECT_EQ(plan.asked_to(trial_id{0}), 20u);
  EXPECT_EQ(plan.asked_to(trial_id{1}), 20u);
}

TEST_F(StudyTable, StudyIsQuiescedOnceForEachTimeThatItIsPaused) {
  start(s0, 0, 20);
  EXPECT_TRUE(studies.take_quiesced().empty());
  studies.set_paused(s0, true);
  EXPECT_EQ(studies.take_quiesced(), std::vector<study_no>{s0});
  EXPECT_TRUE(studies.take_quiesced().empty());
  studies.set_paused(s0, true); // it is already, and is to stop now
  EXPECT_EQ(studies.take_quiesced(), std::vector<study_no>{s0});
  EXPECT_TRUE(studies.take_quiesced().empty());
  studies.set_paused(s0, false);
  studies.set_paused(s0, true);
  EXPECT_EQ(studies.take_quiesced(), std::vector<study_no>{s0});
}

TEST_F(StudyTable, StudyThatIsAddedPausedIsQuiesced) {
  const auto no = studies.add({study_id{9}, {10, {20}}, 1, true});
  EXPECT_EQ(studies.take_quiesced(), std::vector<study_no>{no});
  study_orders x;
  x.added = {trial_of(0)};
  x.asked = {{0, 20, 0, false}};
  apply(no, x);
  EXPECT_FALSE(plan.is_waiting(no));
}

TEST_F(StudyTable, PausedStudyIsQuiescedOnceWhatRunsIsMeasured) {
  start(s0, 0, 20);
  lease_node(1, 1);
  studies.set_paused(s0, true);
  EXPECT_TRUE(plan.is_waiting(s0));
  EXPECT_TRUE(studies.take_quiesced().empty());
  measure(1, 10);
  studies.take_news();
  EXPECT_TRUE(studies.take_quiesced().empty());
  measure(1, 20);
  EXPECT_EQ(studies.take_news().at(s0).size(), 1u);
  EXPECT_EQ(studies.take_quiesced(), std::vector<study_no>{s0});
}

TEST_F(StudyTable, PausedStudyIsQuiescedOnceWhatRunsFails) {
  start(s0, 0, 20);
  lease_node(1, 1);
  studies.set_paused(s0, true);
  plan.fail(node_id{1}, 5, {errc::training_failed, "it broke"});
  studies.take_news();
  EXPECT_EQ(studies.take_quiesced(), std::vector<study_no>{s0});
}

TEST_F(StudyTable, PausedStudyDoesNotWaitForWhatALeaseDidNotReach) {
  start(s0, 0, 20);
  lease_node(1, 1);
  studies.set_paused(s0, true);
  plan.end_lease(lease_id{1});
  studies.follow_ended_lease();
  EXPECT_FALSE(plan.is_waiting(s0));
  EXPECT_EQ(studies.take_quiesced(), std::vector<study_no>{s0});
}

TEST_F(StudyTable, PausedStudyWantsNoCapacity) {
  study_orders x;
  x.wants_capacity = true;
  apply(s0, x);
  EXPECT_TRUE(studies.wants_capacity(s0));
  EXPECT_FALSE(studies.wants_capacity(s1));
  studies.set_paused(s0, true);
  EXPECT_FALSE(studies.wants_capacity(s0));
  studies.set_paused(s0, false);
  EXPECT_TRUE(studies.wants_capacity(s0));
  x.wants_capacity = false;
  apply(s0, x);
  EXPECT_FALSE(studies.wants_capacity(s0));
}

TEST_F(StudyTable, OfferIsAwaitedUntilItIsAcknowledged) {
  study_orders x;
  x.wants_capacity = true;
  apply(s0, x);
  EXPECT_FALSE(studies.is_awaiting_any());
  studies.count_offer(s0);
  EXPECT_TRUE(studies.is_awaiting_any());
  apply(s0, x); // sent before the offer came
  EXPECT_TRUE(studies.is_awaiting_any());
  x.acked = 1;
  apply(s0, x);
  EXPECT_FALSE(studies.is_awaiting_any());
}

TEST_F(StudyTable, NewsIsAwaitedOnlyAfterAwaitAll) {
  start(s0, 0, 20);
  study_orders x;
  x.wants_capacity = true;
  apply(s0, x);
  studies.take_news();
  lease_node(1, 1);
  measure(1, 10);
  studies.take_news();
  EXPECT_FALSE(studies.is_awaiting_any());
  studies.await_all();
  EXPECT_TRUE(studies.is_awaiting_any());
  x.acked = 1;
  apply(s0, x);
  EXPECT_FALSE(studies.is_awaiting_any());
}

TEST_F(StudyTable, KnownAnswersToOrdersAreAwaited) {
  start(s1, 0, 10);
  lease_node(1, 1);
  measure(1, 10);
  studies.take_news();
  study_orders x;
  x.wants_capacity = true;
  apply(s0, x);
  studies.take_news();
  EXPECT_FALSE(studies.is_awaiting_any()) << "nothing was answered";
  auto asking = x;
  asking.added = {trial_of(0)};
  asking.asked = {{0, 10, 0, false}};
  apply(s0, asking);
  EXPECT_EQ(studies.take_news().count(s0), 1u);
  EXPECT_TRUE(studies.is_awaiting_any());
  apply(s0, x); // sent before the answer came
  studies.take_news();
  EXPECT_TRUE(studies.is_awaiting_any());
  x.acked = 1;
  apply(s0, x);
  EXPECT_FALSE(studies.is_awaiting_any());
}

TEST_F(StudyTable, StudiesThatWantNoCapacityAreNotAwaited) {
  study_orders x;
  x.wants_capacity = true;
  apply(s0, x);
  studies.count_offer(s0);
  studies.set_paused(s0, true);
  EXPECT_FALSE(studies.is_awaiting_any());
  studies.set_paused(s0, false);
  EXPECT_TRUE(studies.is_awaiting_any());
  x.wants_capacity = false;
  apply(s0, x);
  EXPECT_FALSE(studies.is_awaiting_any());
}

TEST_F(StudyTable, OfferToAStudyThatWantsNoneIsAsserted) {
  EXPECT_DEBUG_DEATH(studies.count_offer(s0), "wants_capacity");
}

} // namespace
} // namespace hippo
