#include "hippo/store/state_writer.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "hippo/net/wire/codec.hpp"
#include "hippo/store/choice_text.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/state_database.hpp"
#include "hippo/store/state_rows.hpp"
#include "hippo/store/summary_text.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// What an INTEGER of SQLite holds.
constexpr auto steps_stored_max
  = static_cast<step_t>(std::numeric_limits<std::int64_t>::max());

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

/// Sees to it that events can be added: none may have the last number that
/// there is. One that is beyond all others is nobody's any more.
expected<std::monostate> bring_in_range(sql_database& database) {
  for (;;) {
    if (auto done = database.run(
          "UPDATE OR REPLACE events SET kind = 'out of order', id ="
          " (SELECT coalesce(max(id), 0) + 1 FROM events WHERE id < 1 << 53)"
          " WHERE id = (SELECT max(id) FROM events) AND id >= 1 << 53");
        !done || database.changes() == 0)
      return done;
  }
}

} // namespace

// -- opening ------------------------------------------------------------------

state_writer::state_writer(const std::string& path, sql_database database,
                           folder_lock lock)
  : state_reader(path, std::move(database), state_version),
    lock_(std::move(lock)) {}

expected<std::unique_ptr<state_writer>>
state_writer::open(const std::string& path) {
  if (auto made = make_state_folder(path); !made)
    return made.failure();
  auto lock = folder_lock::take(path);
  if (!lock)
    return lock.failure();
  const auto file = state_database_of(path);
  std::error_code reason;
  if (!fs::exists(file, reason) && fs::exists(unfinished_copy_of(path), reason))
    return {errc::invalid_argument,
            path + " holds an unfinished copy of a state: run the same `hippo "
                   "restore` or `hippo backup` again"};
  // Its log holds what was committed last: it was no fresh folder.
  if (!fs::exists(file, reason) && fs::exists(file + "-wal", reason))
    return damaged(path, "hippo.db is missing, and its log hippo.db-wal is "
                         "there; restore a backup (hippo restore), or remove "
                         "the log to begin anew");
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
    if (auto done = migrate(*database, checkpoints_of(path)); !done)
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
                               " UNIQUE (workload, node, step)) STRICT;"
                               "CREATE TABLE IF NOT EXISTS evicted ("
                               " id INTEGER PRIMARY KEY,"
                               " workload INTEGER NOT NULL,"
                               " file TEXT NOT NULL) STRICT;");
      !set)
    return set.failure();
  if (auto done = bring_in_range(*database); !done)
    return done.failure();
  if (auto made = make_identities(*database); !made)
    return made.failure();
  if (auto made = notification_table::make(*database); !made)
    return made.failure();
  std::unique_ptr<state_writer> result{
    new state_writer{path, std::move(*database), std::move(*lock)}};
  const auto folder = result->checkpoints();
  if (fs::create_directories(folder, reason); reason)
    return file_error("cannot make the folder " + folder, reason);
  if (auto prepared = result->prepare_writers(); !prepared)
    return prepared.failure();
  return result;
}

// -- writing ------------------------------------------------------------------

