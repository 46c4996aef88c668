#include "hippo/store/state_folder.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "hippo/core/nearest.hpp"
#include "hippo/wire/codec.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr auto database_name = "hippo.db";

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
  if (fs::create_directories(path, reason))
    fs::permissions(path, fs::perms::owner_all, reason);
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
    if (auto done = database->run(
          "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
          " STRICT, WITHOUT ROWID; INSERT INTO meta VALUES ('version', '"
          + std::to_string(state_version) + "');");
        !done)
      return done;
    if (auto done = make_tables(*database); !done)
      return done;
  }
  fs::rename(fresh, path, reason);
  if (reason)
    return file_error("cannot make the database " + path, reason);
  return std::monostate{};
}

/// @returns the version, if `may_migrate` an older one too, or
///          `errc::incompatible_version`
expected<std::uint64_t> check_version(sql_database& database,
                                      const std::string& path,
                                      bool may_migrate) {
  const auto version = read_version(database);
  if (!version || *version == state_version)
    return version;
  const bool is_old
    = *version >= oldest_state_version && *version < state_version;
  if (is_old && may_migrate)
    return version;
  return {errc::incompatible_version,
          "the state in " + path + " is of version " + std::to_string(*version)
            + ", this program reads and writes version "
            + std::to_string(state_version)
            + (is_old ? ": run a service on it once, which converts it"
                      : std::string{})};
}

error damaged(const std::string& path, const std::string& what) {
  return {errc::io_failed, "the state in " + path + " is damaged: " + what};
}

