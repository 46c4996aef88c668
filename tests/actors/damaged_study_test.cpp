// Whatever becomes of what is stored of one study, the others of its workload
// go on, bit for bit, and it says itself what is damaged.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "actors/stored_service.hpp"
#include "hippo/store/state_writer.hpp"

namespace hippo {
namespace {

using namespace test;

// Its values are nobody else's, and so are its nodes.
const char* const odd_one = R"(
study: odd
workload: {name: model}
objective: {metric: value, direction: minimize}
max_steps: 6
space:
  lr: {choice: [0.3, 0.4, {exponential: {initial: 0.3, gamma: 0.8}},
    {multistep: {initial: 0.4, milestones: [2, 4], gamma: 0.5}}]}
  batch_size: {choice: [64, 128]}
algorithm: {tpe: {startup: 3, max_concurrent: 3}}
budget: {trials: 8}
)";

const char* const grid_study = R"(
study: grid
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr: {choice: [0.1, {multistep: {initial: 0.1, milestones: [5], gamma: 0.5}}]}
  batch_size: {choice: [64, 128]}
algorithm: grid
)";

/// Of the tables, what selects the rows that are of study 1 alone.
const std::map<std::string, std::string> rows_of_odd{
  {"studies", "id = 1"},
  {"trials", "study = 1"},
  {"events", "study = 1"},
  {"nodes", "node IN odd_nodes"},
  {"results", "node IN odd_nodes"},
  {"metrics", "node IN odd_nodes"},
  {"checkpoints", "node IN odd_nodes"},
};

/// What a column is set to.
const std::vector<std::string> odd_values{
  "NULL",     "-1",        "0",      "1",          "3",
  "9223372036854775807",   "-9223372036854775808", "9007199254740993",
  "1e308",    "-1e308",    "9e999",  "-9e999",     "''",
  "'x'",      "' '",       "x''",    "x'00'",      "x'ff'",
  "CAST(x'c3280041' AS TEXT)",       "CAST(x'610062' AS TEXT)",
  "'../../x'", "'[]'",     "'{}'",   "'null'",     "'MEASURED'",
  "'1e999'",  "printf('%.70000c', 'y')", "randomblob(40)"};

using database_file = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

/// The tables of a state folder, behind its service's back.
class raw_tables {
public:
  explicit raw_tables(const std::string& folder) {
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open((folder + "/hippo.db").c_str(), &opened),
              SQLITE_OK);
    file_.reset(opened);
    run("CREATE TEMP TABLE odd_nodes AS"
        " WITH RECURSIVE way(node) AS ("
        "  SELECT DISTINCT node FROM events WHERE study = 1 AND node > 0"
        "  UNION SELECT n.parent FROM way w JOIN nodes n ON n.node = w.node"
        "   WHERE n.parent > 0) SELECT node FROM way");
  }

  /// @returns whether it can be done
  bool run(const std::string& sql) {
    return sqlite3_exec(file_.get(), sql.c_str(), nullptr, nullptr, nullptr)
           == SQLITE_OK;
  }

  /// The texts in the first column that a query gives.
  std::vector<std::string> texts(const std::string& sql) {
    std::vector<std::string> result;
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(file_.get(), sql.c_str(), -1, &query, nullptr),
              SQLITE_OK)
      << sql;
    while (sqlite3_step(query) == SQLITE_ROW)
      result.emplace_back(
        reinterpret_cast<const char*>(sqlite3_column_text(query, 0)));
    sqlite3_finalize(query);
    return result;
  }

private:
  database_file file_{nullptr, &sqlite3_close};
};

/// Three studies in work, whose service has died.
struct begun_studies {
  temporary_folder where;
  std::shared_ptr<fake_engine::folder> files
    = std::make_shared<fake_engine::folder>();

