#include "hippo/service/merge/merge_core.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "merge/merge_world.hpp"

namespace hippo {
namespace {

using test::merge_world;

const measuring each_three{3, {9}};

/// A world with a study of `each_three` and a merger that leases.
struct started_world : merge_world {
  explicit started_world(merger_options options = {}, std::uint32_t lanes = 1)
    : merge_world(std::move(options), lanes) {
    add_study(each_three);
    apply(merge_event::started{});
  }

  void expect_all_as_alone() {
    EXPECT_TRUE(commits.empty());
    EXPECT_TRUE(unanswered.empty());
    for (std::size_t i = 0; i < studies.size(); ++i)
      expect_results_as_alone(i, each_three);
  }
};

TEST(MergeCore, TrialsWithACommonBeginningTrainItOnce) {
  started_world x;
  x.grant();
  x.train(0, {x.change(.1, 6, .01), x.change(.1, 6, .02), x.constant(.1)}, 9);
  x.run_all();
  x.expect_all_as_alone();
  EXPECT_EQ(x.trained, x.distinct());
  EXPECT_EQ(x.trained, 6u + 3 * 3);
  EXPECT_EQ(x.core.status().trained_steps, x.trained);
}

TEST(MergeCore, CodeThatAStudyBringsHasATrainerToItself) {
  for (const bool is_built_in : {true, false}) {
    merger_options options;
    if (!is_built_in)
      options.code.file = "code.json";
    started_world x{options, 2};
    x.train(0, {x.constant(.1), x.constant(.2)}, 9);
    const auto id = x.grant();
    x.answer_demands();
    EXPECT_EQ(x.trainers.at(id).jobs.size(), is_built_in ? 2u : 1u);
    x.run_all();
    x.expect_all_as_alone();
  }
}

TEST(MergeCore, ATrainerWithATimeLimitIsLeasedNoMoreThanItCanEnd) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto first = x.grant();
  x.step(first, x.lease_of(first)); // 3 steps of 1 s
  x.lose(first);
  const auto second = x.grant({}, 0, 4.5);
  ASSERT_EQ(x.trainers.at(second).jobs.size(), 1u);
  const auto& stages = x.sent_leases.back().second.stages;
  EXPECT_LE(stages.back().end - stages.front().begin, 4u);
  EXPECT_EQ(x.sent_leases.back().second.stops.back().at, stages.back().end);
  EXPECT_TRUE(x.sent_leases.back().second.stops.back().save);
  x.lose(second);
  // Not even a step: it goes back, and the study is told why it waits.
  const auto third = x.grant({}, 0, 0.5);
  EXPECT_FALSE(x.trainers.at(third).granted);
  EXPECT_EQ(x.core.status().hindered, "");
  EXPECT_NE(x.core.status().short_of_time.find("a step takes about 1 s"),
            std::string::npos)
    << x.core.status().short_of_time;
  x.grant();
  EXPECT_EQ(x.core.status().short_of_time, "");
  x.run_all();
  x.expect_all_as_alone();
}

/// Whatever their limits: what was begun is ended before, nothing is lost, and
/// results are what they are.
TEST(MergeCore, TrainersWithTimeLimitsLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random{seed};
    started_world x;
    std::vector<std::vector<segment>> trials;
    for (int i = 0; i < 5; ++i)
      trials.push_back(test::random_segments(random, 9));
    x.train(0, {x.constant(.7)}, 9);
    x.grant();
    x.run_all(); // so that a step's time is known
    x.train(0, trials, 9);
    std::size_t lost = 0;
    for (int i = 0; i < 200 && x.core.plan().is_waiting(study_no{}); ++i) {
      const auto limit = std::uniform_real_distribution<double>{0, 6}(random);
      const auto leaves_at = x.now + std::chrono::duration<double>{limit};
      const auto id = x.grant({}, 0, limit);
      while (x.trainers.at(id).granted && !x.trainers.at(id).jobs.empty()) {
        const auto number = x.lease_of(id);
        const auto& job = x.trainers.at(id).jobs.at(number);
        x.pass(
          static_cast<double>(job.work.stops.at(job.next_stop).at - job.at));
        lost += x.now > leaves_at;
        x.step(id, number);
        x.commit_all();
      }
      x.lose(id);
    }
    EXPECT_EQ(lost, 0u) << "seed " << seed;
    x.grant();
    x.run_all();
    x.expect_all_as_alone();
    EXPECT_EQ(x.trained, x.distinct()) << "seed " << seed;
  }
}

TEST(MergeCore, NothingIsLeasedBeforeTheStart) {
  merge_world x;
  x.add_study(each_three);
  x.grant();
  x.train(0, {x.constant(.1)}, 9);
  EXPECT_TRUE(x.sent_leases.empty());
  x.apply(merge_event::started{});
  x.run_all();
  EXPECT_EQ(x.sent_leases.size(), 1u);
}

TEST(MergeCore, ATrainerWithoutWorkIsReleased) {
  started_world x;
  const auto id = x.grant();
  EXPECT_FALSE(x.trainers.at(id).granted);
}

TEST(MergeCore, AReportIsAcknowledgedOnceItIsStored) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  x.commit_all();
  const auto id = x.grant();
  x.step(id, x.lease_of(id));
  EXPECT_EQ(x.acks, 0u);
  EXPECT_EQ(x.studies[0].trials.at(0).delivered.size(), 0u);
  x.commit_all();
  EXPECT_EQ(x.acks, 1u);
  EXPECT_EQ(x.studies[0].trials.at(0).delivered.size(), 1u);
}

TEST(MergeCore, AnsweredRequestCostsNothing) {
  started_world x;
  x.grant();
  x.train(0, {x.constant(.1)}, 9);
  x.run_all();
  const auto before = x.trained;
  x.add_study(each_three);
  x.train(1, {x.constant(.1)}, 9);
  x.run_all();
  EXPECT_EQ(x.trained, before);
  x.expect_all_as_alone();
}

TEST(MergeCore, ALostTrainersWorkIsLeasedAgainFromItsCheckpoint) {
  started_world x;
  x.train(0, {x.change(.1, 6, .01), x.constant(.1)}, 9);
  const auto first = x.grant();
  const auto lease = x.lease_of(first);
  x.step(first, lease);
  x.step(first, lease); // leaves a checkpoint at 6
  x.lose(first);
  EXPECT_TRUE(x.core.leases().leases().empty());
  x.grant();
  EXPECT_EQ(x.sent_leases.back().second.stages.front().begin, 6u);
  x.run_all();
  x.expect_all_as_alone();
  EXPECT_EQ(x.trained, x.distinct());
}

TEST(MergeCore, ALateReportCountsIfNothingElseCameFirst) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto first = x.grant();
  auto job = x.trainers.at(first).jobs.begin()->second;
  const auto late = x.train_to(job, job.work.stops.front());
  x.lose(first);
  x.report(late);
  x.commit_all();
  EXPECT_EQ(x.studies[0].trials.at(0).delivered.count(3), 1u);
  EXPECT_TRUE(x.unanswered.empty());
  x.report(late, true); // again
  x.commit_all();
  EXPECT_TRUE(x.unanswered.empty());
  x.grant();
  x.run_all();
  x.expect_all_as_alone();
}

/// Whether it can be had at all is found out again, by who has the lease.
TEST(MergeCore, ALateReportOfWhatIsNotFiniteIsNoMeasurement) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto first = x.grant();
  auto job = x.trainers.at(first).jobs.begin()->second;
  auto late = x.train_to(job, job.work.stops.front());
  ASSERT_FALSE(late.values.empty());
  late.values.begin()->second = std::nan("");
  x.lose(first);
  x.report(late);
  x.commit_all();
  EXPECT_TRUE(x.unanswered.empty());
  EXPECT_TRUE(x.studies[0].trials.at(0).delivered.empty());
  x.grant();
  x.run_all();
  x.expect_all_as_alone();
}

// Else a trainer would fail the studies that wait for them.
TEST(MergeCore, AMeasurementOfNothingOfTheWorkloadIsNotRecorded) {
  merger_options options;
  options.metrics = {"value", "other"};
  for (const bool is_late : {false, true}) {
    started_world x{options};
    x.train(0, {x.constant(.1)}, 9);
    const auto id = x.grant();
    const auto lease = x.lease_of(id);
    auto copy = x.trainers.at(id).jobs.at(lease);
    auto lie = x.train_to(copy, copy.work.stops.at(copy.next_stop));
    ASSERT_TRUE(lie.values.contains("value"));
    lie.values = {{"something", 1}};
    if (is_late)
      x.end(id, lease, std::nullopt);
    x.log.clear();
    x.report(lie);
    x.commit_all();
    EXPECT_TRUE(x.unanswered.empty()) << "it need not be sent again";
    ASSERT_FALSE(x.log.empty());
    EXPECT_NE(x.log.front().text.find("reports 'something' of step"),
              std::string::npos);
    EXPECT_TRUE(x.studies[0].trials.at(0).delivered.empty());
    x.run_all();
    x.expect_all_as_alone();
  }
}

TEST(MergeCore, AReportOfAnotherKindOfDeviceCancelsItsLease) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  x.step(id, lease); // the tree is of this trainer's kind
  auto copy = x.trainers.at(id).jobs.at(lease);
  auto lie = x.train_to(copy, copy.work.stops.at(copy.next_stop));
  lie.device += " of another kind";
  x.log.clear();
  x.report(lie);
  x.commit_all();
  EXPECT_TRUE(x.unanswered.empty()) << "it need not be sent again";
  ASSERT_FALSE(x.log.empty());
  EXPECT_NE(x.log.back().text.find("which is not of it"), std::string::npos);
  EXPECT_EQ(x.studies[0].trials.at(0).delivered.size(), 1u);
}

TEST(MergeCore, AWeightThatIsNoNumberAboveZeroIsIgnored) {
  for (const double weight : {0., -1., std::nan(""), HUGE_VAL}) {
    started_world x;
    x.train(0, {x.constant(.1)}, 9);
    x.log.clear();
    x.apply(merge_event::weight_set{study_no{}, weight});
    ASSERT_EQ(x.log.size(), 1u) << weight;
    EXPECT_NE(x.log[0].text.find("ignored the weight"), std::string::npos);
    x.grant();
    x.run_all();
    x.expect_all_as_alone();
  }
}

