#include "hippo/store/state_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/store/plan_parts.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/sql_rows.hpp"
#include "hippo/store/state_database.hpp"
#include "hippo/store/state_rows.hpp"

namespace hippo {

namespace {

/// Whoever asks for a study that is not there is told the names of so many.
constexpr std::size_t listed_names_max = 10;

/// Where the table of studies is damaged, so many are looked for one by one.
constexpr std::uint64_t damaged_studies_max = 100'000;

namespace fs = std::filesystem;

expected<std::uint64_t> first_number(const sql_statement& row) {
  return row.number(0);
}

/// Binds the only parameter of a query.
auto binds(std::uint64_t only) {
  return [only](sql_statement& x) { x.bind(1, only); };
}

expected<std::vector<timing>> read_timings(sql_database& database,
                                           std::uint64_t workload) {
  const auto rows = read_all<std::optional<timing>>(
    database.prepare("SELECT " + timing_columns
                     + " FROM timings WHERE workload = ?"
                       " ORDER BY device, what, speed"),
    binds(workload),
    [](const sql_statement& row) -> expected<std::optional<timing>> {
      return timing_in(row);
    });
  if (!rows)
    return rows.failure();
  std::vector<timing> result; // what is damaged is measured again
  for (const auto& x : *rows)
    if (x)
      result.push_back(*x);
  return result;
}

} // namespace

// -- opening ------------------------------------------------------------------

state_reader::state_reader(std::string path, sql_database database,
                           std::uint64_t version)
  : database_(std::move(database)), path_(std::move(path)), version_(version),
    study_columns_(study_columns_of(version)) {}

expected<std::unique_ptr<state_reader>>
state_reader::open(const std::string& path) {
  const auto file = state_database_of(path);
  std::error_code reason;
  if (!fs::exists(file, reason))
    return {errc::invalid_argument, "there is no Hippo state in " + path};
  auto database = sql_database::open(file, sql_database::access::read);
  if (!database)
    return database.failure();
  const auto version = check_version(*database, path, false);
  if (!version)
    return version.failure();
  return std::unique_ptr<state_reader>{
    new state_reader{path, std::move(*database), *version}};
}

std::string state_reader::checkpoints() const { return checkpoints_of(path_); }

std::string state_reader::report() const { return path_ + "/report"; }

// -- reading ------------------------------------------------------------------

expected<std::optional<std::uint64_t>>
state_reader::find_workload(const std::string& workload_key) {
  return read_first<std::uint64_t>(
    database_.prepare("SELECT id FROM workloads WHERE key = ?"),
    [&](sql_statement& x) { x.bind_text(1, workload_key); }, first_number);
}

expected<std::vector<std::string>>
state_reader::load_evicted(const std::string& workload_key) {
  return read_all<std::string>(
    database_.prepare("SELECT file FROM evicted WHERE workload ="
                      " (SELECT id FROM workloads WHERE key = ?) ORDER BY id"),
    [&](sql_statement& x) { x.bind_text(1, workload_key); },
    [](const sql_statement& row) -> expected<std::string> {
      return std::string{row.text(0)};
    });
}

template <class F>
auto state_reader::in_transaction(F function) -> decltype(function()) {
  if (auto begun = database_.run("BEGIN"); !begun)
    return begun.failure();
  auto result = function();
  if (auto done = database_.run("COMMIT"); !done)
    return done.failure();
  return result;
}

expected<std::monostate>
state_reader::load_plan(const std::string& workload_key,
                        const plan_taker& take) {
  return in_transaction([&]() -> expected<std::monostate> {
    const auto workload = find_workload(workload_key);
    if (!workload)
      return workload.failure();
    return *workload ? read_plan_parts(database_, version_, **workload, take)
                     : std::monostate{};
  });
}

expected<stored_plan>
state_reader::load_plan(const std::string& workload_key) {
  stored_plan result;
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()),
              std::make_move_iterator(from.end()));
  };
  const auto done = load_plan(workload_key, [&](stored_plan part) {
    append(result.nodes, part.nodes);
    append(result.results, part.results);
    append(result.checkpoints, part.checkpoints);
    append(result.delivered, part.delivered);
    append(result.damage, part.damage);
    result.damages += part.damages;
  });
  if (!done)
    return done.failure();
  return result;
}