  begun_studies() {
    {
      stored_service x{where, files};
      for (const auto* text : {odd_one, sha_study, grid_study})
        x.submit(text);
      x.run_rounds(14);
      x.run();
    }
    // One file, which can be copied.
    raw_tables{where.path}.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
};

const begun_studies& begun() {
  static const begun_studies result;
  return result;
}

/// Goes on with the studies as `hippo serve` does.
void go_on(stored_service& x) {
  const auto studies = *x.store->load_studies();
  for (const auto& known : studies) {
    if (has_ended(known.state))
      continue;
    auto stored = *x.store->load_study(known.id);
    auto read = admit_study(stored.text, stored.file, workloads(),
                            {true, stored.algorithm});
    if (read.study) {
      (void)x.ask<study_id>(x.boss, submit_atom::value,
                            study_submission{*read.study, stored});
      continue;
    }
    stored.state = study_phase::failed;
    stored.reason = "it cannot go on: " + to_text(read.errors.front());
    ASSERT_TRUE(x.store->commit({study_saved{std::move(stored)}}));
  }
}

struct ended_studies {
  std::map<std::uint64_t, std::string> outcomes; ///< of those that are complete
  std::map<std::uint64_t, std::string> reasons;  ///< of those that have failed
};

/// Damages a copy of the studies, and goes on with them.
/// @returns nothing if they cannot be damaged so
std::optional<ended_studies> ends_after(const std::string& damage) {
  const temporary_folder where;
  std::filesystem::copy(begun().where.path, where.path,
                        std::filesystem::copy_options::recursive
                          | std::filesystem::copy_options::overwrite_existing);
  if (!damage.empty() && !raw_tables{where.path}.run(damage))
    return std::nullopt;
  ended_studies result;
  stored_service x{where, std::make_shared<fake_engine::folder>(
                            *begun().files)};
  go_on(x);
  x.run_all();
  // Trainers that rest after failures are used again after a while.
  const auto all_have_ended = [&] {
    return std::ranges::all_of(*x.store->load_studies(), [](const auto& study) {
      return has_ended(study.state);
    });
  };
  for (int i = 0; i < 120 && !all_have_ended(); ++i) {
    x.sched.advance_time(std::chrono::seconds{1});
    x.run_all();
  }
  EXPECT_TRUE(x.store->load_usage());
  EXPECT_TRUE(x.store->load_checkpoint_bytes());
  EXPECT_TRUE(x.store->load_timings());
  EXPECT_TRUE(x.store->count_states());
  const auto status = *x.ask<journal_status>(x.log, status_atom::value);
  EXPECT_EQ(status.trouble, "");
  const auto studies = *x.store->load_studies();
  for (const auto& study : studies) {
    const auto id = number_of(study.id);
    EXPECT_TRUE(has_ended(study.state)) << id;
    if (study.state == study_phase::failed)
      result.reasons[id] = study.reason;
    else if (id > 1)
      result.outcomes[id] = outcome_of(*x.store, study.id);
  }
  return result;
}

const ended_studies& undamaged() {
  static const auto result = *ends_after("");
  return result;
}

/// Expects that a damage is study 1's alone. @returns whether it could be done
bool expect_alone(const std::string& damage) {
  const auto found = ends_after(damage);
  if (!found)
    return false;
  EXPECT_EQ(found->outcomes, undamaged().outcomes) << damage;
  for (const auto& [id, reason] : found->reasons) {
    EXPECT_FALSE(reason.empty()) << damage;
    // A study whose number is damaged is another one.
    EXPECT_TRUE(id != 2 && id != 3) << damage << ": " << reason;
  }
  return true;
}

/// Why study 1 fails after a damage.
std::string reason_after(const std::string& damage) {
  const auto found = ends_after(damage);
  EXPECT_TRUE(found) << damage;
  if (!found)
    return {};
  EXPECT_EQ(found->outcomes, undamaged().outcomes) << damage;
  const auto i = found->reasons.find(1);
  return i == found->reasons.end() ? "" : i->second;
}

TEST(DamagedStudy, OthersAreThereToBeSpared) {
  EXPECT_EQ(undamaged().outcomes.size(), 2u);
  EXPECT_TRUE(undamaged().reasons.empty());
  raw_tables tables{begun().where.path};
  for (const auto& [table, rows] : rows_of_odd)
    EXPECT_FALSE(
      tables.texts("SELECT 1 FROM " + table + " WHERE " + rows).empty())
      << table;
  // Of the others, none passes its nodes.
  EXPECT_TRUE(tables
                .texts("SELECT 1 FROM events WHERE study > 1 AND node IN"
                       " odd_nodes")
                .empty());
}

TEST(DamagedStudy, SaysWhatIsDamaged) {
  const std::pair<const char*, const char*> all[] = {
    {"UPDATE studies SET weight = -1 WHERE id = 1", "its weight is '-1.0'"},
    {"UPDATE studies SET state = 'GONE' WHERE id = 1", "its state is 'GONE'"},
    {"UPDATE studies SET text = 'x' WHERE id = 1", "it cannot go on"},
    {"UPDATE events SET kind = 'x' WHERE study = 1 AND kind = 'measured'",
     "nothing is called 'x'"},
    {"UPDATE events SET trial = 99999999999 WHERE study = 1 AND"
     " kind = 'measured'",
     "it has no trial 99999999999"},
    {"UPDATE metrics SET name = '' WHERE node IN odd_nodes",
     "the name of a metric is empty"},
    {"UPDATE metrics SET value = NULL WHERE node IN odd_nodes",
     "the value of 'value' is missing"},
  };
  for (const auto& [damage, why] : all) {
    const auto reason = reason_after(damage);
    EXPECT_NE(reason.find(why), std::string::npos) << damage << ": " << reason;
  }
}

TEST(DamagedStudy, NodesThatCannotBeReadAreTrainedAgain) {
  // As a hyper-parameter without a name once left them.
  for (const auto* damage :
       {"UPDATE nodes SET configuration = x'0000' WHERE node IN odd_nodes",
        "UPDATE nodes SET parent = NULL WHERE node IN odd_nodes",
        "DELETE FROM nodes WHERE node IN odd_nodes",
        "DELETE FROM checkpoints WHERE node IN odd_nodes"})
    EXPECT_EQ(reason_after(damage), "") << damage;
}

struct DamagedStudySeeds : testing::TestWithParam<unsigned> {};

TEST_P(DamagedStudySeeds, IsFoundOutAndHarmsNobodyElse) {
  std::mt19937_64 rng{GetParam()};
  const auto one_of = [&](const auto& xs) { return xs[rng() % xs.size()]; };
  const std::vector<std::pair<std::string, std::string>> odd{
    rows_of_odd.begin(), rows_of_odd.end()};
  int done = 0;
  for (int i = 0; i < 30; ++i) {
    const auto [table, rows] = one_of(odd);
    raw_tables tables{begun().where.path};
    const auto columns =
      tables.texts("SELECT name FROM pragma_table_info('" + table + "')");
    std::string key;
    for (const auto& x : tables.texts("SELECT name FROM pragma_table_info('"
                                      + table + "') WHERE pk > 0 ORDER BY pk"))
      key += (key.empty() ? "" : ", ") + x;
    auto where = rows;
    if (rng() % 2 == 0) // one of the rows
      where = '(' + key + ") IN (SELECT " + key + " FROM " + table + " WHERE "
              + rows + " ORDER BY " + key + " LIMIT 1 OFFSET "
              + std::to_string(rng() % 5) + ')';
    const auto column = one_of(columns), value = one_of(odd_values);
    if (column == "study" && value == "3")
      continue; // that would be another's row
    const auto damage
      = rng() % 10 == 0
          ? "DELETE FROM " + table + " WHERE " + where
          : "UPDATE OR IGNORE " + table + " SET " + column + " = " + value
              + " WHERE " + where;
    SCOPED_TRACE(damage);
    done += expect_alone(damage);
  }
  EXPECT_GT(done, 5);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedStudySeeds, test::seeds(8));

} // namespace
} // namespace hippo