/// A report may come again long after: what was given up since is not there
/// any more.
TEST(MergeCore, AReportThatComesAgainBringsNoCheckpointBack) {
  started_world x;
  x.train(0, {x.change(.1, 3, .2), x.change(.1, 3, .3)}, 9);
  const auto id = x.grant();
  const auto& job = x.trainers.at(id).jobs.begin()->second;
  auto copy = job;
  const auto first = x.train_to(copy, job.work.stops.front());
  ASSERT_TRUE(first.saved) << "where trials part";
  x.report(first);
  x.report(first); // of a lease that runs
  x.commit_all();
  EXPECT_TRUE(x.unanswered.empty());
  EXPECT_EQ(x.core.plan().node(first.node).checkpoints.size(), 1u);
  x.lose(id);
  x.grant();
  x.run_all();
  x.apply(merge_event::budget_set{0});
  x.commit_all();
  ASSERT_EQ(x.core.plan().node(first.node).checkpoints.size(), 0u);
  x.apply(merge_event::budget_set{UINT64_MAX}); // there is room again
  x.report(first, true);
  x.commit_all();
  EXPECT_EQ(x.core.plan().node(first.node).checkpoints.size(), 0u);
  x.expect_all_as_alone();
}

/// A state whose parts lie elsewhere is none where they are not kept.
TEST(MergeCore, AStateWithoutItsPartsIsNotKept) {
  for (const bool resent : {false, true})
    for (const int wrong : {0, 1, 2, 3}) {
      started_world x;
      x.train(0, {x.change(.1, 3, .2), x.change(.1, 3, .3)}, 9);
      const auto id = x.grant();
      auto job = x.trainers.at(id).jobs.begin()->second;
      auto report = x.train_to(job, job.work.stops.front());
      ASSERT_TRUE(report.saved) << "where trials part";
      report.saved->part_files = {
        {wrong == 0   ? "no-name"
         : wrong == 1 ? checkpoint_name(node_id{99}, 1, lease_id{1})
         : wrong == 2 ? checkpoint_name(node_id{1}, 1, lease_id{1})
                      : checkpoint_name(node_id{1}, 99, lease_id{9}),
         1, 1}};
      if (resent)
        x.lose(id);
      x.report(report, resent);
      x.commit_all();
      EXPECT_EQ(x.deleted.count("folder/" + report.saved->file), 1u);
      if (x.core.plan().has_node(report.node)) {
        EXPECT_EQ(x.core.plan().node(report.node).checkpoints.count(report.at),
                  0u);
      }
      if (resent)
        x.grant();
      x.run_all();
      x.expect_all_as_alone();
    }
}

TEST(MergeCore, LeasesAreGivenABaseOnceThereIsOne) {
  started_world x;
  x.train(0, {x.change(.1, 3, .2), x.change(.1, 3, .3)}, 9);
  const auto id = x.grant();
  EXPECT_TRUE(x.sent_leases.back().second.base.file.empty());
  const auto lease = x.lease_of(id);
  x.step(id, lease);
  const auto node = x.sent_leases.back().second.stages.front().node;
  const auto saved = x.core.plan().node(node).checkpoints.at(3);
  ASSERT_TRUE(is_base(saved));
  x.grant();
  EXPECT_EQ(x.sent_leases.back().second.base, saved);
  x.run_all();
  x.expect_all_as_alone();
}

/// Else the file would be another lease's, which may go while that one's report
/// is still on its way.
TEST(MergeCore, ALateReportOfAnotherLeasesFileIsOfNothing) {
  started_world x;
  x.train(0, {x.change(.1, 3, .2), x.change(.1, 3, .3)}, 9);
  const auto id = x.grant();
  auto job = x.trainers.at(id).jobs.begin()->second;
  auto lie = x.train_to(job, job.work.stops.front());
  ASSERT_TRUE(lie.saved) << "where trials part";
  lie.lease = lease_id{number_of(lie.lease) + 2}; // not granted yet
  x.report(lie);
  x.commit_all();
  EXPECT_TRUE(x.unanswered.empty());
  EXPECT_EQ(x.core.plan().node(lie.node).checkpoints.size(), 0u);
  EXPECT_TRUE(x.studies[0].trials.at(0).delivered.empty());
  x.run_all();
  x.expect_all_as_alone();
}

/// What was said of another tree took the file with it.
TEST(MergeCore, ALateReportBringsNoFileBackThatALieGaveUp) {
  started_world x;
  x.train(0, {x.change(.1, 3, .2), x.change(.1, 3, .3)}, 9);
  const auto id = x.grant();
  auto job = x.trainers.at(id).jobs.begin()->second;
  const auto truth = x.train_to(job, job.work.stops.front());
  ASSERT_TRUE(truth.saved) << "where trials part";
  auto lie = truth;
  ++lie.identity;
  x.lose(id);
  x.report(lie);
  x.report(truth);
  x.commit_all();
  EXPECT_TRUE(x.unanswered.empty());
  EXPECT_EQ(x.studies[0].trials.at(0).delivered.count(3), 1u);
  EXPECT_EQ(x.core.plan().node(truth.node).checkpoints.size(), 0u);
  x.grant();
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, AReportOutsideOfItsLeaseCancelsIt) {
  for (const step_t at : {step_t{0}, step_t{10}, UINT64_MAX}) {
    started_world x;
    x.train(0, {x.constant(.1)}, 9);
    const auto id = x.grant();
    const auto lease = x.lease_of(id);
    x.step(id, lease);
    stop_report lie;
    lie.lease = lease;
    lie.at = at;
    lie.values = {{"value", 1}};
    lie.device = x.trainers.at(id).kind; // else that would give it away
    x.report(lie);
    ASSERT_EQ(x.cancelled.size(), 1u) << at;
    x.obey_cancels();
    x.run_all();
    x.expect_all_as_alone();
  }
}

TEST(MergeCore, AMalformedMessageCancelsWhatItsTrainerHas) {
  started_world x{{}, 2};
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  x.answer_demands();
  x.apply(merge_event::malformed{id, "nonsense"});
  EXPECT_EQ(x.cancelled.size(), 2u);
}

TEST(MergeCore, TrainingThatFailsIsTriedAgainAndThenFailsItsTrials) {
  merger_options options;
  options.attempts_max = 2;
  started_world x{options};
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  auto id = x.grant();
  x.end(id, x.lease_of(id), error{errc::training_failed, "broken"});
  x.commit_all();
  EXPECT_TRUE(x.studies[0].failed.empty());
  for (int i = 0; i < 20 && x.studies[0].failed.empty(); ++i) {
    if (!x.trainers.at(id).granted)
      x.grant(id);
    const auto& work = x.trainers.at(id).jobs.begin()->second.work;
    if (work.stages.front().node == node_id{1})
      x.end(id, work.number, error{errc::training_failed, "broken"});
    else
      x.step(id, work.number);
    x.commit_all();
  }
  ASSERT_EQ(x.studies[0].failed.count(0), 1u);
  EXPECT_EQ(x.studies[0].failed.at(0).reason.message, "broken");
  if (!x.trainers.at(id).granted)
    x.grant(id);
  x.run_all();
  EXPECT_EQ(x.studies[0].failed.size(), 1u);
  x.expect_all_as_alone();
}

TEST(MergeCore, AFailingDiskCostsNoAttempt) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  for (int i = 0; i < 10; ++i) {
    if (!x.trainers.at(id).granted)
      x.grant(id);
    x.end(id, x.lease_of(id), error{errc::io_failed, "disk full"});
    EXPECT_FALSE(x.trainers.at(id).granted);
  }
  EXPECT_EQ(x.cool_downs.size(), 10u);
  EXPECT_GT(x.cool_downs.back().span, x.cool_downs.front().span);
  EXPECT_NE(x.core.status().hindered.find("disk full"), std::string::npos);
  x.grant(id);
  EXPECT_NE(x.core.status().hindered.find("disk full"), std::string::npos)
    << "it is tried again: nothing says that it goes well";
  const auto other = x.grant();
  x.train(0, {x.constant(.2)}, 9);
  if (!x.trainers.at(other).jobs.empty()) {
    EXPECT_EQ(x.core.status().hindered, "") << "another one gets on";
  }
  x.run_all();
  EXPECT_EQ(x.core.status().hindered, "");
  x.expect_all_as_alone();
}

TEST(MergeCore, ASickTrainerFailsNoTrialWhileAHealthyOneExists) {
  std::size_t blamed = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 rng{seed};
    started_world x;
    std::vector<std::vector<segment>> trials;
    for (int i = 0; i < 8; ++i)
      trials.push_back(test::random_segments(rng, 9));
    x.train(0, trials, 9);
    const auto sick = x.grant();
    const auto healthy = x.grant();
    x.apply(merge_event::able_trainers{{{sick, "model"}, {healthy, "model"}}});
    bool sick_failed = false;
    for (int i = 0; i < 5000; ++i) {
      x.pass(.2);
      x.commit_all();
      if (!x.demands.empty())
        x.answer_demand();
      const auto id = rng() % 3 == 0 ? healthy : sick;
      const auto& jobs = x.trainers.at(id).jobs;
      if (jobs.empty()) {
        if (!x.trainers.at(id).granted && x.wanted > 0)
          x.grant(id);
      } else if (id == sick && rng() % 4 != 0) {
        sick_failed = true;
        x.end(id, jobs.begin()->first,
              error{errc::training_failed, "no such device"});
      } else {
        x.step(id, jobs.begin()->first);
      }
    }
    EXPECT_TRUE(sick_failed);
    EXPECT_TRUE(x.studies[0].failed.empty());
    EXPECT_LE(x.blamed.size(), 1u);
    EXPECT_EQ(x.blamed.count(healthy), 0u);
    EXPECT_GT(x.failures[sick], 0u);
    EXPECT_EQ(x.failures.count(healthy), 0u);
    blamed += x.blamed.size();
    x.expect_all_as_alone();
  }
  EXPECT_GT(blamed, 0u);
}