/// Returns the plan's nodes of a workload.
expected<std::vector<stored_node>>
read_nodes(sql_database& database, std::uint64_t workload,
           const std::string& path) {
  auto query = database.prepare("SELECT node, parent, begin, lane,"
                                " configuration FROM nodes WHERE workload = ?"
                                " AND node > 0 ORDER BY node");
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

/// Reads all rows of a query.
template <class T, class Bind, class Read>
expected<std::vector<T>> read_all(expected<sql_statement> query, Bind&& bind,
                                  Read&& read) {
  if (!query)
    return query.failure();
  bind(*query);
  std::vector<T> result;
  for (;;) {
    auto more = query->step();
    if (!more)
      return more.failure();
    if (!*more)
      return result;
    auto row = read(*query);
    if (!row)
      return row.failure();
    result.push_back(std::move(*row));
  }
}

/// Reads what was measured at states. Those that come in the order of the table
/// cost one pass over it, others a search each.
class metrics_reader {
public:
  static expected<metrics_reader> make(sql_database& database) {
    auto query = database.prepare(
      "SELECT workload, node, step, name, value, bits FROM metrics"
      " WHERE (workload, node, step) >= (?, ?, ?)"
      " ORDER BY workload, node, step, name");
    if (!query)
      return query.failure();
    return metrics_reader{std::move(*query)};
  }

  expected<metrics> read(std::uint64_t workload, std::uint64_t node,
                         step_t step) {
    const place wanted{workload, node, step};
    if (next_ != wanted) {
      query_.reset().bind(1, workload).bind(2, node).bind(3, step);
      if (auto done = go_on(); !done)
        return done.failure();
    }
    metrics result;
    while (next_ == wanted) {
      result.emplace_hint(result.end(), query_.text(3), exact_real(query_, 4));
      if (auto done = go_on(); !done)
        return done.failure();
    }
    return result;
  }

private:
  using place = std::array<std::uint64_t, 3>;

  explicit metrics_reader(sql_statement query) : query_(std::move(query)) {}

  expected<std::monostate> go_on() {
    auto more = query_.step();
    if (!more)
      return more.failure();
    next_.reset();
    if (*more)
      next_ = {query_.number(0), query_.number(1), query_.number(2)};
    return std::monostate{};
  }

  sql_statement query_;
  std::optional<place> next_; ///< of the row that it stands at
};

expected<std::vector<stored_result>>
read_results(sql_database& database, std::uint64_t workload) {
  auto values = metrics_reader::make(database);
  if (!values)
    return values.failure();
  return read_all<stored_result>(
    database.prepare("SELECT node, step, device FROM results"
                     " WHERE workload = ? ORDER BY node, step"),
    [&](sql_statement& x) { x.bind(1, workload); },
    [&](const sql_statement& row) -> expected<stored_result> {
      const auto node = row.number(0), step = row.number(1);
      auto measured = values->read(workload, node, step);
      if (!measured)
        return measured.failure();
      return stored_result{node, step, std::move(*measured),
                           std::string{row.text(2)}};
    });
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

/// Finds the enumerator of a name, the first being `first` and the last `last`.
template <class Enum>
expected<Enum> named(std::string_view name, Enum first, Enum last) {
  for (auto i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
    if (name == to_string(static_cast<Enum>(i)))
      return static_cast<Enum>(i);
  return {errc::io_failed, "the state is damaged: nothing is called '"
                             + std::string{name} + "'"};
}

/// Reads a study without its text.
expected<stored_study> study_in(const sql_statement& row) {
  const auto state
    = named(row.text(5), study_phase::running, study_phase::cancelled);
  if (!state)
    return state.failure();
  stored_study result;
  result.id = row.number(0);
  result.name = row.text(1);
  result.file = row.text(2);
  result.metric = row.text(3);
  result.direction = row.text(4) == "minimize" ? direction::minimize
                                               : direction::maximize;
  result.state = *state;
  result.weight = row.real(6);
  result.active_seconds = row.real(7);
  result.reason = row.text(8);
  return result;
}

expected<stored_trial> trial_in(const sql_statement& row) {
  const auto state
    = named(row.text(1), trial_state::pending, trial_state::cancelled);
  if (!state)
    return state.failure();
  stored_trial result;
  result.trial = row.number(0);
  result.state = *state;
  result.params = row.text(2);
  result.asked_to = row.number(3);
  result.steps = row.number(4);
  if (!row.is_null(5))
    result.best = stored_best{row.number(5), row.real(6)};
  result.failure = row.text(7);
  return result;
}

// The kinds of events that are no commands.
constexpr auto measured_kind = "measured";
constexpr auto failed_kind = "failed";

/// Reads an event without its metrics.
expected<stored_event> event_in(const sql_statement& row) {
  stored_event result;
  result.id = row.number(0);
  result.time = row.real(1);
  const auto kind = row.text(2);
  const auto trial = row.number(3);
  const auto step = row.number(4);
  const std::string text{row.text(7)};
  if (kind == measured_kind) {
    result.what = trial_measured{trial, row.number(5), step, {}};
  } else if (kind == failed_kind) {
    result.what = trial_failed{
      trial, step, error{static_cast<errc>(row.number(6)), text}};
  } else {
    using verb = study_command::verb;
    const auto what = named(kind, verb::ask, verb::widen);
    if (!what)
      return what.failure();
    result.what = study_command{*what, trial, step, text};
  }
  return result;
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
  const auto version = check_version(*database, path, true);
  if (!version)
    return version.failure();
  if (*version < state_version)
    if (auto done = migrate(*database); !done)
      return damaged(path, done.failure().message);
  if (auto set = database->run("PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA foreign_keys = ON;"
                               // Older programs need not know of it.
                               "CREATE INDEX IF NOT EXISTS events_by_result"
                               " ON events (workload, node, step);"
                               "CREATE TABLE IF NOT EXISTS outputs ("
                               " id INTEGER PRIMARY KEY,"
                               " workload INTEGER NOT NULL,"
                               " node INTEGER NOT NULL, step INTEGER NOT NULL,"
                               " text TEXT NOT NULL,"
                               " UNIQUE (workload, node, step)) STRICT;");
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
  if (auto fine = check_version(*database, path, false); !fine)
    return fine.failure();
  return std::unique_ptr<state_folder>{
    new state_folder{path, std::move(*database), std::nullopt}};
}

std::string state_folder::checkpoints() const { return checkpoints_of(path_); }

std::string state_folder::report() const { return path_ + "/report"; }

// -- writing ------------------------------------------------------------------

expected<std::monostate> state_folder::prepare_writers() {
  const std::pair<sql_statement*, const char*> all[] = {
    {&writers_.add_workload, "INSERT INTO workloads (key) VALUES (?)"},
    {&writers_.find_workload, "SELECT id FROM workloads WHERE key = ?"},
    {&writers_.add_trained,
     "UPDATE workloads SET trained_steps = trained_steps + ?2,"
     " device_seconds = device_seconds + ?3 WHERE id = ?1"},
    {&writers_.add_root, "INSERT INTO nodes VALUES (?, 0, NULL, 0, 0, x'')"},
    {&writers_.add_node,
     "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"},
    {&writers_.add_result,
     "INSERT INTO results VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
    {&writers_.add_metric, add_metric_sql},
    {&writers_.add_checkpoint,
     "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)"
     " ON CONFLICT DO NOTHING"},
    {&writers_.remove_checkpoint, "DELETE FROM checkpoints WHERE workload = ?"
                                  " AND node = ? AND step = ?"},
    {&writers_.add_output,
     "INSERT INTO outputs (workload, node, step, text) VALUES (?, ?, ?, ?)"
     " ON CONFLICT DO NOTHING"},
    {&writers_.forget_outputs,
     "DELETE FROM outputs WHERE id <= (SELECT max(id) FROM outputs) - ?"},
    {&writers_.save_study,
     "INSERT INTO studies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
     " ON CONFLICT (id) DO UPDATE SET state = excluded.state,"
     " weight = excluded.weight, active_seconds = excluded.active_seconds,"
     " reason = excluded.reason, metric = excluded.metric,"
     " direction = excluded.direction"},
    {&writers_.save_trial,
     "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
     " ON CONFLICT (study, trial) DO UPDATE SET state = excluded.state,"
     " params = iif(excluded.params = '', params, excluded.params),"
     " asked_to = excluded.asked_to, steps = excluded.steps,"
     " best_step = excluded.best_step, best_value = excluded.best_value,"
     " failure = excluded.failure"},
    {&writers_.add_event,
     "INSERT INTO events (study, kind, trial, step, workload, node, code, text)"
     " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
    {&writers_.set_generation,
     "INSERT OR REPLACE INTO meta VALUES ('generation', ?)"},
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
  const bool follows
    = std::all_of(records.begin(), records.end(), [](const auto& x) {
        return std::holds_alternative<trial_saved>(x);
      });
  if (!follows)
    return write_all(records);
  // A study that hears all again saves its trials again: no need to wait until
  // the disk has them.
  if (auto set = database_.run("PRAGMA synchronous = NORMAL"); !set)
    return set;
  auto done = write_all(records);
  if (auto set = database_.run("PRAGMA synchronous = FULL"); !set)
    return set;
  return done;
}

expected<std::monostate>
state_folder::write_all(const std::vector<journal_record>& records) {
  if (auto begun = database_.run("BEGIN IMMEDIATE"); !begun)
    return begun;
  const auto undo = [this](error reason) {
    // Fails if SQLite has rolled back by itself, which is as good.
    static_cast<void>(database_.run("ROLLBACK"));
    workload_ids_.clear(); // those added just now are gone
    return reason;
  };
  for (const auto& record : records)
    if (auto written
        = std::visit([this](const auto& x) { return write(x); }, record);
        !written)
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
    if (auto added = writers_.add_root.bind(1, database_.last_id()).run();
        !added)
      return added.failure();
  }
  return damaged(path_, "a workload key does not stay");
}

expected<std::monostate> state_folder::write(const node_added& x) {
  auto workload = workload_id(x.workload_key);
  if (!workload)
    return workload.failure();
  const auto config = encode_configuration(x.node.config);
  return writers_.add_node.bind(1, *workload)
    .bind(2, x.node.id)
    .bind(3, x.node.parent)
    .bind(4, x.node.begin)
    .bind(5, x.node.strand)
    .bind_blob(6, config)
    .run();
}

expected<std::monostate> state_folder::write(const result_added& x) {
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
    writers_.add_metric.bind(1, *workload)
      .bind(2, result.node)
      .bind(3, result.step)
      .bind_text(4, name);
    if (done = bind_exactly(writers_.add_metric, 5, value).run(); !done)
      return done;
  }
  return std::monostate{};
}

expected<std::monostate> state_folder::write(const checkpoint_added& x) {
  auto workload = workload_id(x.workload_key);
  if (!workload)
    return workload.failure();
  return writers_.add_checkpoint.bind(1, *workload)
    .bind(2, x.checkpoint.node)
    .bind(3, x.checkpoint.step)
    .bind_text(4, x.checkpoint.file.file)
    .bind(5, x.checkpoint.file.bytes)
    .bind(6, x.checkpoint.file.digest)
    .run();
}

expected<std::monostate> state_folder::write(const checkpoint_removed& x) {
  auto workload = workload_id(x.workload_key);
  if (!workload)
    return workload.failure();
  return writers_.remove_checkpoint.bind(1, *workload)
    .bind(2, x.node)
    .bind(3, x.step)
    .run();
}

expected<std::monostate> state_folder::write(const output_added& x) {
  auto workload = workload_id(x.workload_key);
  if (!workload)
    return workload.failure();
  if (auto done = writers_.add_output.bind(1, *workload)
                    .bind(2, x.output.node)
                    .bind(3, x.output.step)
                    .bind_text(4, x.output.text)
                    .run();
      !done)
    return done;
  return writers_.forget_outputs.bind(1, outputs_max).run();
}

expected<std::monostate> state_folder::write(const study_saved& x) {
  const auto& study = x.study;
  return writers_.save_study.bind(1, study.id)
    .bind_text(2, study.name)
    .bind_text(3, study.file)
    .bind_text(4, study.text)
    .bind_text(5, study.metric)
    .bind_text(6, study.direction == direction::maximize ? "maximize"
                                                         : "minimize")
    .bind_text(7, to_string(study.state))
    .bind_real(8, study.weight)
    .bind_real(9, study.active_seconds)
    .bind_text(10, study.reason)
    .run();
}

expected<std::monostate> state_folder::write(const steps_trained& x) {
  auto workload = workload_id(x.workload_key);
  if (!workload)
    return workload.failure();
  return writers_.add_trained.bind(1, *workload)
    .bind(2, x.steps)
    .bind_real(3, x.device_seconds)
    .run();
}

expected<std::monostate> state_folder::write(const trial_saved& x) {
  const auto& trial = x.trial;
  auto& to = writers_.save_trial;
  to.bind(1, x.study)
    .bind(2, trial.trial)
    .bind_text(3, to_string(trial.state))
    .bind_text(4, trial.params)
    .bind(5, trial.asked_to)
    .bind(6, trial.steps)
    .bind_text(9, trial.failure);
  if (trial.best)
    to.bind(7, trial.best->step).bind_real(8, trial.best->value);
  else
    to.bind_null(7).bind_null(8);
  return to.run();
}

expected<std::monostate> state_folder::write(const event_added& x) {
  auto& to = writers_.add_event;
  to.bind(1, x.study).bind_null(5).bind_null(6).bind_null(7).bind_null(8);
  if (auto* y = std::get_if<trial_measured>(&x.what)) {
    auto workload = workload_id(x.workload_key);
    if (!workload)
      return workload.failure();
    return to.bind_text(2, measured_kind)
      .bind(3, y->trial)
      .bind(4, y->at)
      .bind(5, *workload)
      .bind(6, y->node)
      .run();
  }
  if (auto* y = std::get_if<trial_failed>(&x.what))
    return to.bind_text(2, failed_kind)
      .bind(3, y->trial)
      .bind(4, y->at)
      .bind(7, static_cast<std::uint64_t>(y->reason.code))
      .bind_text(8, y->reason.message)
      .run();
  const auto& y = std::get<study_command>(x.what);
  return to.bind_text(2, to_string(y.what))
    .bind(3, y.trial)
    .bind(4, y.at)
    .bind_text(8, y.text)
    .run();
}

expected<std::monostate> state_folder::write(const generation_begun& x) {
  return writers_.set_generation.bind_text(1, std::to_string(x.number)).run();
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
  auto results = read_results(database_, workload);
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

expected<stored_study>
state_folder::load_study(const std::string& id_or_name) {
  auto query = database_.prepare(
    "SELECT id, name, file, metric, direction, state, weight, active_seconds,"
    " reason, text FROM studies WHERE name = ?1 OR CAST(id AS TEXT) = ?1"
    // A name may look like an id: an id is what it is taken for.
    " ORDER BY CAST(id AS TEXT) = ?1 DESC, id DESC LIMIT 1");
  if (!query)
    return query.failure();
  auto found = query->bind_text(1, id_or_name).step();
  if (!found)
    return found.failure();
  if (*found) {
    auto study = study_in(*query);
    if (study)
      study->text = query->text(9);
    return study;
  }
  auto studies = load_studies();
  if (!studies)
    return studies.failure();
  std::vector<std::string> names;
  for (const auto& x : *studies)
    names.push_back(x.name);
  return {errc::unknown_study,
          "no study '" + id_or_name + "'" + did_you_mean(id_or_name, names)};
}

expected<std::vector<stored_study>> state_folder::load_studies() {
  return read_all<stored_study>(
    database_.prepare("SELECT id, name, file, metric, direction, state, weight,"
                      " active_seconds, reason FROM studies ORDER BY id"),
    [](sql_statement&) {}, study_in);
}

expected<std::vector<stored_trial>>
state_folder::load_trials(std::uint64_t study, std::uint64_t first,
                          std::size_t most) {
  return read_all<stored_trial>(
    database_.prepare(
      "SELECT trial, state, params, asked_to, steps, best_step, best_value,"
      " failure FROM trials WHERE study = ? AND trial >= ? ORDER BY trial"
      " LIMIT ?"),
    [&](sql_statement& x) { x.bind(1, study).bind(2, first).bind(3, most); },
    trial_in);
}

expected<std::vector<stored_event>>
state_folder::load_events(std::uint64_t study, std::uint64_t after,
                          std::size_t most) {
  struct measured_state {
    std::uint64_t workload = 0;
    std::uint64_t node = 0;
    step_t step = 0;
    std::size_t event = 0; ///< its place among them
  };
  std::vector<measured_state> states;
  auto result = read_all<stored_event>(
    database_.prepare("SELECT id, time, kind, trial, step, node, code, text,"
                      " workload FROM events WHERE study = ? AND id > ?"
                      " ORDER BY id LIMIT ?"),
    [&](sql_statement& x) { x.bind(1, study).bind(2, after).bind(3, most); },
    [&, i = std::size_t{0}](
      const sql_statement& row) mutable -> expected<stored_event> {
      auto event = event_in(row);
      if (!event)
        return damaged(path_, event.failure().message);
      event->study = study;
      if (const auto* x = std::get_if<trial_measured>(&event->what))
        states.push_back({row.number(8), x->node, x->at, i});
      ++i;
      return event;
    });
  if (!result)
    return result;
  std::sort(states.begin(), states.end(), [](const auto& x, const auto& y) {
    return std::tie(x.workload, x.node, x.step)
           < std::tie(y.workload, y.node, y.step);
  });
  auto values = metrics_reader::make(database_);
  if (!values)
    return values.failure();
  for (const auto& x : states) {
    auto measured = values->read(x.workload, x.node, x.step);
    if (!measured)
      return measured.failure();
    std::get<trial_measured>((*result)[x.event].what).values
      = std::move(*measured);
  }
  return result;
}

expected<std::optional<state_folder::best_trial>>
state_folder::load_best(const stored_study& study) {
  const std::string order
    = study.direction == direction::maximize ? "DESC" : "ASC";
  auto query = database_.prepare(
    "SELECT trial, state, params, asked_to, steps, best_step, best_value,"
    " failure, (SELECT node FROM events e WHERE e.study = t.study"
    "  AND e.trial = t.trial AND e.step = best_step AND kind = ?2)"
    " FROM trials t WHERE study = ?1 AND best_value IS NOT NULL"
    " ORDER BY best_value " + order + ", trial LIMIT 1");
  if (!query)
    return query.failure();
  auto found = query->bind(1, study.id).bind_text(2, measured_kind).step();
  if (!found)
    return found.failure();
  if (!*found)
    return std::optional<best_trial>{};
  auto trial = trial_in(*query);
  if (!trial)
    return trial.failure();
  best_trial result{std::move(*trial), std::nullopt};
  if (!query->is_null(8))
    result.node = query->number(8);
  return std::optional{std::move(result)};
}

expected<std::vector<state_folder::heard_measurement>>
state_folder::load_heard(std::uint64_t study, std::uint64_t after,
                         std::size_t most) {
  return read_all<heard_measurement>(
    database_.prepare(
      "SELECT id, trial, step, node, EXISTS (SELECT 1 FROM events o"
      " WHERE o.workload = e.workload AND o.node = e.node AND o.step = e.step"
      " AND o.id < e.id) FROM events e WHERE study = ?1 AND id > ?2"
      " AND kind = ?4 ORDER BY id LIMIT ?3"),
    [&](sql_statement& x) {
      x.bind(1, study).bind(2, after).bind(3, most).bind_text(4, measured_kind);
    },
    [](const sql_statement& row) -> expected<heard_measurement> {
      return heard_measurement{row.number(0), row.number(1), row.number(2),
                               row.number(3), row.number(4) != 0};
    });
}

expected<metrics> state_folder::load_metrics(std::uint64_t study,
                                             std::uint64_t trial, step_t step) {
  auto query = database_.prepare(
    "SELECT m.name, m.value, m.bits FROM events e JOIN metrics m"
    " ON m.workload = e.workload AND m.node = e.node AND m.step = e.step"
    " WHERE e.study = ? AND e.trial = ? AND e.step = ? AND e.kind = ?");
  if (!query)
    return query.failure();
  query->bind(1, study).bind(2, trial).bind(3, step);
  query->bind_text(4, measured_kind);
  metrics result;
  for (;;) {
    auto more = query->step();
    if (!more)
      return more.failure();
    if (!*more)
      return result;
    result.emplace(query->text(0), exact_real(*query, 1));
  }
}

expected<std::vector<stored_output>>
state_folder::load_output(std::uint64_t study, std::uint64_t trial,
                          step_t first, std::size_t most) {
  // From the node of the last measurement to the root: of each node the states
  // between its begin and that of the next one.
  return read_all<stored_output>(
    database_.prepare(
      "WITH RECURSIVE last AS (SELECT workload, node, step FROM events"
      "  WHERE study = ?1 AND trial = ?2 AND kind = ?5"
      "  ORDER BY step DESC LIMIT 1),"
      " way (workload, node, parent, begin, until) AS ("
      "  SELECT n.workload, n.node, n.parent, n.begin, l.step FROM last l"
      "  JOIN nodes n ON n.workload = l.workload AND n.node = l.node"
      "  UNION ALL"
      "  SELECT n.workload, n.node, n.parent, n.begin, w.begin FROM way w"
      "  JOIN nodes n ON n.workload = w.workload AND n.node = w.parent)"
      " SELECT o.node, o.step, o.text FROM way w JOIN outputs o"
      " ON o.workload = w.workload AND o.node = w.node AND o.step <= w.until"
      " AND (o.step > w.begin OR w.begin = 0)"
      " WHERE o.step >= ?3 ORDER BY o.step LIMIT ?4"),
    [&](sql_statement& x) {
      x.bind(1, study).bind(2, trial).bind(3, first).bind(4, most);
      x.bind_text(5, measured_kind);
    },
    [](const sql_statement& row) -> expected<stored_output> {
      return stored_output{row.number(0), row.number(1),
                           std::string{row.text(2)}};
    });
}

expected<state_folder::trial_counts>
state_folder::count_trials(std::uint64_t study) {
  auto query = database_.prepare(
    "SELECT count(*), total(state NOT IN (?2, ?3, ?4)), total(asked_to)"
    " FROM trials WHERE study = ?1");
  if (!query)
    return query.failure();
  query->bind(1, study)
    .bind_text(2, to_string(trial_state::pending))
    .bind_text(3, to_string(trial_state::running))
    .bind_text(4, to_string(trial_state::paused));
  if (auto found = query->step(); !found)
    return found.failure();
  return trial_counts{query->number(0),
                      static_cast<std::uint64_t>(query->real(1)),
                      static_cast<std::uint64_t>(query->real(2))};
}

expected<state_folder::state_counts> state_folder::count_states() {
  state_counts result;
  const std::pair<const char*, std::map<std::string, std::uint64_t>*> all[] = {
    {"SELECT state, count(*) FROM studies GROUP BY state", &result.studies},
    {"SELECT state, count(*) FROM trials GROUP BY state", &result.trials}};
  for (const auto& [sql, counts] : all) {
    auto query = database_.prepare(sql);
    if (!query)
      return query.failure();
    for (;;) {
      auto more = query->step();
      if (!more)
        return more.failure();
      if (!*more)
        break;
      counts->emplace(query->text(0), query->number(1));
    }
  }
  return result;
}

expected<std::uint64_t> state_folder::data_version() {
  return read_number("PRAGMA data_version");
}

expected<std::vector<state_folder::usage>> state_folder::load_usage() {
  return read_all<usage>(
    database_.prepare(
      "SELECT key,"
      " (SELECT count(*) FROM nodes WHERE workload = w.id AND node > 0),"
      " (SELECT count(*) FROM results WHERE workload = w.id),"
      " (SELECT count(*) FROM checkpoints WHERE workload = w.id),"
      " (SELECT coalesce(sum(bytes), 0) FROM checkpoints"
      "  WHERE workload = w.id), trained_steps, device_seconds"
      " FROM workloads w ORDER BY id"),
    [](sql_statement&) {},
    [](const sql_statement& x) -> expected<usage> {
      return usage{std::string{x.text(0)}, x.number(1), x.number(2),
                   x.number(3), x.number(4), x.number(5), x.real(6)};
    });
}

expected<std::vector<std::pair<std::string, std::uint64_t>>>
state_folder::load_checkpoint_bytes() {
  using row = std::pair<std::string, std::uint64_t>;
  return read_all<row>(
    database_.prepare("SELECT key, sum(bytes) FROM workloads w"
                      " JOIN checkpoints c ON c.workload = w.id"
                      " GROUP BY w.id ORDER BY w.id"),
    [](sql_statement&) {},
    [](const sql_statement& x) -> expected<row> {
      return row{std::string{x.text(0)}, x.number(1)};
    });
}

expected<double>
state_folder::load_step_seconds(const std::string& workload_key) {
  auto query = database_.prepare("SELECT device_seconds / trained_steps"
                                 " FROM workloads WHERE key = ?"
                                 " AND trained_steps > 0");
  if (!query)
    return query.failure();
  auto found = query->bind_text(1, workload_key).step();
  if (!found)
    return found.failure();
  return *found ? query->real(0) : 0.0;
}

expected<std::uint64_t> state_folder::read_number(const char* sql) {
  auto query = database_.prepare(sql);
  if (!query)
    return query.failure();
  auto found = query->step();
  if (!found)
    return found.failure();
  return *found ? query->number(0) : 0;
}

expected<std::uint64_t> state_folder::last_study() {
  return read_number("SELECT coalesce(max(id), 0) FROM studies");
}

expected<std::uint64_t> state_folder::last_generation() {
  return read_number("SELECT CAST(value AS INTEGER) FROM meta"
                     " WHERE key = 'generation'");
}

} // namespace hippo
