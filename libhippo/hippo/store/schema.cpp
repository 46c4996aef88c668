#include "hippo/store/schema.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "hippo/store/code_keys.hpp"
#include "hippo/store/lanes_keys.hpp"
#include "hippo/store/shared_steps.hpp"

namespace hippo {

namespace {

constexpr auto tables_sql = R"(
  CREATE TABLE workloads (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
    trained_steps INTEGER NOT NULL DEFAULT 0,
    device_seconds REAL NOT NULL DEFAULT 0
  ) STRICT;
  -- Node 0 of each workload is the root of its plan and has no parent.
  CREATE TABLE nodes (
    workload INTEGER NOT NULL REFERENCES workloads,
    node INTEGER NOT NULL, parent INTEGER, begin INTEGER NOT NULL,
    strand INTEGER NOT NULL, configuration BLOB NOT NULL,
    PRIMARY KEY (workload, node),
    FOREIGN KEY (workload, parent) REFERENCES nodes
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE results (
    workload INTEGER NOT NULL, node INTEGER NOT NULL, step INTEGER NOT NULL,
    device TEXT NOT NULL, trainer TEXT NOT NULL DEFAULT '', time REAL,
    PRIMARY KEY (workload, node, step),
    FOREIGN KEY (workload, node) REFERENCES nodes
  ) STRICT, WITHOUT ROWID;
  -- `bits` is set only for what a REAL of SQLite does not keep: NaN and -0.
  CREATE TABLE metrics (
    workload INTEGER NOT NULL, node INTEGER NOT NULL, step INTEGER NOT NULL,
    name TEXT NOT NULL, value REAL, bits INTEGER,
    PRIMARY KEY (workload, node, step, name),
    FOREIGN KEY (workload, node, step) REFERENCES results
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE checkpoints (
    workload INTEGER NOT NULL, node INTEGER NOT NULL, step INTEGER NOT NULL,
    file TEXT NOT NULL, bytes INTEGER NOT NULL, digest INTEGER NOT NULL,
    device TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (workload, node, step),
    FOREIGN KEY (workload, node) REFERENCES nodes
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE studies (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, file TEXT NOT NULL,
    text TEXT NOT NULL, metric TEXT NOT NULL, direction TEXT NOT NULL,
    state TEXT NOT NULL, weight REAL NOT NULL, active_seconds REAL NOT NULL,
    reason TEXT NOT NULL, device_seconds REAL NOT NULL DEFAULT 0,
    algorithm TEXT NOT NULL DEFAULT '', cost REAL NOT NULL DEFAULT 0,
    submitted REAL NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX studies_by_name ON studies (name, id);
  CREATE TABLE trials (
    study INTEGER NOT NULL REFERENCES studies, trial INTEGER NOT NULL,
    state TEXT NOT NULL, params TEXT NOT NULL, asked_to INTEGER NOT NULL,
    steps INTEGER NOT NULL, best_step INTEGER, best_value REAL,
    failure TEXT NOT NULL, shared INTEGER NOT NULL DEFAULT 0,
    chosen TEXT NOT NULL DEFAULT '', predicted REAL, untrained INTEGER,
    PRIMARY KEY (study, trial)
  ) STRICT, WITHOUT ROWID;
  -- What studies have heard, in the order in which it was passed on.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    study INTEGER NOT NULL REFERENCES studies,
    time REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    kind TEXT NOT NULL, trial INTEGER NOT NULL, step INTEGER NOT NULL,
    workload INTEGER, node INTEGER, code INTEGER, text TEXT,
    shared INTEGER NOT NULL DEFAULT 0,
    FOREIGN KEY (workload, node, step) REFERENCES results
  ) STRICT;
  CREATE INDEX events_by_study ON events (study, id);
)";

/// What came with version 7: how long what a workload does takes, by kind of
/// device, and what studies of several metrics have found.
constexpr auto tables_of_version_7_sql = R"(
  CREATE TABLE timings (
    workload INTEGER NOT NULL REFERENCES workloads,
    device TEXT NOT NULL, what TEXT NOT NULL, speed TEXT NOT NULL,
    stages INTEGER NOT NULL, count REAL NOT NULL, seconds REAL NOT NULL,
    squared_log_deviations REAL NOT NULL,
    PRIMARY KEY (workload, device, what, speed)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE fronts (
    study INTEGER PRIMARY KEY REFERENCES studies, front TEXT NOT NULL
  ) STRICT;
)";

/// What came with version 8: how much there is to compute in the workload of a
/// step's time; 0: unknown.
constexpr auto columns_of_version_8_sql = R"(
  ALTER TABLE timings ADD COLUMN operations REAL NOT NULL DEFAULT 0;
  ALTER TABLE timings ADD COLUMN parameters REAL NOT NULL DEFAULT 0;
  ALTER TABLE timings ADD COLUMN samples REAL NOT NULL DEFAULT 0;
)";

/// What came with version 9: whether a study's code is given values by their
/// types (`study_spec::typed`). It was not before.
constexpr auto columns_of_version_9_sql = R"(
  ALTER TABLE studies ADD COLUMN typed INTEGER NOT NULL DEFAULT 0;
)";

/// What came with version 10: how many trials of a study may be open at a time
/// (`study_spec::trials_ahead`). It was one number for all.
constexpr auto columns_of_version_10_sql = R"(
  ALTER TABLE studies ADD COLUMN trials_ahead INTEGER NOT NULL DEFAULT 4096;
)";

/// The column of version 12: checkpoints share parts.
constexpr auto columns_of_version_12_sql = R"(
  ALTER TABLE checkpoints ADD COLUMN parts TEXT NOT NULL DEFAULT '';
)";