TEST(MergeCore, AnotherStudyTriesAgainWhatFailed) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  for (int i = 0; i < 3; ++i) {
    if (!x.trainers.at(id).granted)
      x.grant(id);
    x.end(id, x.lease_of(id), error{errc::training_failed, "no data yet"});
  }
  x.commit_all();
  ASSERT_EQ(x.studies[0].failed.count(0), 1u);
  const auto again = x.add_study(each_three);
  x.train(again, {x.constant(.1)}, 9);
  if (!x.trainers.at(id).granted)
    x.grant(id);
  x.run_all();
  EXPECT_TRUE(x.studies[again].failed.empty());
  x.expect_results_as_alone(again, each_three);
  EXPECT_EQ(x.studies[0].failed.size(), 1u) << "what has failed stays so";
}

TEST(MergeCore, AFailedTrialThatIsRetriedGoesOnWhereItWas) {
  for (const bool is_paused : {false, true}) {
    started_world x;
    x.train(0, {x.change(.1, 6, .01), x.constant(.1)}, 9);
    const auto id = x.grant();
    const auto fail = [&x, id] {
      for (int i = 0; i < 9 && x.studies[0].failed.size() < 2; ++i) {
        if (!x.trainers.at(id).granted)
          x.grant(id);
        x.end(id, x.lease_of(id), error{errc::training_failed, "no data yet"});
        x.commit_all();
      }
    };
    fail();
    ASSERT_EQ(x.studies[0].failed.size(), 2u);
    if (is_paused)
      x.apply(merge_event::paused_set{study_no{0}, true});
    auto orders = x.orders_of(0);
    orders.asked.push_back({0, 9, 0, false, 0, true});
    x.studies[0].failed.erase(0);
    x.give(0, std::move(orders));
    if (is_paused) {
      EXPECT_FALSE(x.core.plan().is_waiting(study_no{}))
        << "it goes on when it may";
      x.apply(merge_event::paused_set{study_no{0}, false});
    }
    if (!x.trainers.at(id).granted)
      x.grant(id);
    x.run_all();
    EXPECT_EQ(x.studies[0].failed.size(), 1u) << "of the other one";
    x.expect_all_as_alone();
  }
}

/// A study whose leases fail at once, and whose paths are longest, takes no
/// time: all the same it is not always next.
TEST(MergeCore, AStudyThatFailsDoesNotKeepAnotherFromItsTurn) {
  started_world x;
  const auto good = x.add_study(each_three);
  std::vector<std::vector<segment>> bad;
  for (int i = 1; i <= 40; ++i)
    bad.push_back(x.constant(i));
  x.train(0, bad, 9);
  x.train(good, {x.constant(.5)}, 6);
  const auto id = x.grant();
  int failures = 0;
  for (; failures < 40; ++failures) {
    if (!x.trainers.at(id).granted)
      x.grant(id);
    const auto lease = x.lease_of(id);
    const auto node = x.trainers.at(id).jobs.at(lease).work.stages.front().node;
    if (x.core.plan().node(node).asked_to == 6)
      break; // the other's turn
    x.end(id, lease, error{errc::io_failed, "a name is too long"});
    x.commit_all();
  }
  EXPECT_LT(failures, 6);
}

TEST(MergeCore, AnUnusableCheckpointIsEvictedAndTrainedAgain) {
  started_world x;
  x.train(0, {x.change(.1, 6, .01)}, 6);
  x.train(0, {x.change(.1, 6, .02)}, 6);
  x.grant();
  x.run_all();
  auto more = x.orders_of(0);
  more.asked.push_back({0, 9, 0, false});
  x.give(0, more);
  x.commit_all();
  const auto id = x.grant();
  const auto file = x.sent_leases.back().second.start.file;
  ASSERT_FALSE(file.empty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(x.deleted.count("folder/" + file), 0u) << "it is tried again";
    if (!x.trainers.at(id).granted)
      x.grant(id);
    x.end(id, x.lease_of(id), error{errc::bad_checkpoint, "damaged"});
    if (i == 2)
      x.files.erase(file);
    x.commit_all();
  }
  EXPECT_EQ(x.deleted.count("folder/" + file), 1u);
  if (!x.trainers.at(id).granted)
    x.grant(id);
  x.run_all();
  x.expect_all_as_alone();
}

/// A service may end when it has deleted a file, and before its trainer has
/// heard that the report of it is stored.
TEST(MergeCore, AFileThatAnEarlierRunHasEvictedDoesNotComeBack) {
  std::string file;
  for (const bool evicted : {false, true}) {
    merger_options options;
    if (evicted)
      options.evicted = {file};
    started_world x{std::move(options)};
    x.train(0, {x.change(.1, 5, .01), x.change(.1, 5, .02)}, 6);
    const auto first = x.grant();
    auto job = x.trainers.at(first).jobs.begin()->second;
    std::optional<stop_report> late;
    for (const auto& stop : job.work.stops)
      if (stop.at <= 5)
        late = x.train_to(job, stop);
    ASSERT_TRUE(late && late->saved && late->values.empty());
    file = late->saved->file;
    x.lose(first);
    x.report(*late, true);
    x.commit_all();
    EXPECT_EQ(x.core.plan().node(late->node).checkpoints.count(5),
              evicted ? 0u : 1u);
    EXPECT_EQ(x.deleted.count("folder/" + file), evicted ? 1u : 0u);
    x.grant();
    x.run_all();
    x.expect_all_as_alone();
  }
}

/// What is evicted is stored along with its file's name, and so is the file of
/// a state that had a checkpoint already.
TEST(MergeCore, WhatIsEvictedIsStoredByItsFile) {
  merger_options options;
  options.checkpoint_bytes_max = 0;
  started_world x{std::move(options)};
  x.train(0, {x.change(.1, 5, .01), x.change(.1, 5, .02)}, 6);
  x.grant();
  x.run_all();
  x.expect_all_as_alone();
  std::set<std::string> removed;
  for (const auto& record : x.stored)
    if (const auto* y = std::get_if<checkpoint_removed>(&record))
      removed.insert("folder/" + y->file);
  EXPECT_FALSE(removed.empty());
  EXPECT_EQ(removed, x.deleted);
}

TEST(MergeCore, AKindThatBecomesSlowerIsToldOfOnce) {
  const measuring each_step{1, {81}};
  merge_world x;
  x.add_study(each_step);
  x.apply(merge_event::started{});
  x.train(0, {x.constant(.1)}, 81);
  const auto id = x.grant();
  const auto told = [&] {
    return std::count_if(x.log.begin(), x.log.end(), [](const auto& line) {
      return line.text.find("model trains slower than before: a step of model")
               != line.text.npos
             && line.text.find("takes 2 s, not 1 s") != line.text.npos;
    });
  };
  for (int i = 0; i < 80; ++i) {
    EXPECT_EQ(told(), i < 50 ? 0 : 1) << i;
    x.step(id, x.lease_of(id), i < 40 ? 1 : 2);
    x.commit_all();
  }
  x.run_all();
  x.expect_results_as_alone(0, each_step);
}

TEST(MergeCore, WhatIsNotFiniteFailsItsTrialsAlone) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  auto& job = x.trainers.at(id).jobs.begin()->second;
  auto report = x.train_to(job, job.work.stops.front());
  report.values = {{"value", std::numeric_limits<double>::quiet_NaN()}};
  x.report(report);
  x.end(id, report.lease, error{errc::diverged, "not finite"});
  x.run_all();
  EXPECT_EQ(x.studies[0].failed.size(), 1u);
  x.expect_all_as_alone();
}

TEST(MergeCore, TrainingThatDivergesInItsFirstStepFailsItsTrials) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  for (int i = 0; i < 2; ++i) {
    const auto id = x.grant();
    x.end(id, x.lease_of(id), error{errc::diverged, "loss is nan"});
    x.lose(id);
  }
  x.commit_all();
  EXPECT_EQ(x.studies[0].failed.size(), 1u);
}

TEST(MergeCore, AReportOfOtherTrainingDoesNotCount) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  auto& job = x.trainers.at(id).jobs.begin()->second;
  auto report = x.train_to(job, job.work.stops.front());
  ++report.identity;
  x.report(report);
  x.commit_all();
  EXPECT_EQ(x.studies[0].received, 0u);
  EXPECT_EQ(x.cancelled.size(), 1u);
}

settings_table::settings interpreter(const std::string& name) {
  return {{"python_executable", name}};
}

TEST(MergeCore, ALeaseHasTheSettingsOfAStudyThatWaitsForIt) {
  merge_world x;
  x.add_study(each_three, 1, false, interpreter("a"));
  x.add_study(each_three, 1, false, interpreter("b"));
  x.apply(merge_event::started{});
  x.train(0, {x.constant(.1)}, 9);
  x.train(1, {x.constant(.1), x.constant(.2)}, 9);
  x.grant();
  x.grant();
  x.run_all();
  ASSERT_EQ(x.sent_leases.size(), 2u);
  for (const auto& [id, lease] : x.sent_leases)
    EXPECT_EQ(lease.workload.settings,
              interpreter(lease.stages.front().node == node_id{1} ? "a" : "b"));
}

TEST(MergeCore, ALeaseEndsWhereNobodyWithItsSettingsWaits) {
  merge_world x;
  x.add_study(each_three, 1, false, interpreter("a"));
  x.add_study(each_three, 1, false, interpreter("b"));
  x.apply(merge_event::started{});
  x.train(0, {x.change(.1, 6, .01)}, 6);
  x.train(1, {x.change(.1, 6, .02)}, 9);
  x.grant();
  x.run_all();
  ASSERT_EQ(x.sent_leases.size(), 2u);
  EXPECT_EQ(x.sent_leases[0].second.stages.back().end, 6u);
  EXPECT_EQ(x.sent_leases[0].second.workload.settings, interpreter("a"));
  EXPECT_EQ(x.sent_leases[1].second.workload.settings, interpreter("b"));
  x.expect_results_as_alone(1, each_three);
  EXPECT_EQ(x.trained, x.distinct());
}

/// Studies of which some say that the workload is to be run as it cannot be,
/// each in its own way. They ask for trials at once, and for more later.
class MergeCoreBadSettings : public testing::TestWithParam<unsigned> {};

