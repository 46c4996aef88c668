// What is read of the plan of a workload for people to look at.
#include "hippo/store/state_reader.hpp"

#include <nlohmann/json.hpp>

#include "hippo/store/schema.hpp"
#include "hippo/store/sql_rows.hpp"
#include "hippo/store/state_database.hpp"
#include "hippo/store/state_rows.hpp"

namespace hippo {

expected<std::vector<std::pair<std::uint64_t, std::uint64_t>>>
state_reader::load_sharing(const std::string& workload_key) {
  using pair = std::pair<std::uint64_t, std::uint64_t>;
  const auto workload = find_workload(workload_key);
  if (!workload)
    return workload.failure();
  if (!*workload)
    return std::vector<pair>{};
  return read_all<pair>(
    database_.prepare(
      "WITH RECURSIVE passed(node, study) AS ("
      " SELECT node, study FROM events WHERE workload = ?1 AND kind = ?2"
      " UNION SELECT n.parent, p.study FROM passed p JOIN nodes n"
      "  ON n.workload = ?1 AND n.node = p.node WHERE n.parent > 0)"
      " SELECT node, study FROM passed ORDER BY node, study"),
    [&](sql_statement& x) {
      x.bind(1, **workload).bind_text(2, measured_kind);
    },
    [](const sql_statement& row) -> expected<pair> {
      return pair{row.number(0), row.number(1)};
    });
}

expected<std::vector<node_id>>
state_reader::load_hidden_nodes(const std::string& workload_key) {
  const auto workload = find_workload(workload_key);
  if (!workload)
    return workload.failure();
  if (!*workload || version_ < 13) // before, nothing was hidden
    return std::vector<node_id>{};
  return read_all<node_id>(
    database_.prepare(
      "WITH RECURSIVE passed(node, shown) AS ("
      " SELECT e.node, MAX(s.removed = 0 AND t.trial IS NOT NULL)"
      "  FROM events e JOIN studies s ON s.id = e.study"
      "  LEFT JOIN trials t ON t.study = e.study AND t.trial = e.trial"
      "  WHERE e.workload = ?1 AND e.kind = ?2 AND e.node > 0 GROUP BY e.node"
      " UNION SELECT n.parent, p.shown FROM passed p JOIN nodes n"
      "  ON n.workload = ?1 AND n.node = p.node WHERE n.parent > 0)"
      " SELECT node FROM passed GROUP BY node HAVING MAX(shown) = 0"
      " ORDER BY node"),
    [&](sql_statement& x) {
      x.bind(1, **workload).bind_text(2, measured_kind);
    },
    [](const sql_statement& row) -> expected<node_id> {
      return row.id_in<node_id>(0);
    });
}

expected<std::vector<stored_work>>
state_reader::load_work(const std::string& workload_key,
                        const std::vector<node_id>& ids) {
  const auto workload = find_workload(workload_key);
  if (!workload)
    return workload.failure();
  if (!*workload)
    return std::vector<stored_work>{};
  auto wanted = nlohmann::json::array();
  for (const auto id : ids)
    wanted.push_back(number_of(id));
  const auto list = wanted.dump();
  const auto time = [](const sql_statement& row, int column) {
    return row.is_null(column) ? std::optional<double>{}
                               : std::optional{row.real(column)};
  };
  return read_all<stored_work>(
    database_.prepare(
      "SELECT r.node, r.trainer, MIN(r.step), MAX(r.step), MIN(r.time),"
      " MAX(r.time) FROM json_each(?2) j JOIN results r"
      " ON r.workload = ?1 AND r.node = j.value"
      " GROUP BY r.node, r.trainer ORDER BY r.node, MIN(r.step), r.trainer"),
    [&](sql_statement& x) { x.bind(1, **workload).bind_text(2, list); },
    [&](const sql_statement& row) -> expected<stored_work> {
      return stored_work{row.id_in<node_id>(0), std::string{row.text(1)},
                         row.number(2),         row.number(3),
                         time(row, 4),          time(row, 5)};
    });
}

expected<std::vector<stored_end>>
state_reader::load_ends(const std::string& workload_key, bool ended) {
  const auto workload = find_workload(workload_key);
  if (!workload)
    return workload.failure();
  if (!*workload)
    return std::vector<stored_end>{};
  const std::string of_ended
    = ended ? " AND study IN (SELECT id FROM studies WHERE state IN"
              " ('COMPLETE', 'FAILED', 'CANCELLED'))"
            : "";
  return read_all<stored_end>(
    database_.prepare(
      // Of a group SQLite takes the node from the row with the largest step.
      "SELECT node, step, COUNT(*) FROM (SELECT node, MAX(step) AS step"
      "  FROM events WHERE workload = ?1 AND kind = ?2 AND node > 0"
      + of_ended
      + " GROUP BY study, trial, code) GROUP BY node, step"
        " ORDER BY node, step"),
    [&](sql_statement& x) {
      x.bind(1, **workload).bind_text(2, measured_kind);
    },
    [](const sql_statement& row) -> expected<stored_end> {
      return stored_end{row.id_in<node_id>(0), row.number(1), row.number(2)};
    });
}

} // namespace hippo
