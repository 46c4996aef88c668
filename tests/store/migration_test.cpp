#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <variant>

#include "hippo/base/hash.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/store/schema.hpp"
#include "store/folder_fixture.hpp"
#include "store/sample_state.hpp"

namespace hippo {
namespace {

/// State folders of older versions, as their own programs made them
/// (tests/data/make_state_sample.sh).
class MigrationTest : public folder_test,
                      public testing::WithParamInterface<const char*> {
protected:
  void load_sample(const std::string& version) {
    std::filesystem::create_directories(path());
    std::ifstream file{std::string{HIPPO_TEST_DATA} + "/state_version_"
                       + version + ".sql"};
    ASSERT_TRUE(file);
    run_sql({std::istreambuf_iterator<char>{file}, {}});
  }
};

/// Takes out of a database what came after version 4, and says it is of
/// `version`, 3 or 4.
std::string back_to(int version) {
  return "UPDATE meta SET value = '" + std::to_string(version)
         + "' WHERE key = 'version';"
           "ALTER TABLE events DROP COLUMN shared;"
           "ALTER TABLE trials DROP COLUMN shared;"
           "ALTER TABLE checkpoints DROP COLUMN device;"
           "ALTER TABLE checkpoints DROP COLUMN parts;"
           "ALTER TABLE results DROP COLUMN trainer;"
           "ALTER TABLE results DROP COLUMN time;"
           "ALTER TABLE trials DROP COLUMN chosen;"
           "ALTER TABLE trials DROP COLUMN predicted;"
           "ALTER TABLE trials DROP COLUMN untrained;"
           "ALTER TABLE studies DROP COLUMN device_seconds;"
           "ALTER TABLE studies DROP COLUMN algorithm;"
           "ALTER TABLE studies DROP COLUMN cost;"
           "ALTER TABLE studies DROP COLUMN submitted;"
           "ALTER TABLE studies DROP COLUMN typed;"
           "ALTER TABLE studies DROP COLUMN trials_ahead;"
           "ALTER TABLE studies DROP COLUMN note;"
           "ALTER TABLE studies DROP COLUMN tags;"
           "ALTER TABLE studies DROP COLUMN removed;"
           "DROP TABLE timings;"
           "DROP TABLE fronts";
}

template <class Record>
std::vector<Record> records_of() {
  std::vector<Record> result;
  for (const auto& x : sample_records())
    if (const auto* y = std::get_if<Record>(&x))
      result.push_back(*y);
  return result;
}

TEST_P(MigrationTest, AnOldVersionBecomesThePresentWithNothingLost) {
  load_sample(GetParam());
  for (int again = 0; again < 2; ++again) {
    const auto folder = open();
    ASSERT_TRUE(folder);
    const auto plan = folder->load_plan(sample_key);
    ASSERT_TRUE(plan) << plan.failure().message;
    const auto nodes = records_of<node_added>();
    ASSERT_EQ(plan->nodes.size(), nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      EXPECT_EQ(plan->nodes[i], nodes[i].node); // strands too
    ASSERT_EQ(plan->results.size(), 2u);
    EXPECT_EQ(plan->results[0].values, (metrics{{"acc", 0.5}, {"loss", 1}}));
    EXPECT_TRUE(std::isnan(plan->results[1].values.at("acc")));
    EXPECT_TRUE(std::signbit(plan->results[1].values.at("loss")));
    EXPECT_EQ(plan->checkpoints,
              std::vector{records_of<checkpoint_added>().front().checkpoint});
    EXPECT_EQ(*folder->load_study("sample"),
              records_of<study_saved>().front().study);
    EXPECT_EQ(*folder->load_trials(study_id{1}, 0, 9),
              std::vector{records_of<trial_saved>().front().trial});
    const auto events = *folder->load_events(study_id{1}, 0, 9);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(std::get<study_command>(events[0].what).text, "2");
    EXPECT_EQ(std::get<trial_measured>(events[2].what).node, node_id{2});
    EXPECT_EQ(std::get<trial_failed>(events[3].what).reason.message, "no disk");
    EXPECT_EQ(folder->load_output(study_id{1}, 0, 0, 9)->front().text,
              "a line\n");
    EXPECT_EQ(folder->load_trained(sample_key)->step_seconds(), 0.075);
    EXPECT_EQ(*folder->last_lease_epoch(), 3u);
    // Who had measured it, and when, nobody knew.
    EXPECT_EQ(*folder->load_work(sample_key, {node_id{1}}),
              (std::vector<stored_work>{
                {node_id{1}, "", 10, 10, std::nullopt, std::nullopt}}));
  }
}

/// But the last ones, which have all that is read: a folder that may only be
/// read is not brought to the present one.
TEST_P(MigrationTest, AnOldVersionIsRefusedByReaders) {
  load_sample(GetParam());
  const auto reader = state_reader::open(path());
  if (std::stoull(GetParam()) >= oldest_read_version) {
    ASSERT_TRUE(reader) << reader.failure().message;
    const auto studies = (*reader)->load_studies();
    ASSERT_TRUE(studies) << studies.failure().message;
    EXPECT_FALSE(studies->empty());
    EXPECT_FALSE(studies->front().typed);
    EXPECT_EQ(studies->front().trials_ahead, trials_ahead_max);
    EXPECT_TRUE((*reader)->load_study(studies->front().name));
    EXPECT_TRUE((*reader)->load_trials(studies->front().id, 0, 10));
    return;
  }
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.failure().code, errc::incompatible_version);
  EXPECT_NE(reader.failure().message.find("which converts it"),
            std::string::npos);
}

TEST_P(MigrationTest, AnOldVersionTakesNewRecordsAfterwards) {
  load_sample(GetParam());
  stored_node more = node(5, 2);
  more.strand = 9;
  const auto done = open()->commit({node_added{sample_key, more}});
  ASSERT_TRUE(done) << done.failure().message;
  EXPECT_EQ(open()->load_plan(sample_key)->nodes.back(), more);
}

INSTANTIATE_TEST_SUITE_P(Versions, MigrationTest,
                         testing::Values("2", "3", "4", "5", "6", "7", "8", "9",
                                         "10", "11", "12"));

class LanesMigrationTest : public MigrationTest {
protected:
  /// Adds a workload key to the sample of version 10, with checkpoints.
  void add_key(const std::string& key) {
    run_sql("INSERT INTO workloads (key, trained_steps) VALUES ('" + key
            + "', 7)");
    const auto folder = folder_of(key);
    std::filesystem::create_directories(folder);
    std::ofstream{folder + "/0-1-1.ckpt"} << key;
  }