TEST_P(MergeCoreBadSettings, NoTrialOfAnotherStudyFailsOfThem) {
  std::mt19937 rng{GetParam()};
  const auto below
    = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  merger_options options;
  if (GetParam() > 100) // they come to where others are one by one
    options.kept
    = std::make_shared<kept_plan>(waiting_limits{1, 1, 1 << 18});
  merge_world x{options};
  const auto studies = 2 + below(4);
  std::vector<measuring> when(studies, each_three);
  if (GetParam() > 100)
    for (auto& y : when)
      if (below(2) == 0)
        y = {9, {9}};
  std::vector<bool> is_bad(studies);
  for (unsigned i = 0; i < studies; ++i)
    is_bad[i] = below(2) == 0;
  is_bad[below(studies)] = true;
  for (unsigned i = 0; i < studies; ++i)
    x.add_study(when[i], 1, false,
                interpreter(is_bad[i] ? "bad" + std::to_string(i) : "good"));
  x.apply(merge_event::started{});
  for (unsigned i = 0; i < 3; ++i)
    x.grant();
  const auto train_more = [&](unsigned i) {
    std::vector<std::vector<segment>> trials;
    for (unsigned n = 1 + below(5); n > 0; --n)
      trials.push_back(x.change(.1 * below(2), 3 + 3 * below(2),
                                .01 * below(3)));
    x.train(i, trials, 9);
  };
  for (unsigned i = 0; i < studies; ++i)
    if (below(4) > 0)
      train_more(i);
  int turns = 0;
  for (; turns < 10'000; ++turns) {
    x.commit_all();
    if (turns < 100 && below(10) == 0)
      train_more(below(studies));
    x.pass(1); // for those who are to leave a path to others
    x.grant_for_demand();
    if (!x.demands.empty()) {
      x.answer_demand();
      continue;
    }
    std::vector<trainer_id> busy;
    for (const auto& [id, y] : x.trainers)
      if (!y.jobs.empty())
        busy.push_back(id);
    if (busy.empty()) {
      if (turns < 100)
        continue;
      break;
    }
    const auto id = busy[below(static_cast<unsigned>(busy.size()))];
    const auto lease = x.lease_of(id);
    const auto& work = x.trainers.at(id).jobs.at(lease).work;
    if (work.workload.settings != interpreter("good"))
      x.end(id, lease, error{errc::training_failed, "no such program"});
    else
      x.step(id, lease);
  }
  EXPECT_LT(turns, 10'000) << "it goes on without an end";
  EXPECT_TRUE(x.blamed.empty()) << "a study's settings are no trainer's fault";
  for (unsigned i = 0; i < studies; ++i) {
    EXPECT_TRUE(is_bad[i] || x.studies[i].failed.empty()) << "study " << i;
    x.expect_results_as_alone(i, when[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MergeCoreBadSettings, testing::Range(1u, 201u));

/// Whether at once or after a pause.
TEST(MergeCore, WhatFailedUnderOthersSettingsIsTriedUnderTheStudysOwn) {
  for (const bool paused : {false, true}) {
    SCOPED_TRACE(paused);
    merge_world x;
    x.add_study(each_three, 1, false, interpreter("bad"));
    x.add_study(each_three, 1, false, interpreter("good"));
    x.apply(merge_event::started{});
    x.train(0, {x.constant(.1)}, 9);
    if (paused) {
      x.apply(merge_event::paused_set{study_no{1}, true});
      x.train(1, {x.constant(.1)}, 9);
    }
    for (int i = 0; i < 3; ++i)
      x.grant();
    for (int i = 0; i < 20 && x.studies[0].failed.empty(); ++i) {
      for (const auto& kvp : std::map{x.trainers})
        if (!kvp.second.jobs.empty())
          x.end(kvp.first, x.lease_of(kvp.first),
                error{errc::training_failed, "no such program"});
      x.grant_for_demand();
      x.commit_all();
    }
    ASSERT_EQ(x.studies[0].failed.size(), 1u);
    if (paused)
      x.apply(merge_event::paused_set{study_no{1}, false});
    else
      x.train(1, {x.constant(.1)}, 9);
    x.grant_for_demand();
    x.run_all();
    EXPECT_TRUE(x.studies[1].failed.empty());
    x.expect_results_as_alone(1, each_three);
  }
}

/// A state that is kept, and that nobody can measure.
TEST(MergeCore, MeasuringThatFailsAlwaysFailsTheTrial) {
  merge_world x;
  measuring at_the_end;
  at_the_end.every = 9;
  at_the_end.rungs = {9};
  x.add_study(at_the_end);
  x.add_study({6, {6}});
  x.apply(merge_event::started{});
  x.train(0, {x.change(.1, 6, .01)}, 9);
  x.grant();
  x.run_all(); // state 6 is kept
  x.train(1, {x.constant(.1)}, 6);
  int failed = 0;
  for (; failed < 20 && x.studies[1].failed.empty(); ++failed) {
    x.pass(2);
    x.grant_for_demand();
    for (const auto& [id, y] : std::map{x.trainers})
      if (!y.jobs.empty())
        x.end(id, x.lease_of(id),
              error{errc::training_failed, "cannot evaluate"});
    x.commit_all();
  }
  EXPECT_EQ(x.studies[1].failed.size(), 1u);
  EXPECT_EQ(failed, 3);
  EXPECT_TRUE(x.studies[0].failed.empty());
}

/// Also where it was asked for that before, but waits for other measurements
/// first.
TEST(MergeCore, WhatFailedUnderOthersSettingsIsTriedByWhoComesThereLater) {
  merger_options options;
  options.kept
    = std::make_shared<kept_plan>(waiting_limits{1, 1, 1 << 18});
  merge_world x{options};
  measuring at_the_end;
  at_the_end.every = 9;
  at_the_end.rungs = {9};
  x.add_study(at_the_end, 1, false, interpreter("bad"));
  x.add_study(each_three, 1, false, interpreter("good"));
  x.apply(merge_event::started{});
  x.train(0, {x.change(.1, 6, .01)}, 9);
  const auto first = x.grant();
  x.step(first, x.lease_of(first)); // state 6 is kept now
  x.commit_all();
  x.train(1, {x.change(.1, 6, .01)}, 9);
  for (int i = 0; i < 3; ++i)
    x.grant();
  for (int i = 0; i < 20 && x.studies[0].failed.empty(); ++i) {
    for (const auto& [id, y] : std::map{x.trainers})
      if (!y.jobs.empty()
          && y.jobs.begin()->second.work.workload.settings
               == interpreter("bad"))
        x.end(id, x.lease_of(id),
              error{errc::training_failed, "no such program"});
    x.pass(1);
    x.grant_for_demand();
    x.commit_all();
  }
  ASSERT_EQ(x.studies[0].failed.size(), 1u);
  ASSERT_TRUE(x.studies[1].failed.empty());
  x.run_all();
  EXPECT_TRUE(x.studies[1].failed.empty());
  x.expect_results_as_alone(1, each_three);
}

/// What cannot be trained for another reason than before fails everybody.
TEST(MergeCore, WhatDivergesUnderTheStudysOwnSettingsFails) {
  merge_world x;
  x.add_study(each_three, 1, false, interpreter("bad"));
  x.add_study(each_three, 1, false, interpreter("good"));
  x.apply(merge_event::started{});
  x.grant();
  const auto end_all = [&](std::size_t study, const error& why) {
    for (int i = 0; i < 20 && x.studies[study].failed.empty(); ++i) {
      for (const auto& [id, y] : std::map{x.trainers})
        if (!y.jobs.empty())
          x.end(id, x.lease_of(id), why);
      x.pass(2);
      x.grant_for_demand();
      x.commit_all();
    }
    EXPECT_EQ(x.studies[study].failed.size(), 1u);
  };
  x.train(0, {x.constant(.1)}, 9);
  x.grant_for_demand();
  end_all(0, error{errc::training_failed, "no such program"});
  x.train(1, {x.constant(.1)}, 9);
  x.grant_for_demand();
  end_all(1, error{errc::diverged, "loss is nan"});
}

/// Grants as a pool does that lets trainers rest: the one that has not been
/// blamed first.
void grant_resting(merge_world& x, trainer_id healthy) {
  if (x.wanted > 0 && !x.trainers.at(healthy).granted) {
    --x.wanted;
    x.grant(healthy);
  } else {
    x.grant_for_demand();
  }
}

/// A trainer that lies beside one that does not, until all has come to an end.
/// @param lie is told of each lease that the liar gets
void expect_a_liar_harms_nobody(
  const std::function<void(merge_world&, trainer_id, lease_id)>& lie,
  bool is_blamed = true) {
  started_world x;
  const auto liar = x.join("model");
  const auto healthy = x.join("model");
  std::map<trainer_id, std::string> both{{liar, "model"}, {healthy, "model"}};
  x.apply(merge_event::able_trainers{both});
  x.train(0, {x.constant(.1), x.change(.1, 6, .2), x.constant(.3)}, 9);
  unsigned leases = 0;
  for (int i = 0; i < 10'000; ++i) {
    x.commit_all();
    while (!x.demands.empty())
      x.answer_demand();
    x.obey_cancels();
    if (leases == 0)
      x.grant_for_demand();
    else
      grant_resting(x, healthy);
    auto busy = std::ranges::find_if(x.trainers, [](const auto& kvp) {
      return !kvp.second.jobs.empty();
    });
    if (busy == x.trainers.end() && x.commits.empty() && x.wanted == 0)
      break;
    x.pass(1);
    if (auto& jobs = x.trainers.at(liar).jobs; !jobs.empty()) {
      ++leases;
      lie(x, liar, jobs.begin()->first);
    }
    // Rests, as the pool has it.
    if (!x.trainers.at(liar).granted && x.blamed.count(liar) > 0)
      x.trainers.at(liar).granted = true;
    if (auto& jobs = x.trainers.at(healthy).jobs; !jobs.empty())
      x.step(healthy, jobs.begin()->first);
  }
  EXPECT_GT(leases, 0u);
  EXPECT_TRUE(x.studies[0].failed.empty());
  EXPECT_EQ(x.blamed.count(healthy), 0u);
  if (is_blamed) {
    EXPECT_EQ(x.blamed.count(liar), 1u);
  }
  x.expect_all_as_alone();
}

TEST(MergeCore, ALeaseThatIsHandedBackUnaskedIsAnAttempt) {
  expect_a_liar_harms_nobody([](auto& x, trainer_id id, lease_id number) {
    x.end(id, number, error{errc::cancelled, "I did not want to"});
  });
}

TEST(MergeCore, ALeaseThatEndsWellWithNothingDoneIsAnAttempt) {
  expect_a_liar_harms_nobody([](auto& x, trainer_id id, lease_id number) {
    x.end(id, number);
  });
}

TEST(MergeCore, DivergenceThatAnotherDoesNotFindFailsNobody) {
  expect_a_liar_harms_nobody([](auto& x, trainer_id id, lease_id number) {
    auto& job = x.trainers.at(id).jobs.at(number);
    job.at = job.work.stops.front().at;
    x.end(id, number, error{errc::diverged, "loss is nan"});
  });
}

TEST(MergeCore, AReportOfWhatIsNotLeasedIsAnAttempt) {
  expect_a_liar_harms_nobody([](auto& x, trainer_id id, lease_id number) {
    stop_report lie;
    lie.lease = number;
    lie.at = 1000;
    lie.device = x.trainers.at(id).kind;
    x.report(lie);
    x.obey_cancels();
  });
}

/// A checkpoint that is not there: nobody else reads it, and who has left it
/// hands back what starts from it.
TEST(MergeCore, ACheckpointThatIsNotThereIsForgotten) {
  merger_options options;
  options.save_every_seconds = 1;
  started_world x{options};
  const auto liar = x.join("model");
  const auto healthy = x.join("model");
  x.apply(merge_event::able_trainers{{{liar, "model"}, {healthy, "model"}}});
  x.train(0, {x.change(.1, 6, .2), x.change(.1, 6, .3)}, 9);
  x.grant(liar);
  auto lease = x.lease_of(liar);
  auto& job = x.trainers.at(liar).jobs.at(lease);
  while (true) {
    const auto stop = job.work.stops.at(job.next_stop++);
    const auto report = x.train_to(job, stop);
    x.report(report);
    if (report.saved)
      break;
  }
  x.end(liar, lease, error{errc::cancelled, "gone"});
  EXPECT_EQ(x.blamed, std::set{liar});
  for (int i = 0; i < 1000 && !(x.wanted == 0 && x.commits.empty()
                                && x.trainers.at(healthy).jobs.empty());
       ++i) {
    x.commit_all();
    while (!x.demands.empty())
      x.answer_demand();
    x.pass(1);
    if (i % 2 == 0) // the liar's rest is over now and then
      grant_resting(x, healthy);
    else
      x.grant_for_demand();
    for (const auto id : {liar, healthy})
      if (auto& jobs = x.trainers.at(id).jobs; !jobs.empty()) {
        const auto& start = jobs.begin()->second.work.start.file;
        if (id == liar)
          x.end(id, jobs.begin()->first, error{errc::cancelled, "no"});
        else if (!start.empty() && start == checkpoint_name(
                   node_id{1}, jobs.begin()->second.at, lease))
          x.end(id, jobs.begin()->first,
                error{errc::bad_checkpoint, "it is missing"});
        else
          x.step(id, jobs.begin()->first);
      }
  }
  EXPECT_TRUE(x.studies[0].failed.empty());
  x.expect_all_as_alone();
}

TEST(MergeCore, ATrainerThatSaysThatItIsIdleHasNoLease) {
  for (const bool takes_up : {false, true}) {
    started_world x;
    x.train(0, {x.constant(.1)}, 9);
    const auto id = x.grant();
    const auto lease = x.lease_of(id);
    if (takes_up)
      x.heartbeat(id, lease);
    const auto say = [&] {
      x.apply(merge_event::heartbeat{id, lease_id{}, 0});
    };
    for (int i = 0; i < 20; ++i)
      say(); // all at once: they have waited on their way
    EXPECT_TRUE(x.core.leases().find(lease));
    x.pass(9);
    say(); // one gap, however long, is none
    EXPECT_TRUE(x.core.leases().find(lease));
    x.trainers.at(id).jobs.clear(); // it has none
    for (int i = 0; i < 3; ++i) {
      x.pass(1);
      say();
    }
    EXPECT_FALSE(x.core.leases().find(lease));
    EXPECT_EQ(x.blamed.count(id), 1u);
    x.run_all();
    x.expect_all_as_alone();
  }
}

TEST(MergeCore, ATrainerThatSaysNothingOfALeaseHasItNot) {
  started_world x{{}, 2};
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  x.answer_demands();
  ASSERT_EQ(x.trainers.at(id).jobs.size(), 2u);
  const auto first = x.trainers.at(id).jobs.begin()->first;
  const auto second = x.trainers.at(id).jobs.rbegin()->first;
  for (int i = 0; i < 20; ++i) {
    x.pass(1);
    x.heartbeat(id, first);
    x.heartbeat(id, second);
  }
  EXPECT_EQ(x.core.leases().leases().size(), 2u);
  x.trainers.at(id).jobs.erase(second);
  for (int i = 0; i < 7; ++i) {
    x.pass(1);
    x.heartbeat(id, first);
  }
  EXPECT_TRUE(x.core.leases().find(first));
  EXPECT_FALSE(x.core.leases().find(second));
  EXPECT_EQ(x.blamed.count(id), 1u);
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, AHeartbeatOfItsLeaseShowsThatATrainerIsNotIdle) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  for (int i = 0; i < 100; ++i) {
    x.pass(2);
    x.apply(merge_event::heartbeat{id, lease_id{}, 0});
    x.pass(1);
    x.heartbeat(id, lease);
  }
  EXPECT_TRUE(x.core.leases().find(lease));
}

TEST(MergeCore, HeartbeatsThatMoveButNeverReportEndTheLease) {
  merger_options options;
  options.stall_max = std::chrono::seconds{60};
  started_world x{options};
  x.train(0, {x.constant(.1)}, 9);
  const auto first = x.grant();
  x.step(first, x.lease_of(first), 1); // now it is known what a step takes
  x.train(0, {x.constant(.2)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  for (int i = 0; i < 59; ++i) {
    x.pass(1);
    x.apply(merge_event::heartbeat{id, lease, static_cast<step_t>(i % 5)});
  }
  EXPECT_TRUE(x.stalled.empty());
  for (int i = 0; i < 3; ++i) {
    x.pass(1);
    if (x.stalled.empty())
      x.apply(merge_event::heartbeat{id, lease, 9});
  }
  ASSERT_EQ(x.stalled.size(), 1u);
  EXPECT_NE(x.stalled[0].why.find("no report for"), std::string::npos);
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, HeartbeatsWithoutProgressEndTheLease) {
  merger_options options;
  options.stall_max = options.unmeasured_stall_max = std::chrono::seconds{60};
  started_world x{options};
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  for (int i = 0; i < 12 && x.stalled.empty(); ++i) {
    x.pass(5);
    x.heartbeat(id, lease);
  }
  EXPECT_TRUE(x.stalled.empty()) << "60 s are not over";
  x.pass(5);
  x.heartbeat(id, lease);
  ASSERT_EQ(x.stalled.size(), 1u);
  EXPECT_EQ(x.stalled[0].trainer, id);
  EXPECT_TRUE(x.core.leases().leases().empty());
  x.grant();
  x.run_all();
  x.expect_all_as_alone();
}

/// Heartbeats every five seconds that show state `at` for so long, or until the
/// trainer is given up. @returns for how long they did
double show(merge_world& x, trainer_id id, lease_id lease, step_t at,
            double seconds) {
  double shown = 0;
  while (shown < seconds && x.stalled.empty()) {
    x.pass(5);
    shown += 5;
    x.apply(merge_event::heartbeat{id, lease, at});
  }
  return shown;
}

TEST(MergeCore, ALaneThatStallsEndsTheOthersOfItsTrainer) {
  merger_options options;
  options.stall_max = options.unmeasured_stall_max = std::chrono::seconds{60};
  started_world x{options, 2};
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  x.answer_demands();
  const auto jobs = x.trainers.at(id).jobs;
  ASSERT_EQ(jobs.size(), 2u);
  for (int i = 0; i < 100 && x.stalled.empty(); ++i) {
    x.pass(5);
    x.heartbeat(id, jobs.begin()->first);
  }
  ASSERT_EQ(x.stalled.size(), 1u);
  for (const auto& kvp : jobs)
    EXPECT_EQ(std::count(x.cancelled.begin(), x.cancelled.end(),
                         std::pair{id, kvp.first}),
              1);
}

TEST(MergeCore, WhatAnotherTrainerSaysOfALeaseShowsNothing) {
  merger_options options;
  options.stall_max = options.unmeasured_stall_max = std::chrono::seconds{60};
  started_world x{options};
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  const auto other = x.grant();
  const auto lease = x.lease_of(id);
  const auto own = x.lease_of(other);
  for (step_t at = 0; at < 100 && x.stalled.empty(); ++at) {
    x.pass(5);
    x.apply(merge_event::heartbeat{other, lease, at});
    x.heartbeat(id, lease);
    x.heartbeat(other, own);
  }
  ASSERT_GE(x.stalled.size(), 1u);
  EXPECT_EQ(x.stalled[0].trainer, id);
}

TEST(MergeCore, ATimeInWhichTheServiceStoodStillIsNoStall) {
  merger_options options;
  options.stall_max = options.unmeasured_stall_max = std::chrono::seconds{60};
  started_world x{options};
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  for (int i = 0; i < 5; ++i) {
    x.pass(3600);
    x.heartbeat(id, x.lease_of(id));
  }
  EXPECT_TRUE(x.stalled.empty());
}

TEST(MergeCore, AFirstEpochOfFortyMinutesIsNoStall) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  for (step_t at = 0; at < 3; ++at)
    show(x, id, lease, at, 2400); // none of them has been reported
  show(x, id, lease, 3, 2400);    // it measures
  ASSERT_TRUE(x.stalled.empty());
  x.step(id, lease, 2400);
  for (step_t at = 3; at < 6; ++at)
    show(x, id, lease, at, 2400);
  EXPECT_TRUE(x.stalled.empty());
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, AFirstMeasurementThatTakesLongIsNoStall) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  show(x, id, lease, 0, 5);
  show(x, id, lease, 3, 3600);
  EXPECT_TRUE(x.stalled.empty());
  x.step(id, lease, 1);
  EXPECT_LT(show(x, id, lease, 3, 1e6), 620) << "it trains again";
  EXPECT_EQ(x.stalled.size(), 1u);
}

TEST(MergeCore, ATrainerThatNeverMakesItsFirstStepIsFound) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  EXPECT_GT(show(x, id, x.lease_of(id), 0, 1e6), 21'600);
  ASSERT_EQ(x.stalled.size(), 1u);
}

TEST(MergeCore, AfterARestartAFirstStepThatHangsIsFoundByWhatStartsTook) {
  merger_options options;
  timing start{{}, timed::start};
  start.stages = 1;
  start.count = 1;
  start.seconds = 90;
  options.timings = {start};
  started_world x{options};
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto found = show(x, id, x.lease_of(id), 0, 1e6);
  EXPECT_GT(found, 900);
  EXPECT_LT(found, 1000);
  ASSERT_EQ(x.stalled.size(), 1u);
}

TEST(MergeCore, ATrainerThatHangsAfterItsFirstStepIsFoundByWhatThatTook) {
  for (const double first : {5., 100.}) {
    started_world x;
    x.train(0, {x.constant(.1)}, 9);
    const auto id = x.grant();
    const auto lease = x.lease_of(id);
    show(x, id, lease, 0, first);
    const auto found = show(x, id, lease, 1, 1e6);
    EXPECT_GT(found, std::max(600., 10 * first));
    EXPECT_LT(found, std::max(600., 10 * first) + 100);
  }
}

TEST(MergeCore, WhatWasMeasuredSaysWhenATrainerHangs) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  show(x, id, lease, 0, 3000); // setting up
  x.step(id, lease, 1);
  EXPECT_LT(show(x, id, lease, 4, 1e6), 620) << "a step takes a second";
  ASSERT_EQ(x.stalled.size(), 1u);
}

TEST(MergeCore, ASetUpIsJudgedByTheLongestOne) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto first = x.grant();
  show(x, first, x.lease_of(first), 0, 900);
  x.step(first, x.lease_of(first), 1);
  const auto second = x.grant();
  const auto found = show(x, second, x.lease_of(second), 0, 1e6);
  EXPECT_GT(found, 9'000);
  EXPECT_LT(found, 9'050);
}

TEST(MergeCore, WhatEarlierRunsTookIsExpectedAgain) {
  merger_options options;
  options.trained = {1, 300};
  started_world x{options};
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  show(x, id, lease, 0, 5);
  const auto found = show(x, id, lease, 1, 1e6);
  EXPECT_GT(found, 3'000);
  EXPECT_LT(found, 3'020);
}

TEST(MergeCore, ARestartGoesOnWithTheTimesThatWereStored) {
  // Of the lease that a restart begins with, where it saves on its way.
  const auto saves_of = [](std::vector<timing> known) {
    merger_options options;
    options.save_every_seconds = 120;
    options.timings = std::move(known);
    started_world x{options};
    x.train(0, {x.constant(.1)}, 9);
    x.grant();
    std::vector<step_t> result;
    for (const auto& stop : x.sent_leases.at(0).second.stops)
      if (stop.save && stop.at < 9)
        result.push_back(stop.at);
    return result;
  };
  EXPECT_TRUE(saves_of({}).empty()) << "a step is taken to be a second";
  const auto saves = saves_of({{"any", timed::step, "", 5, 10, 300, 0}});
  ASSERT_FALSE(saves.empty()) << "a step took half a minute";
  EXPECT_EQ(saves.front(), 4u);
}

TEST(MergeCore, TimesAreStoredByKindOfDevice) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  for (int i = 0; i < 2; ++i) {
    const auto id = x.grant();
    x.step(id, x.lease_of(id), 2);
  }
  x.commit_all();
  std::size_t found = 0;
  for (const auto& record : x.stored)
    if (const auto* y = std::get_if<timing_learned>(&record)) {
      EXPECT_FALSE(y->what.device.empty());
      EXPECT_GT(y->what.count, 0);
      if (y->what.what != timed::step)
        continue;
      EXPECT_NEAR(y->what.mean(), 2, 1e-9);
      ++found;
    }
  EXPECT_GT(found, 0u);
}

TEST(MergeCore, APauseOfTheServiceIsNoStall) {
  merger_options options;
  options.stall_max = std::chrono::seconds{60};
  started_world x{options};
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  x.pass(3600);
  x.heartbeat(id, x.lease_of(id));
  EXPECT_TRUE(x.stalled.empty());
}

TEST(MergeCore, HeartbeatsOfAnotherTrainerCountForNothing) {
  merger_options options;
  options.stall_max = std::chrono::seconds{1};
  started_world x{options};
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  for (int i = 0; i < 10; ++i) {
    x.pass(5);
    x.apply(merge_event::heartbeat{trainer_id{99}, lease, 0});
  }
  EXPECT_TRUE(x.stalled.empty());
}

TEST(MergeCore, AStudyIsNotifiedOnceWhenItsDeviceTimeIsSpent) {
  merge_world x;
  const auto no = x.add_study({1, {9}}, 1, false, {}, 20.0);
  x.apply(merge_event::started{});
  x.train(no, {x.constant(.1), x.constant(.2)}, 9);
  const auto first = x.grant(), second = x.grant();
  x.pass(9);
  x.apply(merge_event::heartbeat{first, x.lease_of(first), 0});
  EXPECT_EQ(x.studies[no].spent, 0u);
  x.pass(2);
  x.apply(merge_event::heartbeat{second, x.lease_of(second), 0});
  EXPECT_EQ(x.studies[no].spent, 1u) << "two trainers for 11 s";
  x.pass(30);
  x.apply(merge_event::time_passed{});
  EXPECT_EQ(x.studies[no].spent, 1u);
}

TEST(MergeCore, AStudyIsNotifiedOnceWhenItHasCostWhatItMay) {
  merge_world x;
  const auto no = x.add_study({1, {9}}, 1, false, {}, {}, 20.0);
  x.apply(merge_event::started{});
  x.train(no, {x.constant(.1), x.constant(.2)}, 9);
  const auto dear = x.grant({}, 3600), cheap = x.grant({}, 1800);
  x.pass(13); // 19.5
  x.apply(merge_event::heartbeat{dear, x.lease_of(dear), 0});
  EXPECT_EQ(x.studies[no].spent, 0u);
  x.pass(1);
  x.apply(merge_event::heartbeat{cheap, x.lease_of(cheap), 0});
  EXPECT_EQ(x.studies[no].spent, 1u);
}

TEST(MergeCore, TheDeviceTimeOfStudiesIsStored) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  x.grant({}, 7200);
  x.pass(5);
  x.run_all();
  x.apply(merge_event::halted{});
  x.commit_all();
  double stored = 0;
  for (const auto& y : x.stored)
    if (const auto* served = std::get_if<study_served>(&y)) {
      EXPECT_EQ(served->study, study_id{1});
      stored += served->device_seconds;
      EXPECT_NEAR(served->cost, 2 * served->device_seconds, 1e-9);
    }
  EXPECT_NEAR(stored, x.core.overview().study_seconds[study_no{0}], 1e-9);
  EXPECT_GE(stored, 5);
}

TEST(MergeCore, APausedStudyQuiescesOnceAndGoesOnWhereItWas) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  x.commit_all();
  x.apply(merge_event::paused_set{study_no{0}, true});
  EXPECT_EQ(x.studies[0].quiesced, 0u);
  x.run_all();
  EXPECT_EQ(x.sent_leases.size(), 1u) << "nothing new starts";
  EXPECT_EQ(x.studies[0].quiesced, 1u);
  EXPECT_EQ(x.studies[0].trials.at(0).delivered.size()
              + x.studies[0].trials.at(1).delivered.size(),
            3u);
  x.apply(merge_event::paused_set{study_no{0}, false});
  if (!x.trainers.at(id).granted)
    x.grant(id);
  x.run_all();
  EXPECT_EQ(x.studies[0].quiesced, 1u);
  x.expect_all_as_alone();
}

TEST(MergeCore, OfAStudyThatIsGoneNothingIsTrainedAndOthersGoOn) {
  for (const bool is_paused : {false, true}) {
    started_world x;
    const auto other = x.add_study(each_three);
    x.train(0, {x.change(.1, 6, .01), x.constant(.3)}, 9);
    x.train(other, {x.constant(.1)}, 9);
    const auto first = x.grant();
    x.grant();
    x.step(first, x.lease_of(first));
    x.commit_all();
    if (is_paused)
      x.apply(merge_event::paused_set{study_no{0}, true});
    x.apply(merge_event::study_left{study_no{0}});
    EXPECT_FALSE(x.core.plan().is_waiting(study_no{0}));
    const auto told = x.studies[0].received;
    // What comes in its name later is ignored.
    x.give(0, x.orders_of(0));
    x.apply(merge_event::paused_set{study_no{0}, false});
    x.apply(merge_event::weight_set{study_no{0}, 7});
    x.apply(merge_event::study_left{study_no{0}});
    x.run_all();
    EXPECT_EQ(x.studies[0].received, told);
    EXPECT_EQ(x.studies[0].quiesced, 0u);
    // What is in training goes on to its next stop, and nothing else.
    EXPECT_LE(x.trained, 9u + 9u) << "it was trained on";
    EXPECT_TRUE(x.studies[other].failed.empty());
    EXPECT_EQ(x.studies[other].trials.at(0).delivered.size(), 3u);
  }
}

TEST(MergeCore, NamesThatDifferFromResultToResultFailTheirTrials) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2), x.constant(.3)}, 3);
  std::uint64_t refused = 0;
  for (int i = 0; i < 3; ++i) {
    const auto id = x.grant();
    auto& job = x.trainers.at(id).jobs.begin()->second;
    auto report = x.train_to(job, job.work.stops.at(job.next_stop++), 1);
    // Two of these are within the limit, the third one is not.
    report.values.clear();
    for (int j = 0; j < 16'000; ++j)
      report.values["metric" + std::to_string(100'000 * i + j)
                    + std::string(64, 'x')]
        = j;
    const auto lease = job.work.number;
    x.report(report);
    x.end(id, lease);
    x.commit_all();
    refused += x.studies[0].failed.size();
  }
  ASSERT_EQ(x.studies[0].failed.size(), 1u);
  const auto& why = x.studies[0].failed.begin()->second.reason;
  EXPECT_EQ(why.code, errc::resource_exhausted);
  EXPECT_NE(why.message.find("differ from result to result"),
            std::string::npos)
    << why.message;
  EXPECT_LE(x.core.status().memory_bytes, 2 * max_name_lists_bytes);
  EXPECT_EQ(refused, 1u);
}

TEST(MergeCore, WhatAPausedStudyAsksForWaits) {
  started_world x;
  x.apply(merge_event::paused_set{study_no{0}, true});
  x.train(0, {x.constant(.1)}, 9);
  x.grant();
  x.run_all();
  EXPECT_EQ(x.trained, 0u);
  x.apply(merge_event::paused_set{study_no{0}, false});
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, ALeaseThatNobodyWaitsForIsCancelled) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  x.grant();
  auto drop = x.orders_of(0);
  drop.dropped = {0};
  x.give(0, drop);
  EXPECT_EQ(x.cancelled.size(), 1u);
  x.obey_cancels();
  EXPECT_TRUE(x.core.leases().leases().empty());
}

