// Coordinator, journal and store together: studies come and go, the service
// dies and comes back, the disk refuses.

#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "actors/run_sql.hpp"
#include "actors/stored_service.hpp"
#include "hippo/base/hash.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using namespace test;
using verb = study_command::verb;

TEST(StoredService, StudiesOfOneWorkloadShareAMergerAndAreLetGoOf) {
  const temporary_folder where;
  stored_service x{where};
  const auto first = x.submit(sha_study), second = x.submit(tpe_study);
  EXPECT_EQ(first, study_id{1});
  EXPECT_EQ(second, study_id{2});
  EXPECT_EQ(x.status().studies.size(), 2u);
  EXPECT_EQ(x.status().mergers.size(), 1u);
  x.run_all();
  x.expect_all_complete();
  EXPECT_TRUE(x.status().studies.empty());
  const auto gone = x.ask<study_actor>(x.boss, find_atom::value, first);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error(), errc::unknown_study);
  // The merger stays for a while, in case that a study comes.
  EXPECT_EQ(x.status().mergers.size(), 1u);
  for (int i = 0; i < 70; ++i) {
    x.sched.advance_time(10s);
    x.run();
  }
  EXPECT_TRUE(x.status().mergers.empty());
}

TEST(StoredService, TheSameStudyOnceMoreTrainsNothing) {
  const temporary_folder where;
  const auto files = std::make_shared<test::fake_engine::folder>();
  std::string before;
  {
    stored_service x{where, files};
    x.submit(sha_study);
    x.run_all();
    EXPECT_GT(x.trained(), 0u);
    before = outcome_of(*x.store, study_id{1});
    const auto trained = x.trained();
    EXPECT_EQ(x.store->load_usage()->at(0).trained_steps, trained);
    x.submit(sha_study);
    x.run_all();
    EXPECT_EQ(x.trained(), trained);
    EXPECT_EQ(outcome_of(*x.store, study_id{2}), before);
  }
  stored_service later{where, files};
  EXPECT_EQ(later.submit(sha_study), study_id{3});
  later.run_all();
  EXPECT_EQ(later.trained(), 0u);
  EXPECT_EQ(outcome_of(*later.store, study_id{3}), before);
}

// Another program would perhaps choose another; what is stored came of this.
TEST(StoredService, AStudyGoesOnWithTheAlgorithmThatWasChosenForIt) {
  const temporary_folder where;
  std::string text = sha_study;
  const auto line = text.find("algorithm: ");
  text.erase(line, text.find('\n', line) + 1 - line);
  stored_study stored;
  {
    stored_service x{where};
    const auto id = x.submit(text);
    stored = *x.store->load_study(id);
    EXPECT_FALSE(stored.algorithm.empty());
    x.run_all();
    x.expect_all_complete();
    stored.id = study_id{7};
    stored.text = text += "seed: 9\n"; // with results that are not known
    stored.algorithm = R"({"tpe":{"startup":7.0}})";
    ASSERT_TRUE(x.store->commit({study_saved{stored}}));
  }
  stored_service x{where};
  x.submit(text, stored);
  const auto handle = x.ask<study_actor>(x.boss, find_atom::value, stored.id);
  ASSERT_TRUE(handle);
  const auto record = x.ask<study_record>(*handle, overview_atom::value);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->algorithm, "tpe");
}

TEST(StoredService, IdleWorkloadsGiveUpCheckpointsForThoseThatAreLive) {
  const temporary_folder where;
  const auto files = std::make_shared<test::fake_engine::folder>();
  std::string path;
  std::uint64_t idle_bytes = 0;
  {
    stored_service x{where, files};
    x.submit(sha_study);
    x.run_all();
    const auto taken = *x.store->load_checkpoint_bytes();
    ASSERT_EQ(taken.size(), 1u);
    idle_bytes = taken[0].second; // each checkpoint is one byte long
    path = x.store->checkpoints() + '/' + hash_text(taken[0].first);
    const auto plan = *x.store->load_plan(taken[0].first);
    for (const auto& y : plan.checkpoints)
      std::ofstream{path + '/' + y.file.file} << 'x';
  }
  const auto files_left = [&] {
    std::uint64_t result = 0;
    for ([[maybe_unused]] const auto& x :
         std::filesystem::directory_iterator{path})
      ++result;
    return result;
  };
  ASSERT_EQ(files_left(), idle_bytes);
  ASSERT_GE(idle_bytes, 10u);
  const auto budget = idle_bytes + 5;
  stored_service x{where, files, 0ms, budget};
  x.sched.advance_time(10s);
  x.run();
  EXPECT_EQ(x.store->load_checkpoint_bytes()->at(0).second, idle_bytes);
  x.submit(of_twin(sha_study));
  x.run_all();
  const auto needed = x.store->load_checkpoint_bytes()->at(1).second;
  EXPECT_GT(needed, 5u); // until the space is divided it has all of it
  x.sched.advance_time(10s);
  x.run();
  const auto taken = *x.store->load_checkpoint_bytes();
  EXPECT_EQ(taken[1].second, needed);
  EXPECT_EQ(taken[0].second, budget - budget / 10 - needed);
  EXPECT_EQ(files_left(), taken[0].second);
  x.submit(of_twin(sha_study));
  x.run_all();
  x.expect_all_complete();
}