/// The columns of version 13: the words of people about a study, and whether
/// it is hidden.
constexpr auto columns_of_version_13_sql = R"(
  ALTER TABLE studies ADD COLUMN note TEXT NOT NULL DEFAULT '';
  ALTER TABLE studies ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE studies ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
)";

constexpr auto identities_sql = R"(
  CREATE TABLE IF NOT EXISTS identities (
    study INTEGER PRIMARY KEY REFERENCES studies, uid TEXT NOT NULL UNIQUE
  ) STRICT;
  CREATE TRIGGER IF NOT EXISTS identity_of_study AFTER INSERT ON studies BEGIN
    INSERT INTO identities VALUES (new.id, lower(hex(randomblob(16))));
  END;
  INSERT INTO identities SELECT id, lower(hex(randomblob(16))) FROM studies
    WHERE id NOT IN (SELECT study FROM identities);
)";

// Version 1 knew nothing of what studies had received: they receive it again,
// from the plan.

constexpr auto set_version_1_aside_sql = R"(
  ALTER TABLE workloads RENAME TO old_workloads;
  ALTER TABLE nodes RENAME TO old_nodes;
  ALTER TABLE results RENAME TO old_results;
  ALTER TABLE metrics RENAME TO old_metrics;
  ALTER TABLE checkpoints RENAME TO old_checkpoints;
  ALTER TABLE studies RENAME TO old_studies;
)";

constexpr auto from_version_1_sql = R"(
  INSERT INTO workloads (id, key) SELECT id, key FROM old_workloads;
  INSERT INTO nodes SELECT id, 0, NULL, 0, 0, x'' FROM old_workloads;
  INSERT INTO nodes SELECT workload, node, parent, begin, root_tag,
    configuration FROM old_nodes ORDER BY workload, node;
  INSERT INTO results (workload, node, step, device)
    SELECT * FROM old_results;
  INSERT INTO checkpoints (workload, node, step, file, bytes, digest)
    SELECT * FROM old_checkpoints;
  INSERT INTO studies (name, file, text, metric, direction, state, weight,
      active_seconds, reason)
    SELECT name, json_extract(record, '$.file'), text,
      json_extract(record, '$.metric'), 'maximize', 'RUNNING', 1, 0, ''
    FROM old_studies ORDER BY seq, name;
)";

constexpr auto drop_version_1_sql = R"(
  DROP TABLE old_workloads; DROP TABLE old_nodes; DROP TABLE old_results;
  DROP TABLE old_metrics; DROP TABLE old_checkpoints; DROP TABLE old_studies;
)";

/// Copies the metrics, which version 1 kept as the bytes of doubles.
expected<std::monostate> copy_metrics(sql_database& database) {
  auto from = database.prepare("SELECT workload, node, step, name, value"
                               " FROM old_metrics");
  if (!from)
    return from.failure();
  auto to = database.prepare(add_metric_sql);
  if (!to)
    return to.failure();
  for (;;) {
    const auto more = from->step();
    if (!more)
      return more.failure();
    if (!*more)
      return std::monostate{};
    const auto bytes = from->text(4);
    double value = 0;
    if (bytes.size() != sizeof value)
      return {errc::io_failed, "a metric is not a number"};
    std::memcpy(&value, bytes.data(), sizeof value);
    to->bind(1, from->number(0)).bind(2, from->number(1));
    to->bind(3, from->number(2)).bind_text(4, from->text(3));
    if (auto done = bind_exactly(*to, 5, value).run(); !done)
      return done;
  }
}

// Version 2 called the strand of a node `lane`.

constexpr auto from_version_2_sql = R"(
  ALTER TABLE nodes RENAME COLUMN lane TO strand;
)";

// Version 4 kept neither which steps trials shared nor which kind of device had
// made a checkpoint.

constexpr auto from_version_4_sql = R"(
  ALTER TABLE trials ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE events ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE checkpoints ADD COLUMN device TEXT NOT NULL DEFAULT '';
)";

// Version 5 kept neither what samplers had chosen, who choose again, nor how
// long trainers had worked for a study; and no algorithm was `random` there.

constexpr auto from_version_5_sql = R"(
  ALTER TABLE trials ADD COLUMN chosen TEXT NOT NULL DEFAULT '';
  ALTER TABLE trials ADD COLUMN predicted REAL;
  ALTER TABLE trials ADD COLUMN untrained INTEGER;
  ALTER TABLE studies ADD COLUMN device_seconds REAL NOT NULL DEFAULT 0;
  ALTER TABLE studies ADD COLUMN algorithm TEXT NOT NULL DEFAULT '';
)";