TEST(MergeCore, OrdersThatMakeNoSenseAreIgnoredWhole) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  study_orders unknown;
  unknown.asked.push_back({7, 9, 0, false});
  x.apply(merge_event::orders_given{study_no{0}, unknown});
  study_orders twice;
  twice.added.push_back({0, x.constant(.2), std::nullopt, false});
  x.apply(merge_event::orders_given{study_no{0}, twice});
  study_orders ahead;
  ahead.acked = 1000;
  x.apply(merge_event::orders_given{study_no{0}, ahead});
  x.apply(merge_event::orders_given{study_no{17}, {}});
  x.apply(merge_event::paused_set{study_no{UINT32_MAX}, true});
  x.apply(merge_event::weight_set{study_no{17}, 1});
  x.apply(merge_event::weight_set{study_no{0}, -1});
  EXPECT_EQ(x.log.size(), 7u);
  x.grant();
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, CapacityIsOfferedToAStudyThatWantsIt) {
  started_world x;
  x.studies[0].wants_capacity = true;
  x.give(0, x.orders_of(0));
  const auto id = x.grant();
  EXPECT_EQ(x.studies[0].offered, 1u);
  EXPECT_TRUE(x.trainers.at(id).granted) << "it waits for what is started";
  x.apply(merge_event::time_passed{});
  EXPECT_EQ(x.studies[0].offered, 1u) << "the offer is not answered yet";
  x.train(0, {x.constant(.1)}, 9);
  EXPECT_EQ(x.sent_leases.size(), 1u);
  x.studies[0].wants_capacity = false;
  x.give(0, x.orders_of(0));
  x.run_all();
  EXPECT_FALSE(x.trainers.at(id).granted);
  x.expect_all_as_alone();
}