  std::string folder_of(const std::string& key) const {
    return path() + "/checkpoints/" + hash_text(key);
  }

  std::uint64_t trained(const std::string& key) {
    return open()->load_trained(key)->steps;
  }
};

TEST_F(LanesMigrationTest, OneLaneIsLeftOutOfKeys) {
  load_sample("10");
  const std::string before = "fashion-cnn;data.folder=a\\;lanes=1;lanes=1;"
                             "seed=1";
  const std::string after = "fashion-cnn;data.folder=a\\;lanes=1;seed=1";
  add_key(before);
  add_key("cifar-resnet20;lanes=16;seed=1");
  add_key("cifar-resnet20;lanes=1");
  add_key("mine;lanes=1");
  EXPECT_EQ(trained(after), 7u);
  EXPECT_EQ(trained(before), 0u);
  EXPECT_TRUE(std::filesystem::exists(folder_of(after) + "/0-1-1.ckpt"));
  EXPECT_FALSE(std::filesystem::exists(folder_of(before)));
  EXPECT_EQ(trained("cifar-resnet20"), 7u);
  EXPECT_EQ(trained("cifar-resnet20;lanes=16;seed=1"), 7u);
  EXPECT_EQ(trained("mine;lanes=1"), 7u);
}

TEST_F(LanesMigrationTest, AKeyThatIsTakenStays) {
  load_sample("10");
  add_key("folder-resnet20;seed=1");
  add_key("folder-resnet20;lanes=1;seed=1");
  EXPECT_EQ(trained("folder-resnet20;lanes=1;seed=1"), 7u);
  EXPECT_EQ(trained("folder-resnet20;seed=1"), 7u);
}

class TimingsMigrationTest : public MigrationTest {};

TEST_F(TimingsMigrationTest, WhatVersion7HasMeasuredStays) {
  load_sample("7");
  const auto all = *open()->load_timings();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].workload_key, sample_key);
  EXPECT_EQ(all[0].timings,
            (std::vector<timing>{
              {"cpu x", timed::step, "64;", 3, 12.5, 50, 0.25, {}}}));
}