expected<std::vector<timing>>
state_reader::load_timings(const std::string& workload_key) {
  const auto workload = find_workload(workload_key);
  if (!workload)
    return workload.failure();
  if (!*workload)
    return std::vector<timing>{};
  return read_timings(database_, **workload);
}

expected<stored_study>
state_reader::load_study(const std::string& id_or_name) {
  // A name may look like an id: an id is what it is taken for. Each is found by
  // an index or a key, so that a page that is damaged hides no other study.
  const auto find = [&](const char* where) {
    return read_first<stored_study>(
      database_.prepare("SELECT " + study_columns_ + ", text FROM studies"
                        + where),
      [&](sql_statement& x) { x.bind_text(1, id_or_name); },
      [](const sql_statement& row) -> expected<stored_study> {
        auto study = study_in(row);
        study.text = row.text(18);
        return study;
      });
  };
  std::vector<const char*> places{
    version_ < 13 ? " WHERE name = ?1 ORDER BY id DESC LIMIT 1"
                  : " WHERE name = ?1 ORDER BY removed, id DESC LIMIT 1"};
  // A name would be looked for as number 0, on the page of the first studies.
  if (id_or_name.find_first_not_of("0123456789") == std::string::npos)
    places.insert(places.begin(), " WHERE id = CAST(?1 AS INTEGER) AND "
                                  "CAST(id AS TEXT) = ?1");
  for (const auto* where : places) {
    auto found = find(where);
    if (!found)
      return found.failure();
    if (*found)
      return std::move(**found);
  }
  auto studies = load_studies();
  if (!studies)
    return studies.failure();
  std::vector<std::string> names;
  for (const auto& x : *studies)
    names.push_back(x.name);
  auto hint = did_you_mean(id_or_name, names);
  if (hint.empty() && names.size() <= listed_names_max) {
    hint = names.empty() ? "; there is none" : "; there are:";
    for (const auto& x : names)
      hint += ' ' + x;
  }
  return {errc::unknown_study, "no study '" + id_or_name + "'" + hint};
}

expected<std::set<study_id>> state_reader::load_outdated() {
  // Events are taken in their order, so a trial that shows the last measurement
  // shows all events before it as well. Of a failure, or of one seed's
  // measurement, a trial that has ended before shows nothing, but it must be
  // there, unless it was removed. A command or a choice says nothing of events
  // before it: a study may have made it before it heard of these.
  auto found = read_all<study_id>(
    database_.prepare(
      "SELECT s.id FROM studies s WHERE s.state IN ('COMPLETE', 'CANCELLED')"
      " AND EXISTS (SELECT 1 FROM events e WHERE e.study = s.id"
      "  AND e.kind IN (?1, ?2)"
      "  AND e.id >= coalesce((SELECT p.id FROM events p WHERE p.study = s.id"
      "   AND p.kind = ?1 AND (p.code IS NULL OR p.text IS NOT NULL)"
      "   ORDER BY p.id DESC LIMIT 1), 0)"
      "  AND NOT EXISTS"
      "  (SELECT 1 FROM trials t WHERE t.study = s.id AND t.trial = e.trial"
      "   AND (t.steps >= e.step OR e.kind = ?2"
      "        OR (e.code IS NOT NULL AND e.text IS NULL)))"
      "  AND NOT EXISTS (SELECT 1 FROM events r, json_each("
      "   CASE r.text WHEN '' THEN '{}' ELSE r.text END, '$.trials') j"
      "   WHERE r.study = s.id AND r.kind = ?3 AND j.value = e.trial))"),
    [](sql_statement& x) {
      x.bind_text(1, measured_kind)
        .bind_text(2, failed_kind)
        .bind_text(3, to_string(study_command::verb::remove));
    },
    [](const sql_statement& row) -> expected<study_id> {
      return row.id_in<study_id>(0);
    });
  if (!found)
    return found.failure();
  return std::set<study_id>(found->begin(), found->end());
}