TEST(MergeCore, CheckpointsKeepWithinTheirBudget) {
  merger_options options;
  options.checkpoint_bytes_max = 3000; // three of them
  started_world x{options};
  std::vector<std::vector<segment>> trials;
  for (int i = 0; i < 12; ++i)
    trials.push_back(x.change(.1 + i, 3, .01));
  x.train(0, trials, 9);
  x.grant();
  x.run_all();
  x.expect_all_as_alone();
  EXPECT_GT(x.deleted.size(), 0u);
  std::uint64_t left = 0;
  for (auto id : id_range(root_node, x.core.plan().size()))
    left += x.core.plan().node(id).checkpoints.size();
  EXPECT_LE(left, 3u);
}

TEST(MergeCore, RetiresOnceNothingRunsAndAllIsStored) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  x.step(id, x.lease_of(id));
  x.apply(merge_event::retiring{});
  EXPECT_TRUE(x.retired.empty());
  x.obey_cancels();
  EXPECT_TRUE(x.retired.empty()) << "not stored yet";
  x.commit_all();
  EXPECT_EQ(x.retired, (std::vector<std::uint64_t>{3}));
}

TEST(MergeCore, AHaltedMergerLeasesNothing) {
  started_world x;
  x.apply(merge_event::halted{});
  x.train(0, {x.constant(.1)}, 9);
  x.grant();
  x.run_all(false);
  EXPECT_TRUE(x.sent_leases.empty());
}