expected<std::monostate> state_writer::prepare_writers() {
  const std::pair<sql_statement*, const char*> all[] = {
    {&writers_.add_workload, "INSERT INTO workloads (key) VALUES (?)"},
    {&writers_.find_workload, "SELECT id FROM workloads WHERE key = ?"},
    {&writers_.add_trained,
     // A sum that no INTEGER holds would be none: the commit would fail.
     "UPDATE workloads SET trained_steps ="
     " trained_steps + min(?2, 9223372036854775807 - trained_steps),"
     " device_seconds = device_seconds + ?3 WHERE id = ?1"},
    {&writers_.save_timing, "INSERT OR REPLACE INTO timings"
                            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    {&writers_.add_root, "INSERT INTO nodes VALUES (?, 0, NULL, 0, 0, x'')"},
    {&writers_.add_node,
     "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"},
    {&writers_.add_result,
     "INSERT INTO results VALUES (?, ?, ?, ?, ?,"
     " (julianday('now') - 2440587.5) * 86400.0) ON CONFLICT DO NOTHING"},
    {&writers_.add_metric, add_metric_sql},
    {&writers_.remove_metrics, "DELETE FROM metrics WHERE workload = ?"
                               " AND node = ? AND step = ?"},
    {&writers_.add_checkpoint,
     "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
     " ON CONFLICT DO NOTHING"},
    {&writers_.remove_checkpoint, "DELETE FROM checkpoints WHERE workload = ?"
                                  " AND node = ? AND step = ? AND file = ?"},
    {&writers_.add_evicted,
     "INSERT INTO evicted (workload, file) SELECT ?1, ?4 WHERE NOT EXISTS ("
     " SELECT 1 FROM results WHERE workload = ?1 AND node = ?2 AND step = ?3)"},
    {&writers_.forget_evicted,
     "DELETE FROM evicted WHERE id <= (SELECT max(id) FROM evicted) - ?"},
    {&writers_.add_output,
     "INSERT INTO outputs (workload, node, step, text) VALUES (?, ?, ?, ?)"
     " ON CONFLICT DO NOTHING"},
    {&writers_.forget_outputs,
     "DELETE FROM outputs WHERE id <= (SELECT max(id) FROM outputs) - ?"},
    {&writers_.save_study,
     "INSERT INTO studies VALUES"
     " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, 0, ?, ?, ?, ?, ?, ?)"
     " ON CONFLICT (id) DO UPDATE SET state = excluded.state,"
     " weight = excluded.weight, active_seconds = excluded.active_seconds,"
     " reason = excluded.reason, metric = excluded.metric,"
     " direction = excluded.direction, note = excluded.note,"
     " tags = excluded.tags, removed = excluded.removed"},
    {&writers_.add_served,
     "UPDATE studies SET device_seconds = device_seconds + ?1,"
     " cost = cost + ?2 WHERE id = ?3"},
    {&writers_.save_trial,
     "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
     " ON CONFLICT (study, trial) DO UPDATE SET state = excluded.state,"
     " params = iif(excluded.params = '', params, excluded.params),"
     " asked_to = excluded.asked_to, steps = excluded.steps,"
     " best_step = excluded.best_step, best_value = excluded.best_value,"
     " failure = excluded.failure, shared = excluded.shared,"
     " chosen = excluded.chosen, predicted = excluded.predicted,"
     " untrained = excluded.untrained"},
    {&writers_.remove_trial,
     "DELETE FROM trials WHERE study = ?1 AND trial = ?2"},
    {&writers_.save_front,
     "INSERT INTO fronts VALUES (?, ?)"
     " ON CONFLICT (study) DO UPDATE SET front = excluded.front"},
    {&writers_.add_event,
     "INSERT INTO events (study, kind, trial, step, workload, node, code, text,"
     " shared) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    {&writers_.set_generation,
     "INSERT OR REPLACE INTO meta VALUES ('generation', ?)"},
  };
  for (const auto& [statement, sql] : all) {
    auto prepared = database_.prepare(sql);
    if (!prepared)
      return prepared.failure();
    *statement = std::move(*prepared);
  }
  return notifications_.prepare(database_);
}

expected<std::monostate>
state_writer::commit(const std::vector<journal_record>& records) {
  const bool follows =
    std::all_of(records.begin(), records.end(), [](const auto& x) {
      return std::holds_alternative<trial_saved>(x)
             || std::holds_alternative<trial_removed>(x)
             || std::holds_alternative<front_saved>(x);
    });
  if (!follows)
    return write_all(records);
  // A study that receives all again saves its trials again: no need to wait
  // until the disk has them.
  if (auto set = database_.run("PRAGMA synchronous = NORMAL"); !set)
    return set;
  auto done = write_all(records);
  if (auto set = database_.run("PRAGMA synchronous = FULL"); !set)
    return set;
  return done;
}

expected<std::monostate>
state_writer::write_all(const std::vector<journal_record>& records) {
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
        = std::visit([this](const auto& x) { return write_record(x); },
                     record);
        !written)
      return undo(written.failure());
  if (auto done = database_.run("COMMIT"); !done)
    return undo(done.failure());
  return std::monostate{};
}

template <class Record>
expected<std::monostate> state_writer::write_record(const Record& record) {
  if constexpr (requires { write(record, std::uint64_t{}); }) {
    const auto workload = workload_id(record.workload_key);
    if (!workload)
      return workload.failure();
    return write(record, *workload);
  } else {
    return write(record);
  }
}