TEST(StoredService, LiveWorkloadsShareTheSpaceForCheckpoints) {
  const temporary_folder where;
  stored_service x{where, std::make_shared<test::fake_engine::folder>(), 0ms,
                   12};
  x.submit(sha_study);
  x.submit(of_twin(sha_study));
  x.run_all();
  for (int i = 0; i < 2; ++i) {
    x.sched.advance_time(10s);
    x.run();
  }
  x.expect_all_complete();
  const auto taken = *x.store->load_checkpoint_bytes();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_LE(taken[0].second, 6u);
  EXPECT_LE(taken[1].second, 6u);
}

TEST(StoredService, WhoAsksForAStudyThatIsYetToBeRestoredWaits) {
  const temporary_folder where;
  const auto files = std::make_shared<test::fake_engine::folder>();
  stored_service{where, files}.submit(sha_study);
  stored_service x{where, files, 0ms, UINT64_MAX, false};
  std::vector<caf::error> answers(2);
  for (std::uint64_t i = 0; i < 2; ++i) {
    answers[i] = caf::make_error(errc::cancelled); // none
    x.spawn([&x, &answer = answers[i], id = study_id{i + 1}](
              caf::event_based_actor* me) {
      me->request(x.boss, caf::infinite, find_atom::value, id)
        .then([&](const study_actor&) { answer = caf::error{}; },
              [&](caf::error& why) { answer = std::move(why); });
    });
  }
  x.run();
  EXPECT_EQ(answers[0], errc::cancelled) << "it waits";
  x.restore();
  x.self->send(x.boss, go_atom::value);
  x.run();
  EXPECT_FALSE(answers[0]);
  EXPECT_EQ(answers[1], errc::unknown_study);
}

TEST(StoredService, LeasesOfBeforeARestartHaveOtherNumbers) {
  const temporary_folder where;
  std::uint64_t before = 0;
  for (int life = 0; life < 3; ++life) {
    stored_service x{where};
    x.submit(sha_study);
    const auto generation = *x.store->last_lease_epoch();
    EXPECT_GT(generation, before);
    before = generation;
  }
}

merger_actor merger_of(stored_service& x) {
  return x.status().mergers.at(0).handle;
}

TEST(StoredService, AStudyThatDiesHasFailedAndOthersDoNotNotice) {
  const temporary_folder where, alone;
  stored_service x{where};
  x.submit(sha_study);
  const auto bad = x.submit(tpe_study);
  x.run_rounds(5);
  const auto handle = *x.ask<study_actor>(x.boss, find_atom::value, bad);
  x.self->send_exit(handle, caf::sec::runtime_error);
  x.run_all();
  const auto row = *x.store->load_study("2");
  EXPECT_EQ(row.state, study_phase::failed);
  EXPECT_NE(row.reason.find("fault of the service"), std::string::npos);
  const auto trials = *x.store->load_trials(bad, 0, 100);
  EXPECT_FALSE(trials.empty());
  for (const auto& y : trials)
    EXPECT_TRUE(has_ended(y.state)) << y.trial;
  EXPECT_EQ(x.store->load_study("1")->state, study_phase::complete);
  EXPECT_TRUE(x.status().studies.empty());
  stored_service whole{alone};
  whole.submit(sha_study);
  whole.run_all();
  EXPECT_EQ(outcome_of(*x.store, study_id{1}),
            outcome_of(*whole.store, study_id{1}));
}

TEST(StoredService, AMergerThatDiesIsMadeAgainFromWhatIsStored) {
  const temporary_folder where, alone;
  stored_service x{where};
  x.submit(sha_study);
  x.submit(of_twin(tpe_study));
  x.run_rounds(5);
  const auto dead = merger_of(x);
  x.self->send_exit(dead, caf::sec::runtime_error);
  x.run();
  EXPECT_EQ(x.status().studies.size(), 2u);
  EXPECT_NE(merger_of(x), dead);
  x.run_all();
  x.expect_all_complete();
  stored_service whole{alone};
  whole.submit(sha_study);
  whole.run_all();
  EXPECT_EQ(outcome_of(*x.store, study_id{1}),
            outcome_of(*whole.store, study_id{1}));
}