TEST(MergeCore, WhatRunsAtAHaltIsSavedAndNothingIsTrainedAgain) {
  for (step_t reported = 0; reported < 9; ++reported) {
    started_world x;
    x.train(0, {x.constant(.1)}, 9);
    const auto id = x.grant();
    const auto lease = x.lease_of(id);
    x.apply(merge_event::heartbeat{id, lease, reported});
    x.apply(merge_event::halted{});
    EXPECT_TRUE(x.cancelled.empty());
    while (!x.trainers.at(id).jobs.empty()) {
      const auto report = x.step(id, lease);
      EXPECT_LE(report.at, reported + 1);
      EXPECT_TRUE(report.saved || report.at < reported + 1
                  || report.at == 9);
    }
    EXPECT_FALSE(x.trainers.at(id).granted);
    EXPECT_TRUE(x.core.leases().leases().empty());
    EXPECT_EQ(x.trained, reported + 1);
  }
}

TEST(MergeCore, ATrainerThatOthersNeedIsReleasedWithACheckpoint) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  x.pass(1000); // long enough to be worth a hand-over
  x.apply(merge_event::yield_asked{id});
  const auto lease = x.lease_of(id);
  const auto report = x.step(id, lease);
  EXPECT_TRUE(report.saved);
  EXPECT_LT(report.at, 9u);
  EXPECT_FALSE(x.trainers.at(id).granted);
  x.run_all();
  x.expect_all_as_alone();
  EXPECT_EQ(x.trained, x.distinct());
}

TEST(MergeCore, AStudyThatHasHadNothingDoesNotWaitForAReport) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto id = x.grant();
  const auto lease = x.lease_of(id);
  const auto other = x.add_study(each_three);
  x.train(other, {x.constant(.2)}, 3);
  x.apply(merge_event::heartbeat{id, lease, 0});
  EXPECT_TRUE(x.sent_stops.empty()) << "it waits for seconds";
  x.pass(fair_shares::first_quantum_seconds + 1);
  for (int i = 0; i < 3; ++i)
    x.apply(merge_event::heartbeat{id, lease, 1});
  ASSERT_EQ(x.sent_stops.size(), 1u) << "once";
  EXPECT_TRUE(x.sent_stops.back().stop.point.last);
  x.run_all();
  x.expect_all_as_alone();
  EXPECT_EQ(x.trained, x.distinct());
}

TEST(MergeCore, ATrainerGrantedTwiceIsOne) {
  started_world x;
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  x.grant(id);
  EXPECT_EQ(x.sent_leases.size(), 1u);
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, WithoutMergingEveryTrialIsTrainedAlone) {
  merger_options options;
  options.merge = false;
  started_world x{options};
  x.grant();
  x.train(0, {x.constant(.1), x.constant(.1)}, 9);
  x.run_all();
  EXPECT_EQ(x.trained, 18u);
  x.expect_all_as_alone();
}

TEST(MergeCore, APathBeyondTheLimitIsLeasedInParts) {
  merger_options options;
  options.lease_steps_max = 4;
  started_world x{options};
  x.grant();
  x.train(0, {x.constant(.1)}, 9);
  x.run_all();
  EXPECT_EQ(x.sent_leases.size(), 3u);
  x.expect_all_as_alone();
}

TEST(MergeCore, AMessageBeyondTheLimitIsLeasedInParts) {
  merger_options options;
  options.lease_bytes_max = 1; // one stage in each
  started_world x{options};
  x.grant();
  x.train(0, {x.change(.1, 3, .01)}, 9);
  x.run_all();
  ASSERT_EQ(x.sent_leases.size(), 2u);
  EXPECT_EQ(x.sent_leases[0].second.stages.size(), 1u);
  EXPECT_EQ(x.sent_leases[0].second.stops.back().at, 3u);
  x.expect_all_as_alone();
}

/// Who records what another could not reach shows that it is to blame; who says
/// that it failed further on does not.
TEST(MergeCore, WhoRecordsMoreShowsThatTheOtherIsToBlame) {
  started_world x;
  x.train(0, {x.constant(.1)}, 9);
  const auto first = x.grant();
  const auto second = trainer_id{77};
  x.apply(merge_event::able_trainers{{{first, "model"}, {second, "model"}}});
  const auto fail_at = [&](trainer_id id, step_t at) {
    auto& job = x.trainers.at(id).jobs.begin()->second;
    job.at = at;
    x.end(id, job.work.number, error{errc::training_failed, "broken"});
  };
  fail_at(first, 1);
  EXPECT_TRUE(x.blamed.empty());
  x.grant(second);
  fail_at(second, 2);
  EXPECT_TRUE(x.blamed.empty());
  const auto third = x.grant();
  x.step(third, x.lease_of(third));
  EXPECT_EQ(x.blamed, (std::set<trainer_id>{first, second}));
}