expected<std::uint64_t> state_writer::workload_id(const std::string& key) {
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
  return damaged(path(), "a workload key does not stay");
}

expected<std::monostate> state_writer::write(const node_added& record,
                                             std::uint64_t workload) {
  const auto config = encode_configuration(record.node.config);
  return writers_.add_node.bind(1, workload)
    .bind(2, record.node.id)
    .bind(3, record.node.parent)
    .bind(4, record.node.begin)
    .bind(5, record.node.strand)
    .bind_blob(6, config)
    .run();
}

expected<std::monostate> state_writer::write(const result_added& record,
                                             std::uint64_t workload) {
  const auto& result = record.result;
  auto done = writers_.add_result.bind(1, workload)
                .bind(2, result.node)
                .bind(3, result.step)
                .bind_text(4, result.device)
                .bind_text(5, result.trainer)
                .run();
  if (!done)
    return done;
  // The first one counts, metrics and all, unless it cannot be read.
  if (database_.changes() == 0) {
    const auto is_there = is_readable(workload, result.node, result.step);
    if (!is_there)
      return is_there.failure();
    if (*is_there)
      return std::monostate{};
  }
  // There are none, unless what they were of was damaged.
  if (done = writers_.remove_metrics.bind(1, workload)
               .bind(2, result.node)
               .bind(3, result.step)
               .run();
      !done)
    return done;
  for (const auto& [name, value] : result.values) {
    writers_.add_metric.bind(1, workload)
      .bind(2, result.node)
      .bind(3, result.step)
      .bind_text(4, name);
    if (done = bind_exactly(writers_.add_metric, 5, value).run(); !done)
      return done;
  }
  return std::monostate{};
}

expected<bool> state_writer::is_readable(std::uint64_t workload, node_id node,
                                         step_t step) {
  auto reader = metrics_reader::make(database_);
  if (!reader)
    return reader.failure();
  const auto measured = reader->read(workload, node, step);
  if (!measured && measured.failure().code != errc::malformed_message)
    return measured.failure();
  return measured && !measured->empty();
}

expected<std::monostate> state_writer::write(const checkpoint_added& record,
                                             std::uint64_t workload) {
  return writers_.add_checkpoint.bind(1, workload)
    .bind(2, record.checkpoint.node)
    .bind(3, record.checkpoint.step)
    .bind_text(4, record.checkpoint.file.file)
    .bind(5, record.checkpoint.file.bytes)
    .bind(6, record.checkpoint.file.digest)
    .bind_text(7, record.checkpoint.device)
    .bind_text(8, parts_text(record.checkpoint.file))
    .run();
}

expected<std::monostate> state_writer::write(const checkpoint_removed& record,
                                             std::uint64_t workload) {
  for (auto* how : {&writers_.remove_checkpoint, &writers_.add_evicted})
    if (auto done = how->bind(1, workload)
                      .bind(2, record.node)
                      .bind(3, record.step)
                      .bind_text(4, record.file)
                      .run();
        !done)
      return done;
  return writers_.forget_evicted.bind(1, evicted_max).run();
}

expected<std::monostate> state_writer::write(const output_added& record,
                                             std::uint64_t workload) {
  if (auto done = writers_.add_output.bind(1, workload)
                    .bind(2, record.output.node)
                    .bind(3, record.output.step)
                    .bind_text(4, record.output.text)
                    .run();
      !done)
    return done;
  return writers_.forget_outputs.bind(1, outputs_max).run();
}

expected<std::monostate> state_writer::write(const study_saved& record) {
  const auto& study = record.study;
  if (auto done = notifications_.note_state(study.id, study.state); !done)
    return done;
  auto done =
    writers_.save_study.bind(1, study.id)
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
      .bind_text(11, study.algorithm)
      .bind_real(12, study.submitted)
      .bind(13, std::uint64_t{study.typed})
      .bind(14, study.trials_ahead)
      .bind_text(15, study.note)
      .bind_text(16, tags_text(study.tags))
      .bind(17, std::uint64_t{study.removed})
      .run();
  if (!done || !record.notify)
    return done;
  return notifications_.add(study.id, *record.notify);
}