TEST(StoredService, StudiesOfAMergerThatDiesAgainHaveFailedAndOthersGoOn) {
  const temporary_folder where;
  stored_service x{where};
  x.submit(sha_study);
  x.submit(of_twin(tpe_study));
  for (int i = 0; i < 2; ++i) {
    x.run_rounds(2);
    x.self->send_exit(merger_of(x), caf::sec::runtime_error);
    x.run();
  }
  x.run_all();
  EXPECT_EQ(x.store->load_study("1")->state, study_phase::failed);
  EXPECT_EQ(x.store->load_study("2")->state, study_phase::complete);
}

TEST(StoredService, AStudyThatCannotStartHasFailed) {
  const temporary_folder where;
  stored_service x{where};
  // Where its checkpoints would go there is a file.
  std::filesystem::remove_all(x.store->checkpoints());
  std::ofstream{x.store->checkpoints()} << "in the way";
  auto read = admit_study(sha_study, "test.yaml", workloads());
  EXPECT_FALSE(x.ask<study_id>(x.boss, submit_atom::value,
                                    study_submission{*read.study, {}}));
  x.run();
  const auto row = *x.store->load_study("1");
  EXPECT_EQ(row.state, study_phase::failed);
  EXPECT_NE(row.reason.find("it cannot start"), std::string::npos);
  EXPECT_TRUE(x.status().studies.empty());
}

TEST(StoredService, AnUnknownWorkloadIsRefused) {
  const temporary_folder where;
  stored_service x{where};
  auto other = test::model_workload();
  other.name = "other";
  std::string text{sha_study};
  text.replace(text.find("name: model"), 11, "name: other");
  const auto read = admit_study(text, "test.yaml", {other});
  const auto id = x.ask<study_id>(x.boss, submit_atom::value,
                                       study_submission{*read.study, {}});
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error(), errc::unknown_workload);
  EXPECT_TRUE(x.store->load_studies()->empty());
}

struct StoredRestart : testing::TestWithParam<unsigned> {};