expected<std::vector<stored_study>> state_reader::load_studies() {
  auto all = read_all<stored_study>(
    database_.prepare("SELECT " + study_columns_
                      + " FROM studies ORDER BY id"),
    [](sql_statement&) {},
    [](const sql_statement& row) -> expected<stored_study> {
      return study_in(row);
    });
  if (all)
    return all;
  // A page of the table is damaged: those that lie elsewhere are found by their
  // keys, and the others told as lost.
  const auto last = last_study();
  if (!last || number_of(*last) > damaged_studies_max)
    return all.failure();
  std::vector<stored_study> result;
  for (std::uint64_t no = 1; no <= number_of(*last); ++no) {
    auto study = read_first<stored_study>(
      database_.prepare("SELECT " + study_columns_
                        + " FROM studies WHERE id = ?1"),
      binds(no), [](const sql_statement& row) -> expected<stored_study> {
        return study_in(row);
      });
    if (study && !*study)
      continue; // there is none of that number
    if (study) {
      result.push_back(std::move(**study));
      continue;
    }
    auto& lost = result.emplace_back();
    lost.id = static_cast<study_id>(no);
    lost.name = "study-" + std::to_string(no);
    lost.state = study_phase::failed;
    lost.reason = "what is stored of it is damaged: " + study.failure().message;
  }
  return result;
}

expected<std::vector<stored_trial>>
state_reader::load_trials(study_id study, std::uint64_t first,
                          std::size_t most) {
  return read_all<stored_trial>(
    database_.prepare("SELECT " + trial_columns
                      + " FROM trials WHERE study = ? AND trial >= ?"
                        " ORDER BY trial LIMIT ?"),
    [&](sql_statement& x) {
      x.bind(1, study).bind_bound(2, first).bind_bound(3, most);
    },
    trial_in);
}

expected<std::vector<stored_trial>>
state_reader::load_open_trials(study_id study) {
  return read_all<stored_trial>(
    database_.prepare(
      "SELECT " + trial_columns + " FROM trials WHERE study = ?"
      " AND state NOT IN ('COMPLETE', 'PRUNED', 'FAILED', 'CANCELLED')"
      " ORDER BY trial"),
    [&](sql_statement& x) { x.bind(1, study); }, trial_in);
}

expected<std::vector<stored_event>>
state_reader::load_events(study_id study, std::uint64_t after, std::size_t most,
                          std::optional<trial_no> trial, parts which) {
  return read_events(study,
                     (which == parts::left_out ? is_whole + " AND " : "")
                       + "id > ?2 AND (?4 IS NULL OR trial = ?4)"
                         " ORDER BY id LIMIT ?3",
                     [&](sql_statement& x) {
                       x.bind_bound(2, after).bind_bound(3, most);
                       if (trial)
                         x.bind(4, *trial);
                     });
}

expected<std::vector<study_command>>
state_reader::load_commands(study_id study, study_command::verb what) {
  auto events = read_events(study, "kind = ?2 ORDER BY id",
                            [&](auto& x) { x.bind_text(2, to_string(what)); });
  if (!events)
    return events.failure();
  std::vector<study_command> result;
  for (auto& x : *events)
    result.push_back(std::move(std::get<study_command>(x.what)));
  return result;
}

expected<std::vector<stored_event>>
state_reader::load_results(study_id study, trial_no first, std::uint64_t after,
                           std::size_t most) {
  return read_events(study,
                     "kind = ?5 AND " + is_whole
                       + " AND (trial > ?2 OR (trial = ?2 AND id > ?3))"
                         " ORDER BY trial, id LIMIT ?4",
                     [&](sql_statement& x) {
                       x.bind_bound(2, first).bind_bound(3, after);
                       x.bind_bound(4, most).bind_text(5, measured_kind);
                     });
}

expected<std::uint64_t> state_reader::count_unique_steps(study_id study) {
  const auto found = read_first<std::uint64_t>(
    database_.prepare(
      "SELECT coalesce(sum(step - before), 0) FROM (SELECT step,"
      " lag(step, 1, 0) OVER (PARTITION BY trial, code ORDER BY id) AS before,"
      " row_number() OVER (PARTITION BY node, step ORDER BY id) AS nth"
      " FROM events WHERE study = ? AND kind = ?)"
      " WHERE nth = 1 AND step > before"),
    [&](sql_statement& x) { x.bind(1, study).bind_text(2, measured_kind); },
    first_number);
  return found ? expected<std::uint64_t>{found->value_or(0)}
               : found.failure();
}