expected<std::monostate> state_writer::write(const steps_trained& record,
                                             std::uint64_t workload) {
  return writers_.add_trained.bind(1, workload)
    .bind(2, std::min(record.steps, steps_stored_max))
    .bind_real(3, record.device_seconds)
    .run();
}

expected<std::monostate> state_writer::write(const timing_learned& record,
                                             std::uint64_t workload) {
  return writers_.save_timing.bind(1, workload)
    .bind_text(2, record.what.device)
    .bind_text(3, to_string(record.what.what))
    .bind_text(4, record.what.speed_key)
    .bind(5, std::min(record.what.stages, steps_stored_max))
    .bind_real(6, record.what.count)
    .bind_real(7, record.what.seconds)
    .bind_real(8, record.what.squared_log_deviations)
    .bind_real(9, record.what.size.operations)
    .bind_real(10, record.what.size.parameters)
    .bind_real(11, record.what.size.samples)
    .run();
}

expected<std::monostate> state_writer::write(const study_served& record) {
  return writers_.add_served.bind_real(1, record.device_seconds)
    .bind_real(2, record.cost)
    .bind(3, record.study)
    .run();
}

expected<std::monostate> state_writer::write(const front_saved& record) {
  return writers_.save_front.bind(1, record.study)
    .bind_text(2, record.front)
    .run();
}

expected<std::monostate> state_writer::write(const trial_saved& record) {
  const auto& trial = record.trial;
  auto& to = writers_.save_trial;
  to.bind(1, record.study)
    .bind(2, trial.trial)
    .bind_text(3, to_string(trial.state))
    .bind_text(4, trial.params)
    .bind(5, trial.asked_to)
    .bind(6, trial.steps)
    .bind_text(9, trial.failure)
    .bind(10, trial.shared)
    .bind_text(11, trial.why.how);
  if (trial.best)
    to.bind(7, trial.best->step).bind_real(8, trial.best->value);
  else
    to.bind_null(7).bind_null(8);
  if (trial.why.predicted)
    to.bind_real(12, *trial.why.predicted);
  else
    to.bind_null(12);
  if (trial.why.untrained)
    to.bind(13, *trial.why.untrained);
  else
    to.bind_null(13);
  auto done = to.run();
  if (!done || !trial.best)
    return done;
  return notifications_.note_value(record.study, trial.best->value);
}

expected<std::monostate>
state_writer::write(const notification_settled& record) {
  return notifications_.settle(record);
}

expected<std::monostate> state_writer::write(const trial_removed& record) {
  return writers_.remove_trial.bind(1, record.study)
    .bind(2, record.trial)
    .run();
}

expected<std::monostate> state_writer::write(const event_added& record) {
  auto& to = writers_.add_event;
  to.bind(1, record.study).bind_null(5).bind_null(6).bind_null(7).bind_null(8);
  to.bind(9, 0);
  if (auto* y = std::get_if<trial_measured>(&record.what)) {
    auto workload = workload_id(record.workload_key);
    if (!workload)
      return workload.failure();
    to.bind_text(2, measured_kind)
      .bind(3, y->trial)
      .bind(4, y->at)
      .bind(5, *workload)
      .bind(6, y->node)
      .bind(9, y->shared);
    if (y->seed_no == 0)
      return to.run();
    to.bind(7, y->seed_no);
    if (y->is_part) // its values are those of its node
      return to.run();
    return to.bind_text(8, summary_text(y->values)).run();
  }
  if (auto* y = std::get_if<trial_failed>(&record.what))
    return to.bind_text(2, failed_kind)
      .bind(3, y->trial)
      .bind(4, y->at)
      .bind(7, static_cast<std::uint64_t>(y->reason.code))
      .bind_text(8, y->reason.message)
      .run();
  if (auto* y = std::get_if<trial_chosen>(&record.what))
    return to.bind_text(2, chosen_kind)
      .bind(3, y->trial)
      .bind(4, 0)
      .bind_text(8, choice_text(y->what))
      .run();
  const auto& y = std::get<study_command>(record.what);
  return to.bind_text(2, to_string(y.what))
    .bind(3, y.trial)
    .bind(4, y.at)
    .bind_text(8, y.text)
    .run();
}

expected<std::monostate> state_writer::write(const lease_epoch_begun& record) {
  return writers_.set_generation.bind_text(1, std::to_string(record.number))
    .run();
}

} // namespace hippo