// -- steps that trials share, which were not kept until version 4 -------------

class SharedStepsTest : public folder_test {};

TEST_F(SharedStepsTest, AreWorkedOutFromTheEventsInTheirOrder) {
  const std::string key = "k";
  const auto measured = [&](std::uint64_t study, trial_no trial,
                            std::uint64_t node, step_t at) {
    return event_added{study_id{study}, key,
                       trial_measured{trial, node_id{node}, at, {}}};
  };
  const auto result = [&](std::uint64_t node, step_t at) {
    return result_added{key, {node_id{node}, at, {{"m", 1}}, ""}};
  };
  const auto with_trial = [&](std::uint64_t study, trial_no trial,
                              step_t steps) {
    stored_trial x;
    x.trial = trial;
    x.params = "{}";
    x.asked_to = x.steps = steps;
    return trial_saved{study_id{study}, x};
  };
  stored_study one, two;
  one.id = study_id{1};
  one.name = one.metric = "m";
  two = one;
  two.id = study_id{2};
  stored_node branch = node(2, 1);
  branch.begin = 7;
  ASSERT_TRUE(open()->commit(
    {study_saved{one}, study_saved{two}, node_added{key, node(1)},
     node_added{key, branch}, result(1, 5), result(1, 10), result(2, 10),
     with_trial(1, 0, 10), with_trial(1, 1, 10), with_trial(2, 0, 10),
     measured(1, 0, 1, 5), measured(1, 1, 1, 5),
     measured(1, 1, 2, 10), // trains 5 to 10, the first to pass 5 to 7
     measured(1, 0, 1, 10), // had 5 to 7 from it
     measured(2, 0, 1, 5), measured(2, 0, 2, 10)}));
  run_sql(back_to(4));
  const auto folder = open();
  ASSERT_TRUE(folder);
  const auto trials = *folder->load_trials(study_id{1}, 0, 9);
  EXPECT_EQ(trials[0].shared, 2u);
  EXPECT_EQ(trials[1].shared, 5u);
  EXPECT_EQ(folder->load_trials(study_id{2}, 0, 9)->front().shared, 10u);
  std::vector<step_t> shared;
  const auto events = *folder->load_events(study_id{1}, 0, 9);
  for (const auto& x : events)
    shared.push_back(std::get<trial_measured>(x.what).shared);
  EXPECT_EQ(shared, (std::vector<step_t>{0, 5, 0, 2}));
  EXPECT_EQ(folder->count_trials(study_id{2})->shared_steps, 10u);
  EXPECT_EQ(folder->count_trials(study_id{1})->delivered_steps, 20u);
  EXPECT_EQ(folder->count_trials(study_id{1})->farthest,
            std::max(trials[0].asked_to, trials[1].asked_to));
  const std::vector<std::pair<node_id, step_t>> delivered{{node_id{1}, 10},
                                                          {node_id{2}, 10}};
  EXPECT_EQ(folder->load_plan(key)->delivered, delivered);
}

// -- keys of code, which had digests of 64 bits until version 3 --------------

study_code code_with(const std::map<std::string, std::string>& files) {
  study_code result;
  for (const auto& [path, bytes] : files)
    result.files[path] = {bytes, path == "run"};
  return result;
}

/// The key of a workload of these files as version 3 had it.
std::string old_key(const study_code& x) {
  workload_spec result{"files", {{"program", "./run"}, {"seed", 1.0}}, {}};
  for (const auto& [path, file] : x.files)
    result.options[file_option(path)]
      = hash_text((file.executable ? "x" : "-") + file.bytes);
  return key_of(result);
}

std::string present_key(const study_code& x) {
  workload_spec result{"files", {{"program", "./run"}, {"seed", 1.0}}, {}};
  for (const auto& [path, file] : x.files)
    result.options[file_option(path)] = digest_of(file);
  return key_of(result);
}