expected<std::vector<stored_event>>
state_reader::read_events(study_id study, const std::string& condition,
                          const std::function<void(sql_statement&)>& bind) {
  struct measured_state {
    std::uint64_t workload = 0;
    node_id node{};
    step_t step = 0;
    std::size_t event = 0; ///< its place among them
  };
  std::vector<measured_state> states;
  auto result = read_all<stored_event>(
    database_.prepare("SELECT id, time, kind, trial, step, node, code, text,"
                      " workload, shared FROM events WHERE study = ?1 AND "
                      + condition),
    [&](sql_statement& x) {
      x.bind(1, study);
      bind(x);
    },
    [&, i = std::size_t{0}](
      const sql_statement& row) mutable -> expected<stored_event> {
      auto event = event_in(row);
      if (!event)
        return damaged(path_, "event " + std::to_string(row.number(0))
                                + " of study " + to_string(study) + ": "
                                + event.failure().message);
      event->study = study;
      if (const auto* x = std::get_if<trial_measured>(&event->what);
          x && x->values.empty())
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
    auto& event = std::get<trial_measured>((*result)[x.event].what);
    auto measured = values->read(x.workload, x.node, x.step);
    if (!measured && measured.failure().code != errc::malformed_message)
      return measured.failure();
    if (!measured)
      return damaged(path_, "what trial " + std::to_string(event.trial)
                              + " of study " + to_string(study)
                              + " measured at step " + std::to_string(x.step)
                              + ": " + measured.failure().message);
    event.values = std::move(*measured);
  }
  return result;
}

expected<std::vector<stored_node>>
state_reader::load_nodes(const std::string& workload_key,
                         const std::vector<node_id>& ids) {
  return in_transaction([&] { return find_nodes(workload_key, ids); });
}

expected<std::vector<stored_node>>
state_reader::find_nodes(const std::string& workload_key,
                         const std::vector<node_id>& ids) {
  const auto workload = find_workload(workload_key);
  if (!workload)
    return workload.failure();
  std::vector<stored_node> result;
  if (!*workload)
    return result;
  auto query
    = database_.prepare("SELECT node, parent, begin, strand, configuration"
                        " FROM nodes WHERE workload = ? AND node = ?");
  if (!query)
    return query.failure();
  for (const auto id : ids) {
    const auto found = query->reset().bind(1, **workload).bind(2, id).step();
    if (!found)
      return found.failure();
    if (!*found)
      continue;
    auto node = node_in(*query);
    if (!node)
      return damaged(path_, "node " + to_string(id) + ": "
                              + node.failure().message);
    result.push_back(std::move(*node));
  }
  return result;
}

expected<std::string> state_reader::load_uid(study_id study) {
  if (const auto known = has_identities(database_); !known)
    return known.failure();
  else if (!*known)
    return std::string{};
  const auto found = read_first<std::string>(
    database_.prepare("SELECT uid FROM identities WHERE study = ?1"),
    [&](sql_statement& x) { x.bind(1, study); },
    [](const sql_statement& row) -> expected<std::string> {
      return std::string{row.text(0)};
    });
  return found ? expected<std::string>{found->value_or("")} : found.failure();
}

expected<std::optional<std::string>> state_reader::load_front(study_id study) {
  return read_first<std::string>(
    database_.prepare("SELECT front FROM fronts WHERE study = ?1"),
    [&](sql_statement& x) { x.bind(1, study); },
    [](const sql_statement& row) -> expected<std::string> {
      return std::string{row.text(0)};
    });
}

expected<std::optional<stored_trial>>
state_reader::load_best(const stored_study& study) {
  const std::string order
    = study.direction == direction::maximize ? "DESC" : "ASC";
  return read_first<stored_trial>(
    database_.prepare(
      "SELECT " + trial_columns
      + " FROM trials WHERE study = ?1 AND best_value IS NOT NULL"
      " AND state <> ?2 ORDER BY best_value " + order + ", trial LIMIT 1"),
    [&](sql_statement& x) {
      x.bind(1, study.id).bind_text(2, to_string(trial_state::failed));
    },
    trial_in);
}

expected<std::optional<node_id>>
state_reader::load_node(study_id study, trial_no trial,
                        step_t step) {
  return read_first<node_id>(
    // Of several seeds the first one.
    database_.prepare("SELECT node FROM events WHERE study = ?1 AND trial = ?2"
                      " AND step = ?3 AND kind = ?4"
                      " ORDER BY coalesce(code, 1) LIMIT 1"),
    [&](sql_statement& x) {
      x.bind(1, study).bind(2, trial).bind(3, step).bind_text(4,
                                                              measured_kind);
    },
    [](const sql_statement& row) -> expected<node_id> {
      return row.id_in<node_id>(0);
    });
}

expected<std::optional<double>>
state_reader::load_time(study_id study, trial_no trial, step_t step) {
  return read_first<double>(
    database_.prepare("SELECT time FROM events WHERE study = ?1 AND trial = ?2"
                      " AND step = ?3 AND kind = ?4 AND "
                      + is_whole + " ORDER BY id"),
    [&](sql_statement& x) {
      x.bind(1, study).bind(2, trial).bind(3, step).bind_text(4,
                                                              measured_kind);
    },
    [](const sql_statement& row) -> expected<double> { return row.real(0); });
}

expected<std::vector<stored_output>>
state_reader::load_output(study_id study, trial_no trial,
                          step_t first, std::size_t most) {
  // From the node of the last measurement, with several seeds the first one's,
  // to the root: of each node the states between its begin and that of the next
  // one.
  return read_all<stored_output>(
    database_.prepare(
      "WITH RECURSIVE last AS (SELECT workload, node, step FROM events"
      "  WHERE study = ?1 AND trial = ?2 AND kind = ?5"
      "  ORDER BY coalesce(code, 1), step DESC LIMIT 1),"
      " way (workload, node, parent, begin, until) AS ("
      "  SELECT n.workload, n.node, n.parent, n.begin, l.step FROM last l"
      "  JOIN nodes n ON n.workload = l.workload AND n.node = l.node"
      "  UNION ALL"
      "  SELECT n.workload, n.node, n.parent, n.begin, w.begin FROM way w"
      // Parents come first, or the way would have no end.
      "  JOIN nodes n ON n.workload = w.workload AND n.node = w.parent"
      "  AND n.node < w.node)"
      " SELECT o.node, o.step, o.text FROM way w JOIN outputs o"
      " ON o.workload = w.workload AND o.node = w.node AND o.step <= w.until"
      " AND (o.step > w.begin OR w.begin = 0)"
      " WHERE o.step >= ?3 ORDER BY o.step LIMIT ?4"),
    [&](sql_statement& x) {
      x.bind(1, study).bind(2, trial).bind_bound(3, first);
      x.bind_bound(4, most);
      x.bind_text(5, measured_kind);
    },
    [](const sql_statement& row) -> expected<stored_output> {
      return stored_output{row.id_in<node_id>(0), row.number(1),
                           std::string{row.text(2)}};
    });
}

expected<state_reader::trial_counts>
state_reader::count_trials(study_id study) {
  trial_counts result;
  auto done = for_each_row(
    database_.prepare(
      "SELECT state, count(*), total(asked_to), total(steps), total(shared),"
      " max(asked_to) FROM trials WHERE study = ?1 GROUP BY state"),
    [&](sql_statement& x) { x.bind(1, study); },
    [&](const sql_statement& row) -> std::optional<error> {
      const auto sum = [&](int column) {
        // Of rows that are damaged it may be any number.
        return static_cast<std::uint64_t>(
          std::clamp(row.real(column), 0.0, 1e18));
      };
      const auto state = std::string{row.text(0)};
      const auto trials = row.number(1);
      result.by_state[state] = trials;
      result.trials += trials;
      if (state != to_string(trial_state::pending)
          && state != to_string(trial_state::running)
          && state != to_string(trial_state::paused))
        result.finished += trials;
      result.asked_steps += sum(2);
      result.delivered_steps += sum(3);
      result.shared_steps += sum(4);
      result.farthest = std::max(result.farthest, sum(5));
      if (state == to_string(trial_state::pruned)) {
        result.pruned = trials;
        result.pruned_steps = sum(3);
      }
      return std::nullopt;
    });
  if (!done)
    return done.failure();
  return result;
}

expected<state_reader::state_counts> state_reader::count_states() {
  state_counts result;
  const std::pair<const char*, std::map<std::string, std::uint64_t>*> all[] = {
    {"SELECT state, count(*) FROM studies GROUP BY state", &result.studies},
    {"SELECT state, count(*) FROM trials GROUP BY state", &result.trials}};
  for (const auto& [sql, counts] : all) {
    using row = std::pair<std::string, std::uint64_t>;
    const auto rows = read_all<row>(
      database_.prepare(sql), [](sql_statement&) {},
      [](const sql_statement& x) -> expected<row> {
        return row{std::string{x.text(0)}, x.number(1)};
      });
    if (!rows)
      return rows.failure();
    counts->insert(rows->begin(), rows->end());
  }
  return result;
}

expected<std::uint64_t> state_reader::data_version() {
  return read_number("PRAGMA data_version");
}

expected<std::vector<state_reader::usage>> state_reader::load_usage() {
  return read_all<usage>(
    database_.prepare(
      "SELECT key,"
      " (SELECT count(*) FROM nodes WHERE workload = w.id AND node > 0),"
      " (SELECT count(*) FROM results WHERE workload = w.id),"
      " (SELECT count(*) FROM checkpoints WHERE workload = w.id),"
      " (SELECT coalesce(sum(bytes), 0) FROM checkpoints"
      "  WHERE workload = w.id AND bytes BETWEEN 0 AND 9007199254740992),"
      " trained_steps, device_seconds"
      " FROM workloads w ORDER BY id"),
    [](sql_statement&) {},
    [](const sql_statement& x) -> expected<usage> {
      return usage{std::string{x.text(0)}, x.number(1), x.number(2),
                   x.number(3), x.number(4), x.number(5), x.real(6)};
    });
}

expected<std::vector<std::pair<std::string, std::uint64_t>>>
state_reader::load_checkpoint_bytes() {
  using row = std::pair<std::string, std::uint64_t>;
  return read_all<row>(
    database_.prepare("SELECT key, sum(bytes) FROM workloads w"
                      " JOIN checkpoints c ON c.workload = w.id"
                      " AND bytes BETWEEN 0 AND 9007199254740992"
                      " GROUP BY w.id ORDER BY w.id"),
    [](sql_statement&) {},
    [](const sql_statement& x) -> expected<row> {
      return row{std::string{x.text(0)}, x.number(1)};
    });
}

expected<trained_time>
state_reader::load_trained(const std::string& workload_key) {
  const auto found = read_first<trained_time>(
    database_.prepare("SELECT trained_steps, device_seconds FROM workloads"
                      " WHERE key = ?"),
    [&](sql_statement& x) { x.bind_text(1, workload_key); },
    [](const sql_statement& row) -> expected<trained_time> {
      return trained_time{row.number(0), row.real(1)};
    });
  if (!found)
    return found.failure();
  return found->value_or(trained_time{});
}

expected<std::vector<workload_timings>> state_reader::load_timings() {
  using row = std::pair<std::string, std::optional<timing>>;
  auto rows = read_all<row>(
    database_.prepare("SELECT " + timing_columns
                      + ", key FROM timings t JOIN workloads w"
                        " ON t.workload = w.id"
                        " ORDER BY w.id, device, what, speed"),
    [](sql_statement&) {}, [](const sql_statement& x) -> expected<row> {
      return row{std::string{x.text(10)}, timing_in(x)};
    });
  if (!rows)
    return rows.failure();
  std::vector<workload_timings> result;
  for (auto& [key, x] : *rows) {
    if (!x)
      continue; // it is damaged, and measured again
    if (result.empty() || result.back().workload_key != key)
      result.push_back({key, {}});
    result.back().timings.push_back(std::move(*x));
  }
  return result;
}

expected<std::uint64_t> state_reader::read_number(const char* sql) {
  const auto found = read_first<std::uint64_t>(
    database_.prepare(sql), [](sql_statement&) {}, first_number);
  if (!found)
    return found.failure();
  return found->value_or(0);
}

expected<study_id> state_reader::last_study() {
  const auto result
    = read_number("SELECT coalesce(max(id), 0) FROM studies WHERE id <= "
                  "9007199254740992"); // `study_number_max`: others are odd
  if (!result)
    return result.failure();
  return static_cast<study_id>(*result);
}

expected<std::uint64_t> state_reader::last_lease_epoch() {
  const auto found = read_first<std::string>(
    database_.prepare("SELECT value FROM meta WHERE key = 'generation'"),
    [](sql_statement&) {}, [](const sql_statement& x) -> expected<std::string> {
      return std::string{x.text(0)};
    });
  if (!found)
    return found.failure();
  if (!*found)
    return std::uint64_t{0};
  const auto& text = **found;
  std::uint64_t result = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, result);
  if (read.ec == std::errc{} && read.ptr == end)
    return result;
  // Numbers of leases that were given before would be given again.
  return damaged(path_, "its table 'meta' has the generation of leases '"
                          + excerpt(text) + "', which is no number; "
                          + damage_remedy(state_database_of(path_)));
}

} // namespace hippo
