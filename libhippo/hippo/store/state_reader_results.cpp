#include "hippo/store/state_reader.hpp"

#include <cmath>
#include <utility>

#include "hippo/model/repeats.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/sql_rows.hpp"
#include "hippo/store/state_rows.hpp"
#include "hippo/store/summary_text.hpp"

// Measurements of a state folder.

namespace hippo {

expected<std::vector<stored_value>>
state_reader::load_values(study_id study, const std::string& metric,
                          std::uint64_t after, std::size_t most, parts which) {
  return read_all<stored_value>(
    database_.prepare(
      "SELECT e.id, e.time, e.trial, e.step, e.node, iif(e.text IS NULL,"
      "  m.value, (SELECT j.value FROM json_each(e.text) j WHERE j.key = ?1)),"
      "  m.bits, e.shared, e.code, "
      + is_whole
      + ", (SELECT j.value"
        "  FROM json_each(e.text) j WHERE j.key = ?6)"
        " FROM events e LEFT JOIN metrics m"
        " ON e.text IS NULL AND m.workload = e.workload AND m.node = e.node"
        "  AND m.step = e.step AND m.name = ?1"
        " WHERE e.study = ?2 AND e.id > ?3 AND e.kind = ?4"
      + (which == parts::left_out ? " AND " + is_whole : "")
      + " ORDER BY e.id LIMIT ?5"),
    [&](sql_statement& x) {
      x.bind_text(1, metric).bind(2, study).bind_bound(3, after);
      x.bind_text(4, measured_kind).bind_bound(5, most);
      x.bind_text(6, spread_of(metric));
    },
    [](const sql_statement& row) -> expected<stored_value> {
      const bool is_none = row.is_null(5) && row.is_null(6);
      return stored_value{
        row.number(0),         row.real(1),
        row.number(2),         row.number(3),
        row.id_in<node_id>(4), is_none ? std::nan("") : exact_real(row, 5),
        row.number(7),         static_cast<std::uint32_t>(row.number(8)),
        row.number(9) == 0,    row.is_null(10) ? std::nan("") : row.real(10)};
    });
}

expected<state_reader::summaries> state_reader::load_summaries(
  study_id study, const std::set<std::pair<trial_no, step_t>>& wanted) {
  summaries result;
  if (wanted.empty())
    return result;
  auto done = for_each_row(
    database_.prepare("SELECT trial, step, text FROM events"
                      " WHERE study = ?1 AND kind = ?2 AND text IS NOT NULL"
                      " AND trial BETWEEN ?3 AND ?4"),
    [&](sql_statement& x) {
      x.bind(1, study).bind_text(2, measured_kind);
      x.bind_bound(3, wanted.begin()->first);
      x.bind_bound(4, wanted.rbegin()->first);
    },
    [&](const sql_statement& x) -> std::optional<error> {
      const std::pair<trial_no, step_t> where{x.number(0), x.number(1)};
      if (!wanted.contains(where))
        return std::nullopt;
      auto values = read_summary(std::string{x.text(2)});
      if (!values)
        return values.failure();
      result[where] = std::move(*values);
      return std::nullopt;
    });
  if (!done)
    return done.failure();
  return result;
}

expected<metrics> state_reader::load_metrics(study_id study, trial_no trial,
                                             step_t step) {
  using row = std::pair<std::string, double>;
  const auto rows = read_all<row>(
    database_.prepare(
      "WITH result AS (SELECT * FROM events WHERE study = ?1 AND trial = ?2"
      "  AND step = ?3 AND kind = ?4 AND "
      + is_whole
      + ")"
        " SELECT m.name, m.value, m.bits FROM result e JOIN metrics m"
        " ON m.workload = e.workload AND m.node = e.node AND m.step = e.step"
        " WHERE e.text IS NULL UNION ALL"
        " SELECT j.key, j.value, NULL FROM result e, json_each(e.text) j"
        " WHERE e.text IS NOT NULL"),
    [&](sql_statement& query) {
      query.bind(1, study).bind(2, trial).bind(3, step);
      query.bind_text(4, measured_kind);
    },
    [](const sql_statement& x) -> expected<row> {
      const bool is_none = x.is_null(1) && x.is_null(2);
      return row{x.text(0), is_none ? std::nan("") : exact_real(x, 1)};
    });
  if (!rows)
    return rows.failure();
  return metrics(rows->begin(), rows->end());
}

expected<std::vector<metrics>> state_reader::load_metrics(
  const std::string& workload_key,
  const std::vector<std::pair<node_id, step_t>>& states) {
  const auto workload = find_workload(workload_key);
  if (!workload)
    return workload.failure();
  auto values = metrics_reader::make(database_);
  if (!values)
    return values.failure();
  std::vector<metrics> result;
  for (const auto& [node, step] : states) {
    auto measured = *workload ? values->read(**workload, node, step)
                              : expected<metrics>{metrics{}};
    if (!measured)
      return measured.failure();
    result.push_back(std::move(*measured));
  }
  return result;
}

} // namespace hippo