class CodeKeyTest : public folder_test {
protected:
  /// A study that has trained under a key, with a checkpoint.
  void add(std::uint64_t id, const study_code& code, const std::string& key,
           bool has_heard = true) {
    stored_study study;
    study.id = study_id{id};
    study.name = "s" + std::to_string(id);
    study.text = join({"study: s\n", to_json(code)});
    study.metric = "m";
    std::vector<journal_record> records{
      study_saved{study}, node_added{key, node(1)},
      result_added{key, {node_id{1}, 10, {{"m", 0.5}}, "cpu"}},
      checkpoint_added{key, {node_id{1}, 10, {"n1.ckpt", 2, 99}}}};
    if (has_heard)
      records.emplace_back(
        event_added{study.id, key, trial_measured{0, node_id{1}, 10, {}}});
    auto folder = open();
    ASSERT_TRUE(folder->commit(records));
    const auto files = folder->checkpoints() + '/' + hash_text(key);
    std::filesystem::create_directories(files);
    std::ofstream{files + "/n1.ckpt"} << "ab";
  }

  /// Goes back to version 3, and opens the folder.
  std::unique_ptr<state_writer> migrated() {
    run_sql(back_to(3));
    return open();
  }

  /// Whether the results and files of a key are there.
  bool has(state_reader& x, const std::string& key) {
    const bool files = std::filesystem::exists(
      x.checkpoints() + '/' + hash_text(key) + "/n1.ckpt");
    const auto plan = x.load_plan(key);
    EXPECT_TRUE(plan);
    EXPECT_EQ(plan->results.size(), files ? 1u : 0u) << key;
    return files;
  }
};

TEST_F(CodeKeyTest, ResultsAndCheckpointsMoveToTheKeyOfTheSameCode) {
  const auto code = code_with({{"run", "a"}, {"x;y\\=", "b"}});
  const auto other = code_with({{"run", "a"}, {"x;y\\=", "c"}});
  add(1, code, old_key(code));
  add(2, other, old_key(other));
  for (int again = 0; again < 2; ++again) {
    const auto folder = again == 0 ? migrated() : open();
    EXPECT_TRUE(has(*folder, present_key(code)));
    EXPECT_TRUE(has(*folder, present_key(other)));
    EXPECT_FALSE(has(*folder, old_key(code)));
    EXPECT_EQ(folder->load_events(study_id{1}, 0, 9)->size(), 1u);
  }
}

TEST_F(CodeKeyTest, WhatWasTrainedWithMoreThanItsKeySaysIsNotPassedOn) {
  const auto plain = code_with({{"run", "a"}});
  add(1, code_with({{"run", "a"}, {"helper", "b"}}), old_key(plain));
  add(2, plain, old_key(plain));
  const auto folder = migrated();
  EXPECT_FALSE(has(*folder, present_key(plain)));
  EXPECT_TRUE(has(*folder, old_key(plain)));
}

TEST_F(CodeKeyTest, ACheckpointOfAStudyThatHasHeardNothingCountsToo) {
  const auto plain = code_with({{"run", "a"}});
  add(1, code_with({{"run", "a"}, {"helper", "b"}}), old_key(plain), false);
  add(2, plain, old_key(plain));
  EXPECT_FALSE(has(*migrated(), present_key(plain)));
}

TEST_F(CodeKeyTest, AnotherStudyWithMoreFilesInItsKeyDoesNoHarm) {
  const auto plain = code_with({{"run", "a"}});
  const auto more = code_with({{"run", "a"}, {"helper", "b"}});
  add(1, plain, old_key(plain));
  add(2, more, old_key(more));
  const auto folder = migrated();
  EXPECT_TRUE(has(*folder, present_key(plain)));
  EXPECT_TRUE(has(*folder, present_key(more)));
}

TEST_F(CodeKeyTest, CodeThatNoStudyHasKeepsItsKey) {
  const auto lost = code_with({{"run", "lost"}});
  add(1, code_with({{"run", "a"}}), old_key(lost));
  const auto folder = migrated();
  EXPECT_TRUE(has(*folder, old_key(lost)));
}

} // namespace
} // namespace hippo