TEST_P(StoredRestart, GoesOnWhereItWasKilled) {
  const auto seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng{seed};
  const temporary_folder where, alone;
  const auto files = std::make_shared<test::fake_engine::folder>();
  std::vector<stored_event> heard;
  for (int life = 0; life < 5; ++life) {
    stored_service x{where, files};
    x.restore();
    if (life == 0) {
      x.submit(sha_study);
      x.submit(tpe_study);
    }
    const auto known = *x.store->load_events(study_id{2}, 0, 100'000);
    ASSERT_GE(known.size(), heard.size()); // nothing was forgotten
    for (auto turns = rng() % 200; turns > 0; --turns) {
      x.run_one(rng);
      if (rng() % 2 == 0)
        x.devices[rng() % 2]->step();
    }
    heard = *x.store->load_events(study_id{2}, 0, 100'000);
    // Dies with whatever is under way.
  }
  stored_service last{where, files};
  last.restore();
  last.run_all();
  last.expect_all_complete();
  // SHA decides the same whoever is faster.
  stored_service whole{alone};
  whole.submit(sha_study);
  whole.run_all();
  EXPECT_EQ(outcome_of(*last.store, study_id{1}),
            outcome_of(*whole.store, study_id{1}));
  const auto trials = *last.store->load_trials(study_id{2}, 0, 100);
  for (const auto& x : trials)
    EXPECT_EQ(x.steps, 6u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoredRestart, test::seeds(12));

/// All that a study says of itself, for people to compare.
std::string record_of(stored_service& x, study_id id) {
  const auto study = *x.ask<study_actor>(x.boss, find_atom::value, id);
  const auto record
    = *x.ask<study_record>(study, overview_atom::value);
  auto result = std::to_string(record.asked_steps);
  if (record.best)
    result += ' ' + std::to_string(record.best->trial) + ':'
              + std::to_string(record.best->step);
  for (const auto& trial : record.trials) {
    result += std::string{"\n"} + to_string(trial.state) + ' '
              + trial.params.dump() + ' ' + trial.failure;
    for (const auto& [step, values] : trial.results)
      for (const auto& [name, value] : values)
        result += ' ' + std::to_string(step) + ' ' + name + ' '
                  + std::to_string(value);
  }
  return result;
}

TEST(StoredService, AfterARestartAStudySaysOfItselfWhatItSaidBefore) {
  const temporary_folder where;
  const auto files = std::make_shared<test::fake_engine::folder>();
  std::string before;
  {
    stored_service x{where, files};
    x.submit(sha_study);
    x.submit(tpe_study);
    x.run_rounds(14);
    x.run();
    before = record_of(x, study_id{1}) + record_of(x, study_id{2});
  }
  stored_service x{where, files, 0ms, UINT64_MAX, false};
  x.restore();
  EXPECT_EQ(record_of(x, study_id{1}) + record_of(x, study_id{2}), before);
  for (const auto* state : {"RUNNING", "PRUNED", "COMPLETE"})
    EXPECT_NE(before.find(state), std::string::npos) << state;
}

TEST(StoredService, TrialsThatAPowerCutHasTakenAreSavedAgain) {
  const temporary_folder where;
  const auto files = std::make_shared<test::fake_engine::folder>();
  std::string before;
  {
    stored_service x{where, files};
    x.submit(sha_study);
    x.run_rounds(10);
    x.run();
    before = outcome_of(*x.store, study_id{1});
  }
  test::run_sql(where.path, "DELETE FROM trials");
  stored_service x{where, files, 0ms, UINT64_MAX, false};
  EXPECT_TRUE(outcome_of(*x.store, study_id{1}).empty());
  x.restore();
  x.run();
  EXPECT_EQ(outcome_of(*x.store, study_id{1}), before);
  EXPECT_FALSE(before.empty());
}

TEST(StoredService, WhatCannotBeStoredIsPassedOnOnceItCan) {
  const temporary_folder where;
  stored_service x{where, std::make_shared<test::fake_engine::folder>(), 1s};
  x.submit(sha_study);
  test::refuse_events(where.path);
  x.run_all();
  EXPECT_TRUE(x.store->load_events(study_id{1}, 0, 10)->empty());
  auto status = *x.ask<journal_status>(x.log, status_atom::value);
  EXPECT_NE(status.trouble.find("the disk is full"), std::string::npos);
  const auto trials = *x.store->load_trials(study_id{1}, 0, 100);
  for (const auto& trial : trials)
    EXPECT_EQ(trial.steps, 0u);
  x.sched.advance_time(2s);
  x.run_all();
  EXPECT_TRUE(x.store->load_events(study_id{1}, 0, 10)->empty());
  test::accept_events(where.path);
  x.sched.advance_time(2s);
  x.run_all();
  status = *x.ask<journal_status>(x.log, status_atom::value);
  EXPECT_TRUE(status.trouble.empty());
  EXPECT_EQ(x.store->load_study("1")->state, study_phase::complete);
}

TEST(StoredService, WithoutRetriesTheServiceEndsAndSaysWhy) {
  const temporary_folder where;
  stored_service x{where};
  x.submit(sha_study);
  test::refuse_events(where.path);
  x.self->monitor(x.boss);
  x.run_rounds(10);
  caf::error why;
  x.self->receive([&](const caf::down_msg& msg) { why = msg.reason; },
                  caf::after(0s) >> [] { FAIL() << "it goes on"; });
  EXPECT_EQ(why, errc::io_failed);
}

TEST(StoredService, WhatIsAskedForAtOnceIsCommittedTogether) {
  const temporary_folder where;
  stored_service x{where};
  for (std::uint64_t i = 1; i <= 50; ++i)
    x.self->send(x.log, commit_atom::value,
                 journal_entry{{lease_epoch_begun{100 + i}}, {}});
  x.run();
  const auto status = *x.ask<journal_status>(x.log, status_atom::value);
  EXPECT_EQ(status.records, 50u);
  EXPECT_LE(status.commits, 2u);
  EXPECT_EQ(*x.store->last_lease_epoch(), 150u);
}

TEST(StoredService, CommandsLastAndAreHeardAgain) {
  const temporary_folder where;
  {
    stored_service x{where};
    x.submit(sha_study);
    const auto study = *x.ask<study_actor>(x.boss, find_atom::value,
                                           study_id{1});
    ASSERT_TRUE(x.ask<command_answer>(
      study, command_atom::value, study_command{verb::weight, 0, 0, "3", 0}));
    ASSERT_TRUE(x.ask<command_answer>(
      study, command_atom::value, study_command{verb::pause, 0, 0, "", 0}));
    x.run();
  }
  stored_service x{where};
  x.restore();
  const auto study
    = *x.ask<study_actor>(x.boss, find_atom::value, study_id{1});
  auto status = *x.ask<study_status>(study, status_atom::value);
  EXPECT_EQ(status.state, study_phase::paused);
  EXPECT_EQ(status.view.weight, 3.0);
  x.run_all();
  EXPECT_EQ(x.trained(), 0u);
  ASSERT_TRUE(x.ask<command_answer>(
    study, command_atom::value, study_command{verb::resume, 0, 0, "", 0}));
  x.run_all();
  EXPECT_EQ(x.store->load_study("1")->state, study_phase::complete);
}

} // namespace
} // namespace hippo
