#include "hippo/store/plan_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "hippo/store/schema.hpp"
#include "hippo/store/sql_rows.hpp"
#include "hippo/store/state_database.hpp"
#include "hippo/store/state_rows.hpp"

namespace hippo {

namespace {

/// A plan is read in parts of so many nodes.
constexpr std::size_t part_nodes = 4096;

/// The rows of some nodes of a workload: from `first` to before `end`.
struct node_range {
  std::uint64_t workload = 0;
  node_id first{};
  node_id end{};
};

/// Binds the first three parameters of a query.
auto binds(const node_range& x) {
  return [x](sql_statement& to) {
    to.bind(1, x.workload).bind(2, x.first).bind(3, x.end);
  };
}

/// Returns the nodes of a workload's plan from `first` on, so many at most.
expected<std::vector<stored_node>>
read_nodes(sql_database& database, std::uint64_t workload, node_id first,
           std::uint64_t most, const std::string& path) {
  return read_all<stored_node>(
    database.prepare("SELECT node, parent, begin, strand, configuration"
                     " FROM nodes WHERE workload = ? AND node >= ?"
                     " ORDER BY node LIMIT ?"),
    [&](sql_statement& x) { x.bind(1, workload).bind(2, first).bind(3, most); },
    [&path](const sql_statement& row) { return node_in(row, path); });
}

expected<std::vector<stored_result>>
read_results(sql_database& database, const node_range& nodes) {
  auto values = metrics_reader::make(database);
  if (!values)
    return values.failure();
  return read_all<stored_result>(
    database.prepare("SELECT node, step, device FROM results"
                     " WHERE workload = ? AND node >= ? AND node < ?"
                     " ORDER BY node, step"),
    binds(nodes),
    [&](const sql_statement& row) -> expected<stored_result> {
      const auto node = row.id_in<node_id>(0);
      const auto step = row.number(1);
      auto measured = values->read(nodes.workload, node, step);
      if (!measured)
        return measured.failure();
      return stored_result{node, step, std::move(*measured),
                           std::string{row.text(2)}};
    });
}

expected<std::vector<stored_checkpoint>>
read_checkpoints(sql_database& database, const node_range& nodes) {
  return read_all<stored_checkpoint>(
    database.prepare("SELECT node, step, file, bytes, digest, device"
                     " FROM checkpoints"
                     " WHERE workload = ? AND node >= ? AND node < ?"
                     " ORDER BY node, step"),
    binds(nodes),
    [](const sql_statement& row) -> expected<stored_checkpoint> {
      return stored_checkpoint{row.id_in<node_id>(0), row.number(1),
                               {std::string{row.text(2)}, row.number(3),
                                row.number(4)},
                               std::string{row.text(5)}};
    });
}

expected<std::vector<std::pair<node_id, step_t>>>
read_delivered(sql_database& database, std::uint64_t workload) {
  using row = std::pair<node_id, step_t>;
  return read_all<row>(
    database.prepare("SELECT node, max(step) FROM events WHERE workload = ?"
                     " GROUP BY node ORDER BY node"),
    [workload](sql_statement& x) { x.bind(1, workload); },
    [](const sql_statement& x) -> expected<row> {
      return row{x.id_in<node_id>(0), x.number(1)};
    });
}

node_id after(node_id x) { return node_id{number_of(x) + 1}; }

/// Whether nodes are numbered without a gap and each one's parent comes before
/// it, and whether all else lies on nodes that are there.
/// @param next the number that the first node of `part` must have
bool is_consistent(const stored_plan& part, node_id next) {
  for (const auto& x : part.nodes) {
    if (x.id != next || x.parent >= x.id)
      return false;
    next = after(next);
  }
  const auto is_there = [next](node_id x) { return x < next; };
  return std::all_of(part.results.begin(), part.results.end(),
                     [&](const auto& x) { return is_there(x.node); })
         && std::all_of(part.checkpoints.begin(), part.checkpoints.end(),
                        [&](const auto& x) { return is_there(x.node); })
         && std::all_of(part.delivered.begin(), part.delivered.end(),
                        [&](const auto& x) { return is_there(x.first); });
}

} // namespace

expected<std::monostate> read_plan_parts(sql_database& database,
                                         std::uint64_t workload,
                                         const std::string& path,
                                         const plan_taker& take) {
  auto delivered = read_delivered(database, workload);
  if (!delivered)
    return delivered.failure();
  auto told = delivered->begin();
  for (auto next = after(root_node);;) {
    auto nodes = read_nodes(database, workload, next, part_nodes, path);
    if (!nodes)
      return nodes.failure();
    const bool is_last = nodes->size() < part_nodes;
    // What lies beyond the last node is seen to be wrong, not left out.
    const auto end = is_last ? node_id{INT64_MAX} : after(nodes->back().id);
    const auto first = next == after(root_node) ? root_node : next;
    const node_range range{workload, first, end};
    auto results = read_results(database, range);
    if (!results)
      return results.failure();
    auto checkpoints = read_checkpoints(database, range);
    if (!checkpoints)
      return checkpoints.failure();
    const auto told_before = std::exchange(
      told, std::lower_bound(told, delivered->end(), end,
                             [](const auto& x, node_id y) {
                               return x.first < y;
                             }));
    stored_plan part{std::move(*nodes), std::move(*results),
                     std::move(*checkpoints), {told_before, told}};
    if (!is_consistent(part, next))
      return damaged(path, "a node is missing");
    take(std::move(part));
    if (is_last)
      return std::monostate{};
    next = end;
  }
}

} // namespace hippo