/// It would be granted and given back without an end.
TEST(MergeCore, ATrainerThatMayTakeNothingComesBackAfterAWhile) {
  started_world x{{}, 2};
  x.train(0, {x.constant(.1, 128)}, 9);
  const auto first = x.grant();
  x.train(0, {x.constant(.2, 64)}, 9);
  const auto second = x.grant();
  x.apply(merge_event::able_trainers{{{first, "model"}, {second, "model"}}});
  x.answer_demands();
  const auto lease_on = [&](trainer_id id) {
    return x.trainers.at(id).jobs.begin()->first;
  };
  ASSERT_EQ(x.trainers.at(first).jobs.size(), 1u);
  ASSERT_EQ(x.trainers.at(second).jobs.size(), 1u);
  // A lease that fails on the first could only be trained beside those of the
  // second.
  x.end(first, lease_on(first), error{errc::training_failed, "sick"});
  if (!x.trainers.at(first).granted)
    x.grant(first);
  EXPECT_FALSE(x.trainers.at(first).granted);
  ASSERT_EQ(x.cool_downs.size(), 1u);
  EXPECT_EQ(x.cool_downs.front().trainer, first);
  x.answer_demands(); // the pool has none
  EXPECT_EQ(x.trainers.at(second).jobs.size(), 2u);
  x.run_all();
  x.expect_all_as_alone();
}

TEST(MergeCore, EqualEventsGiveEqualEffects) {
  const auto numbers = [] {
    started_world x{{}, 2};
    x.grant();
    x.grant();
    x.train(0, {x.change(.1, 3, .2), x.change(.1, 6, .2), x.constant(.3)}, 9);
    x.run_all();
    std::vector<std::uint64_t> result;
    for (const auto& [id, work] : x.sent_leases)
      result.insert(result.end(),
                    {number_of(id), number_of(work.number), work.lane,
                     number_of(work.stages.front().node),
                     work.stages.back().end});
    return result;
  };
  EXPECT_EQ(numbers(), numbers());
}

TEST(MergeCore, OverviewCountsDeviceTimeOfLanesOnce) {
  started_world x{{}, 2};
  x.train(0, {x.constant(.1), x.constant(.2)}, 9);
  const auto id = x.grant();
  x.answer_demands();
  ASSERT_EQ(x.trainers.at(id).jobs.size(), 2u);
  const auto first = x.trainers.at(id).jobs.begin()->first;
  const auto second = x.trainers.at(id).jobs.rbegin()->first;
  for (int i = 0; i < 3; ++i) {
    x.pass(10);
    x.step(id, first);
    x.step(id, second);
  }
  x.apply(merge_event::time_passed{});
  const auto known = x.core.overview();
  EXPECT_DOUBLE_EQ(known.busy_seconds, 30);
  EXPECT_DOUBLE_EQ(known.study_seconds[study_no{}], 30);
  EXPECT_EQ(known.timeline.size(), 6u);
}

// -- everything at once -------------------------------------------------------

/// Studies that add, ask, drop, pause and weigh; trainers that come, die, fail,
/// stall and send again; a store that lags. Then the faults end.
struct chaos : test::random_world {
  explicit chaos(std::uint32_t seed, std::size_t unpacked_nodes_max = 0,
                 std::shared_ptr<file_memory> cold = nullptr)
    : random_world(seed, options_for(seed, unpacked_nodes_max, std::move(cold)),
                   1 + seed % 3),
      number_of_seed(seed) {}

  static merger_options options_for(std::uint32_t seed,
                                    std::size_t unpacked_nodes_max,
                                    std::shared_ptr<file_memory> cold) {
    merger_options result;
    result.unpacked_nodes_max = unpacked_nodes_max;
    result.attempts_max = 1000; // nothing fails for good
    result.stall_max = std::chrono::seconds{30};
    result.unmeasured_stall_max = std::chrono::seconds{90};
    result.lease_steps_max = seed % 5 == 0 ? 4 : 1000;
    result.kept = std::make_shared<kept_plan>(
      seed % 3 == 0
        ? waiting_limits{1 + seed % 2, 2 + seed % 5, 1 + seed % 30}
        : waiting_limits{},
      false, std::move(cold));
    result.checkpoint_bytes_max = seed % 4 == 0 ? 5000 : UINT64_MAX;
    result.merge = seed % 7 != 0;
    if (seed % 6 == 0)
      result.policy = policy::breadth_first;
    return result;
  }

  void change_study() {
    const auto no = pick(studies.size());
    auto& st = studies[no];
    switch (pick(6)) {
      case 0:
        apply(merge_event::paused_set{study_no(no), pick(2) == 0});
        break;
      case 1:
        apply(merge_event::weight_set{study_no(no),
                                      1.0 + static_cast<double>(pick(4))});
        break;
      case 2:
        if (!st.trials.empty()) {
          auto x = orders_of(no);
          const auto trial = pick(st.trials.size());
          if (st.dropped.count(trial) == 0 && st.failed.count(trial) == 0)
            x.dropped = {trial};
          give(no, x);
        }
        break;
      case 3:
        st.wants_capacity = !st.wants_capacity;
        give(no, orders_of(no));
        break;
      default:
        train(no, {test::random_segments(rng, 9)}, 3 * (1 + pick(3)));
    }
  }

  void disturb_trainer() {
    const auto found = any_lease();
    if (!found)
      return;
    const auto [id, number] = *found;
    switch (pick(7)) {
      case 0:
        end(id, number, error{errc::io_failed, "disk"});
        break;
      case 1:
        end(id, number, error{errc::training_failed, "code"});
        break;
      case 2:
        end(id, number, error{errc::bad_checkpoint, "damage"});
        break;
      case 3:
        apply(merge_event::yield_asked{id});
        break;
      case 4:
        apply(merge_event::malformed{id, "rubbish"});
        break;
      case 5: { // dies, and a report of its comes late
        auto job = trainers.at(id).jobs.at(number);
        const auto stop = job.work.stops.at(job.next_stop);
        const auto late = train_to(job, stop);
        lose(id);
        report(late, pick(2) == 0);
        trained = 0; // no figure in the end
        break;
      }
      default:
        hang(id, number);
    }
  }

  void act() {
    pass(static_cast<double>(pick(3000)) / 1000);
    switch (pick(10)) {
      case 0:
        change_study();
        break;
      case 1:
        if (trainers.size() < 4) {
          grant();
          break;
        }
        [[fallthrough]];
      case 2:
        for (const auto& [id, x] : trainers)
          if (!x.granted) {
            grant(id);
            break;
          }
        break;
      case 3:
        disturb_trainer();
        break;
      case 4:
        obey_cancels();
        break;
      case 5:
      case 6:
        if (!commits.empty())
          commit_one();
        break;
      case 7:
        if (!demands.empty())
          answer_demand();
        break;
      default:
        if (const auto x = any_lease())
          step(x->first, x->second, 1);
    }
  }

  void heal() {
    for (std::size_t i = 0; i < studies.size(); ++i) {
      studies[i].wants_capacity = false;
      give(i, orders_of(i));
      apply(merge_event::paused_set{study_no(i), false});
    }
    for (int i = 0; i < 3; ++i)
      grant();
    // Those that have cooled down, or were left aside, are granted again.
    for (int i = 0; i < 20; ++i) {
      run_all();
      obey_cancels();
      pass(61);
      for (const auto& [id, x] : trainers)
        if (!x.granted) {
          grant(id);
          break;
        }
    }
  }

  /// All from the begin to the end.
  void run() {
    for (std::size_t i = 0; i < 1 + number_of_seed % 3; ++i)
      add_study(each_three, 1.0 + static_cast<double>(i));
    apply(merge_event::started{});
    for (int i = 0; i < 150; ++i)
      act();
    heal();
  }

  /// What it has decided, for people to compare.
  std::string decisions() const {
    std::ostringstream out;
    out << std::hexfloat;
    for (const auto& [id, work] : sent_leases) {
      out << "lease " << to_string(work.number) << " to " << number_of(id)
          << " from " << work.start.file;
      for (const auto& x : work.stages)
        out << ' ' << to_string(x.node) << ':' << x.begin << '-' << x.end;
      for (const auto& x : work.stops)
        out << ' ' << x.at << x.evaluate << x.save << x.last;
      out << '\n';
    }
    for (const auto& x : sent_stops)
      out << "stop " << to_string(x.stop.lease) << ' ' << x.stop.point.at
          << '\n';
    for (const auto& x : log)
      out << x.text << '\n';
    for (const auto& file : deleted)
      out << "deleted " << file << '\n';
    for (const auto& st : studies)
      for (const auto& [no, trial] : st.trials)
        for (const auto& [at, values] : trial.delivered)
          for (const auto& [name, value] : values)
            out << no << ' ' << at << ' ' << name << ' ' << value << '\n';
    const auto known = core.status();
    out << stored.size() << " records, " << acks << " acks, "
        << known.figures.unique_steps << " unique, "
        << known.figures.shared_steps << " shared, " << known.reused_steps
        << " reused\n";
    return out.str();
  }

  std::uint32_t number_of_seed;
};

class MergeChaos : public testing::TestWithParam<std::uint32_t> {};

TEST_P(MergeChaos, EverythingIsTrainedAsAlone) {
  constexpr std::uint32_t seeds_per_case = 25;
  for (auto seed = GetParam() * seeds_per_case;
       seed < (GetParam() + 1) * seeds_per_case; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    chaos x{seed};
    x.run();
    EXPECT_TRUE(x.commits.empty());
    EXPECT_TRUE(x.unanswered.empty());
    EXPECT_TRUE(x.core.leases().leases().empty());
    for (std::size_t i = 0; i < x.studies.size(); ++i)
      x.expect_results_as_alone(i, each_three);
    if (testing::Test::HasFailure())
      return;
  }
}

// A node that is packed and unpacked again is what it was, whenever that is.
TEST_P(MergeChaos, PackingNodesChangesNoDecision) {
  constexpr std::uint32_t seeds_per_case = 3;
  for (auto seed = GetParam() * seeds_per_case;
       seed < (GetParam() + 1) * seeds_per_case; ++seed) {
    const auto cold = std::make_shared<file_memory>(testing::TempDir());
    chaos never{seed, SIZE_MAX / 4}, always{seed, 1}, sometimes{seed, 9};
    chaos in_file{seed, 1, cold};
    in_file.before_each_event = [&cold] { cold->let_go(); };
    for (auto* x : {&never, &always, &sometimes, &in_file})
      x->run();
    for (auto* x : {&always, &sometimes, &in_file})
      ASSERT_EQ(x->decisions(), never.decisions()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MergeChaos, testing::Range(0u, 12u));

} // namespace
} // namespace hippo