// Version 7 kept neither what studies had cost nor when they were submitted,
// and not which trainer had measured a state, and when.

constexpr auto from_version_7_sql = R"(
  ALTER TABLE studies ADD COLUMN cost REAL NOT NULL DEFAULT 0;
  ALTER TABLE studies ADD COLUMN submitted REAL NOT NULL DEFAULT 0;
  ALTER TABLE results ADD COLUMN trainer TEXT NOT NULL DEFAULT '';
  ALTER TABLE results ADD COLUMN time REAL;
)";

/// Goes from version 1 to the present one at once.
expected<std::monostate> migrate_from_1(sql_database& database) {
  if (auto done = database.run(set_version_1_aside_sql); !done)
    return done;
  if (auto done = make_tables(database); !done)
    return done;
  if (auto done = database.run(from_version_1_sql); !done)
    return done;
  if (auto done = copy_metrics(database); !done)
    return done;
  return database.run(drop_version_1_sql);
}

} // namespace

sql_statement& bind_exactly(sql_statement& to, int parameter, double value) {
  const bool is_kept = !std::isnan(value) && (value != 0 || !std::signbit(value));
  to.bind_real(parameter, value); // NaN becomes NULL
  return is_kept ? to.bind_null(parameter + 1)
                 : to.bind(parameter + 1, std::bit_cast<std::uint64_t>(value));
}

bool holds_exact_real(const sql_statement& from, int column) {
  if (from.is_null(column + 1))
    return !from.is_null(column);
  const auto value = std::bit_cast<double>(from.number(column + 1));
  return std::isnan(value) || value == 0;
}

double exact_real(const sql_statement& from, int column) {
  return from.is_null(column + 1)
           ? from.real(column)
           : std::bit_cast<double>(from.number(column + 1));
}

expected<std::monostate> make_tables(sql_database& database) {
  if (auto done = database.run(tables_sql); !done)
    return done;
  if (auto done = database.run(tables_of_version_7_sql); !done)
    return done;
  if (auto done = database.run(columns_of_version_8_sql); !done)
    return done;
  if (auto done = database.run(columns_of_version_9_sql); !done)
    return done;
  if (auto done = database.run(columns_of_version_10_sql); !done)
    return done;
  if (auto done = database.run(columns_of_version_12_sql); !done)
    return done;
  return database.run(columns_of_version_13_sql);
}

expected<std::monostate> make_identities(sql_database& database) {
  return database.run(identities_sql);
}

expected<bool> has_identities(sql_database& database) {
  auto query = database.prepare("SELECT 1 FROM sqlite_master"
                                " WHERE type = 'table'"
                                " AND name = 'identities'");
  return query ? query->step() : query.failure();
}

expected<std::uint64_t> read_version(sql_database& database) {
  auto query = database.prepare("SELECT value FROM meta WHERE key = 'version'");
  if (!query)
    return query.failure();
  auto found = query->step();
  if (!found)
    return found.failure();
  return *found ? std::strtoull(std::string{query->text(0)}.c_str(), nullptr, 10)
                : 0;
}

expected<std::monostate> migrate(sql_database& database,
                                 const std::string& checkpoints) {
  if (auto begun = database.run("BEGIN IMMEDIATE"); !begun)
    return begun;
  const auto from = read_version(database);
  expected<std::monostate> done = std::monostate{};
  if (!from)
    done = from.failure();
  else if (*from == 1)
    done = migrate_from_1(database);
  else if (*from == 2)
    done = database.run(from_version_2_sql);
  if (done && *from < 4)
    done = migrate_code_keys(database, checkpoints);
  if (done && *from > 1 && *from < 5)
    done = database.run(from_version_4_sql);
  if (done && *from > 1 && *from < 5)
    done = add_shared_steps(database);
  if (done && *from > 1 && *from < 6)
    done = database.run(from_version_5_sql);
  if (done && *from > 1 && *from < 7)
    done = database.run(tables_of_version_7_sql);
  if (done && *from > 1 && *from < 8)
    done = database.run(from_version_7_sql);
  if (done && *from > 1 && *from < 8)
    done = database.run(columns_of_version_8_sql);
  if (done && *from > 1 && *from < 9)
    done = database.run(columns_of_version_9_sql);
  if (done && *from > 1 && *from < 10)
    done = database.run(columns_of_version_10_sql);
  if (done && *from > 1 && *from < 12)
    done = database.run(columns_of_version_12_sql);
  if (done && *from > 1)
    done = database.run(columns_of_version_13_sql);
  if (done)
    done = migrate_lanes_keys(database, checkpoints);
  if (done)
    done = database.run("UPDATE meta SET value = '"
                        + std::to_string(state_version)
                        + "' WHERE key = 'version'; COMMIT");
  if (!done)
    static_cast<void>(database.run("ROLLBACK"));
  return done;
}

} // namespace hippo
