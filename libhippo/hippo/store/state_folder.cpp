#include "hippo/store/state_folder.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "hippo/core/nearest.hpp"
#include "hippo/wire/codec.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr auto database_name = "hippo.db";

constexpr auto schema_sql = R"(
  CREATE TABLE meta (
    key TEXT PRIMARY KEY, value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE workloads (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE nodes (
    workload INTEGER NOT NULL, node INTEGER NOT NULL, parent INTEGER NOT NULL,
    begin INTEGER NOT NULL, root_tag INTEGER NOT NULL,
    configuration BLOB NOT NULL,
    PRIMARY KEY (workload, node)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE results (
    workload INTEGER NOT NULL, node INTEGER NOT NULL, step INTEGER NOT NULL,
    device TEXT NOT NULL,
    PRIMARY KEY (workload, node, step)
  ) STRICT, WITHOUT ROWID;
  -- A value is the 8 bytes of a double: SQLite would make a NaN into a NULL.
  CREATE TABLE metrics (
    workload INTEGER NOT NULL, node INTEGER NOT NULL, step INTEGER NOT NULL,
    name TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (workload, node, step, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE checkpoints (
    workload INTEGER NOT NULL, node INTEGER NOT NULL, step INTEGER NOT NULL,
    file TEXT NOT NULL, bytes INTEGER NOT NULL, digest INTEGER NOT NULL,
    PRIMARY KEY (workload, node, step)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE studies (
    name TEXT PRIMARY KEY, text TEXT NOT NULL, seq INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
)";

error file_error(const std::string& what, const std::error_code& reason) {
  return {errc::io_failed, what + ": " + reason.message()};
}

/// Whether a fresh state folder may hold an entry of this name: what a service
/// leaves that dies before its database is there.
bool is_ours(const std::string& name) {
  return name == "lock" || name == "checkpoints" || name == "report"
         || name.starts_with(database_name);
}

/// Makes the folder if missing.
/// @returns `errc::invalid_argument` if it holds things, but no state
expected<std::monostate> make_folder(const std::string& path) {
  std::error_code reason;
  fs::create_directories(path, reason);
  if (reason)
    return file_error("cannot make the folder " + path, reason);
  const bool has_state = fs::exists(fs::path{path} / database_name, reason);
  fs::directory_iterator entries{path, reason};
  if (reason)
    return file_error("cannot read the folder " + path, reason);
  if (!has_state)
    for (const auto& entry : entries)
      if (!is_ours(entry.path().filename()))
        return {errc::invalid_argument,
                path + " holds no Hippo state, but other things ("
                  + entry.path().filename().string()
                  + "): choose an empty folder or a new name"};
  return std::monostate{};
}

/// Makes an empty database, under another name first, so that `path` is either
/// whole or missing.
expected<std::monostate> make_database(const std::string& path) {
  std::error_code reason;
  const auto fresh = path + ".new";
  fs::remove(fresh, reason);
  {
    auto database = sql_database::open(fresh, sql_database::access::write);
    if (!database)
      return database.failure();
    const auto sql = std::string{"BEGIN;"} + schema_sql
                     + "INSERT INTO meta VALUES ('version', '"
                     + std::to_string(state_version) + "'); COMMIT;";
    if (auto done = database->run(sql); !done)
      return done;
  }
  fs::rename(fresh, path, reason);
  if (reason)
    return file_error("cannot make the database " + path, reason);
  return std::monostate{};
}

expected<std::monostate> check_version(sql_database& database,
                                       const std::string& path) {
  auto query = database.prepare("SELECT value FROM meta WHERE key = 'version'");
  if (!query)
    return query.failure();
  auto found = query->step();
  if (!found)
    return found.failure();
  const auto expected_version = std::to_string(state_version);
  const std::string version{*found ? query->text(0) : "unknown"};
  if (version != expected_version)
    return {errc::incompatible_version,
            "the state in " + path + " is of version " + version
              + ", this program reads and writes version "
              + expected_version};
  return std::monostate{};
}

error damaged(const std::string& path, const std::string& what) {
  return {errc::io_failed, "the state in " + path + " is damaged: " + what};
}

std::string_view bytes_of(const double& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Returns the plan's nodes of a workload.
expected<std::vector<stored_node>>
read_nodes(sql_database& database, std::uint64_t workload,
           const std::string& path) {
  auto query = database.prepare("SELECT node, parent, begin, root_tag,"
                                " configuration FROM nodes WHERE workload = ?"
                                " ORDER BY node");
  if (!query)
    return query.failure();
  query->bind(1, workload);
  std::vector<stored_node> nodes;
  for (;;) {
    auto more = query->step();
    if (!more)
      return more.failure();
    if (!*more)
      return nodes;
    auto config = decode_configuration(query->text(4));
    if (!config)
      return damaged(path, "node " + std::to_string(query->number(0)) + ": "
                             + config.failure().message);
    nodes.push_back({query->number(0), query->number(1), query->number(2),
                     query->number(3), std::move(*config)});
  }
}

expected<std::vector<stored_result>>
read_results(sql_database& database, std::uint64_t workload,
             const std::string& path) {
  auto query = database.prepare(
    "SELECT r.node, r.step, r.device, m.name, m.value FROM results r"
    " LEFT JOIN metrics m ON m.workload = r.workload AND m.node = r.node"
    " AND m.step = r.step WHERE r.workload = ? ORDER BY r.node, r.step");
  if (!query)
    return query.failure();
  query->bind(1, workload);
  std::vector<stored_result> results;
  for (;;) {
    auto more = query->step();
    if (!more)
      return more.failure();
    if (!*more)
      return results;
    const auto node = query->number(0), step = query->number(1);
    if (results.empty() || results.back().node != node
        || results.back().step != step)
      results.push_back({node, step, {}, std::string{query->text(2)}});
    if (query->is_null(3))
      continue; // it measured nothing
    const auto bytes = query->text(4);
    double value = 0;
    if (bytes.size() != sizeof value)
      return damaged(path, "a metric is not a number");
    std::memcpy(&value, bytes.data(), sizeof value);
    results.back().values.emplace(query->text(3), value);
  }
}

expected<std::vector<stored_checkpoint>>
read_checkpoints(sql_database& database, std::uint64_t workload) {
  auto query = database.prepare("SELECT node, step, file, bytes, digest"
                                " FROM checkpoints WHERE workload = ?"
                                " ORDER BY node, step");
  if (!query)
    return query.failure();
  query->bind(1, workload);
  std::vector<stored_checkpoint> checkpoints;
  for (;;) {
    auto more = query->step();
    if (!more)
      return more.failure();
    if (!*more)
      return checkpoints;
    checkpoints.push_back({query->number(0), query->number(1),
                           {std::string{query->text(2)}, query->number(3),
                            query->number(4)}});
  }
}

/// Whether each node's parent comes before it, and whether results and
/// checkpoints lie on nodes that are there.
bool is_consistent(const stored_plan& plan) {
  const auto known = [&plan](std::uint64_t id) {
    const auto at = std::lower_bound(
      plan.nodes.begin(), plan.nodes.end(), id,
      [](const stored_node& x, std::uint64_t y) { return x.id < y; });
    return id == 0 || (at != plan.nodes.end() && at->id == id);
  };
  return std::all_of(plan.nodes.begin(), plan.nodes.end(),
                     [&known](const auto& x) {
                       return x.parent < x.id && known(x.parent);
                     })
         && std::all_of(plan.results.begin(), plan.results.end(),
                        [&known](const auto& x) { return known(x.node); })
         && std::all_of(plan.checkpoints.begin(), plan.checkpoints.end(),
                        [&known](const auto& x) { return known(x.node); });
}

} // namespace

// -- opening ------------------------------------------------------------------

state_folder::state_folder(std::string path, sql_database database,
                           std::optional<folder_lock> lock)
  : path_(std::move(path)),
    lock_(std::move(lock)),
    database_(std::move(database)) {}

expected<std::unique_ptr<state_folder>>
state_folder::open(const std::string& path) {
  if (auto made = make_folder(path); !made)
    return made.failure();
  auto lock = folder_lock::take(path);
  if (!lock)
    return lock.failure();
  const auto file = path + "/" + database_name;
  std::error_code reason;
  if (!fs::exists(file, reason))
    if (auto made = make_database(file); !made)
      return made.failure();
  auto database = sql_database::open(file, sql_database::access::write);
  if (!database)
    return database.failure();
  if (auto fine = check_version(*database, path); !fine)
    return fine.failure();
  if (auto set = database->run("PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = NORMAL;");
      !set)
    return set.failure();
  std::unique_ptr<state_folder> result{
    new state_folder{path, std::move(*database), std::move(*lock)}};
  const auto folder = result->checkpoints();
  if (fs::create_directories(folder, reason); reason)
    return file_error("cannot make the folder " + folder, reason);
  if (auto prepared = result->prepare_writers(); !prepared)
    return prepared.failure();
  return result;
}

expected<std::unique_ptr<state_folder>>
state_folder::open_read_only(const std::string& path) {
  const auto file = path + "/" + database_name;
  std::error_code reason;
  if (!fs::exists(file, reason))
    return {errc::invalid_argument, "there is no Hippo state in " + path};
  auto database = sql_database::open(file, sql_database::access::read);
  if (!database)
    return database.failure();
  if (auto fine = check_version(*database, path); !fine)
    return fine.failure();
  return std::unique_ptr<state_folder>{
    new state_folder{path, std::move(*database), std::nullopt}};
}

std::string state_folder::checkpoints() const { return path_ + "/checkpoints"; }

std::string state_folder::report() const { return path_ + "/report"; }

// -- writing ------------------------------------------------------------------

expected<std::monostate> state_folder::prepare_writers() {
  const std::pair<sql_statement*, const char*> all[] = {
    {&writers_.add_workload, "INSERT INTO workloads (key) VALUES (?)"},
    {&writers_.find_workload, "SELECT id FROM workloads WHERE key = ?"},
    {&writers_.add_node,
     "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"},
    {&writers_.add_result,
     "INSERT INTO results VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
    {&writers_.add_metric, "INSERT INTO metrics VALUES (?, ?, ?, ?, ?)"},
    {&writers_.add_checkpoint,
     "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)"
     " ON CONFLICT DO NOTHING"},
    {&writers_.remove_checkpoint, "DELETE FROM checkpoints WHERE workload = ?"
                                  " AND node = ? AND step = ?"},
    {&writers_.save_study,
     "INSERT OR REPLACE INTO studies VALUES (?, ?, ?, ?)"},
  };
  for (const auto& [statement, sql] : all) {
    auto prepared = database_.prepare(sql);
    if (!prepared)
      return prepared.failure();
    *statement = std::move(*prepared);
  }
  return std::monostate{};
}

expected<std::monostate>
state_folder::commit(const std::vector<journal_record>& records) {
  if (auto begun = database_.run("BEGIN IMMEDIATE"); !begun)
    return begun;
  const auto undo = [this](error reason) {
    // Fails if SQLite has rolled back by itself, which is as good.
    static_cast<void>(database_.run("ROLLBACK"));
    workload_ids_.clear(); // those added just now are gone
    return reason;
  };
  for (const auto& record : records)
    if (auto written = write(record); !written)
      return undo(written.failure());
  if (auto done = database_.run("COMMIT"); !done)
    return undo(done.failure());
  return std::monostate{};
}

expected<std::uint64_t> state_folder::workload_id(const std::string& key) {
  if (auto at = workload_ids_.find(key); at != workload_ids_.end())
    return at->second;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto& query = writers_.find_workload.bind_text(1, key);
    auto found = query.step();
    if (!found)
      return found.failure();
    if (*found) {
      const auto id = query.number(0);
      if (auto end = query.step(); !end) // ends the query
        return end.failure();
      workload_ids_[key] = id;
      return id;
    }
    if (auto added = writers_.add_workload.bind_text(1, key).run(); !added)
      return added.failure();
  }
  return damaged(path_, "a workload key does not stay");
}

expected<std::monostate> state_folder::add(const result_added& x) {
  auto workload = workload_id(x.workload_key);
  if (!workload)
    return workload.failure();
  const auto& result = x.result;
  auto done = writers_.add_result.bind(1, *workload)
                .bind(2, result.node)
                .bind(3, result.step)
                .bind_text(4, result.device)
                .run();
  // The first one counts, metrics and all.
  if (!done || database_.changes() == 0)
    return done;
  for (const auto& [name, value] : result.values) {
    done = writers_.add_metric.bind(1, *workload)
             .bind(2, result.node)
             .bind(3, result.step)
             .bind_text(4, name)
             .bind_blob(5, bytes_of(value))
             .run();
    if (!done)
      return done;
  }
  return std::monostate{};
}

expected<std::monostate> state_folder::write(const journal_record& record) {
  if (auto* x = std::get_if<study_saved>(&record))
    return writers_.save_study.bind_text(1, x->study.name)
      .bind_text(2, x->study.text)
      .bind(3, x->study.seq)
      .bind_text(4, x->study.record)
      .run();
  if (auto* x = std::get_if<result_added>(&record))
    return add(*x);
  if (auto* x = std::get_if<node_added>(&record)) {
    auto workload = workload_id(x->workload_key);
    if (!workload)
      return workload.failure();
    const auto config = encode_configuration(x->node.config);
    return writers_.add_node.bind(1, *workload)
      .bind(2, x->node.id)
      .bind(3, x->node.parent)
      .bind(4, x->node.begin)
      .bind(5, x->node.root_tag)
      .bind_blob(6, config)
      .run();
  }
  if (auto* x = std::get_if<checkpoint_added>(&record)) {
    auto workload = workload_id(x->workload_key);
    if (!workload)
      return workload.failure();
    return writers_.add_checkpoint.bind(1, *workload)
      .bind(2, x->checkpoint.node)
      .bind(3, x->checkpoint.step)
      .bind_text(4, x->checkpoint.file.file)
      .bind(5, x->checkpoint.file.bytes)
      .bind(6, x->checkpoint.file.digest)
      .run();
  }
  const auto& x = std::get<checkpoint_removed>(record);
  auto workload = workload_id(x.workload_key);
  if (!workload)
    return workload.failure();
  return writers_.remove_checkpoint.bind(1, *workload)
    .bind(2, x.node)
    .bind(3, x.step)
    .run();
}

// -- reading ------------------------------------------------------------------

expected<stored_plan>
state_folder::read_plan(const std::string& workload_key) {
  auto query = database_.prepare("SELECT id FROM workloads WHERE key = ?");
  if (!query)
    return query.failure();
  auto found = query->bind_text(1, workload_key).step();
  if (!found)
    return found.failure();
  if (!*found)
    return stored_plan{};
  const auto workload = query->number(0);
  auto nodes = read_nodes(database_, workload, path_);
  if (!nodes)
    return nodes.failure();
  auto results = read_results(database_, workload, path_);
  if (!results)
    return results.failure();
  auto checkpoints = read_checkpoints(database_, workload);
  if (!checkpoints)
    return checkpoints.failure();
  stored_plan plan{std::move(*nodes), std::move(*results),
                   std::move(*checkpoints)};
  if (!is_consistent(plan))
    return damaged(path_, "a node is missing");
  return plan;
}

expected<stored_plan>
state_folder::load_plan(const std::string& workload_key) {
  // One transaction: all tables as of the same moment.
  if (auto begun = database_.run("BEGIN"); !begun)
    return begun.failure();
  auto result = read_plan(workload_key);
  if (auto done = database_.run("COMMIT"); !done)
    return done.failure();
  return result;
}

expected<stored_study> state_folder::load_study(const std::string& name) {
  auto query = database_.prepare("SELECT text, seq, record FROM studies"
                                 " WHERE name = ?");
  if (!query)
    return query.failure();
  auto found = query->bind_text(1, name).step();
  if (!found)
    return found.failure();
  if (*found)
    return stored_study{name, std::string{query->text(0)}, query->number(1),
                        std::string{query->text(2)}};
  auto names = study_names();
  if (!names)
    return names.failure();
  return {errc::unknown_study,
          "no study '" + name + "'" + did_you_mean(name, *names)};
}

expected<std::vector<std::string>> state_folder::study_names() {
  auto query = database_.prepare("SELECT name FROM studies ORDER BY seq, name");
  if (!query)
    return query.failure();
  std::vector<std::string> names;
  for (;;) {
    auto more = query->step();
    if (!more)
      return more.failure();
    if (!*more)
      return names;
    names.emplace_back(query->text(0));
  }
}

} // namespace hippo
