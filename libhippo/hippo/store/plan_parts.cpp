#include "hippo/store/plan_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/limits.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/sql_rows.hpp"
#include "hippo/store/state_rows.hpp"

namespace hippo {

namespace {

/// A plan is read in parts of so many nodes.
constexpr std::size_t part_nodes = 4096;

/// So many nodes in a row may be missing: what is numbered beyond that is no
/// node.
constexpr std::uint64_t missing_nodes_max = 1 << 20;

/// Of what is damaged so much is told of each part.
constexpr std::size_t told_damages_max = 10;

/// A row of `nodes`.
struct node_row {
  node_id id{};
  expected<stored_node> node;
};

node_id after(node_id x) { return node_id{number_of(x) + 1}; }

/// Says why a file is none that a checkpoint may be in; empty: it may.
std::string refused_file(const checkpoint& x) {
  const auto refused = [](const std::string& file, std::uint64_t bytes) {
    const auto why = refused_text(file, max_name_bytes);
    if (why)
      return "the name of its file " + *why;
    if (file.empty() || file.find('/') != file.npos || file == "."
        || file == "..")
      return std::string{"its file is none of its folder"};
    return std::string{bytes > max_checkpoint_bytes ? "its size is none" : ""};
  };
  if (auto why = refused(x.file, x.bytes); !why.empty())
    return why;
  const bool is_wrong =
    x.table_bytes > x.bytes
    || std::ranges::any_of(x.part_files, [&](const part_file& y) {
         return !refused(y.file, y.bytes).empty();
       });
  return is_wrong ? "its parts are none" : "";
}

/// Reads the plan of a workload. What is damaged is left out, along with what
/// depends on it.
class plan_reading {
public:
  plan_reading(sql_database& database, std::uint64_t version,
               std::uint64_t workload)
    : database_(database), version_(version), workload_(workload) {}

  expected<std::monostate> run(const plan_taker& take) {
    auto delivered = read_delivered();
    if (!delivered)
      return delivered.failure();
    auto told = delivered->begin();
    while (!is_last_) {
      stored_plan part;
      const auto first = next_ == after(root_node) ? root_node : next_;
      const auto rows = read_nodes();
      if (!rows)
        return rows.failure();
      is_last_ = rows->size() < part_nodes;
      for (const auto& row : *rows)
        if (!place(row, part)) {
          is_last_ = true;
          break;
        }
      if (auto done = read_results(first, part); !done)
        return done;
      if (auto done = read_checkpoints(first, part); !done)
        return done;
      const auto end
        = std::find_if(told, delivered->end(),
                       [this](const auto& x) { return x.first >= next_; });
      for (; told != end; ++told)
        if (auto done = place_delivered(*told, part); !done)
          return done;
      take(std::move(part));
    }
    return std::monostate{};
  }

private:
  using delivered_step = std::pair<node_id, step_t>;

  static void note(stored_plan& part, std::string what) {
    if (part.damages++ < told_damages_max)
      part.damage.push_back(std::move(what));
  }

  expected<std::vector<node_row>> read_nodes() {
    return read_all<node_row>(
      database_.prepare("SELECT node, parent, begin, strand, configuration"
                        " FROM nodes WHERE workload = ? AND node >= ?"
                        " ORDER BY node LIMIT ?"),
      [this](sql_statement& x) {
        x.bind(1, workload_).bind(2, next_).bind(3, part_nodes);
      },
      [](const sql_statement& row) -> expected<node_row> {
        return node_row{row.id_in<node_id>(0), node_in(row)};
      });
  }

  /// Says what is damaged of a node that can be read; empty: nothing.
  [[nodiscard]] std::string damage_of(const stored_node& x) const {
    if (x.parent >= x.id)
      return "its parent comes after it";
    if (is_lost(x.parent))
      return "its parent is damaged";
    if (x.begin < begins_[x.parent] || x.begin > max_step)
      return "it begins before its parent, or nowhere";
    for (const auto& [name, shape] : x.config)
      if (shape.origin > x.begin)
        return "a value begins after it";
    return {};
  }

  /// Adds a node to a part, and before it those that are missing.
  /// @returns false if no node may have that number
  bool place(const node_row& row, stored_plan& part) {
    const auto missing = number_of(row.id) - number_of(next_);
    if (missing > missing_nodes_max) {
      note(part, "node " + to_string(row.id) + ": no node has that number");
      return false;
    }
    while (next_ < row.id) {
      note(part, "node " + to_string(next_) + ": it is missing");
      lose(part);
    }
    const auto damage
      = row.node ? damage_of(*row.node) : row.node.failure().message;
    if (!damage.empty()) {
      note(part, "node " + to_string(row.id) + ": " + damage);
      lose(part);
      return true;
    }
    part.nodes.push_back(*row.node);
    begins_.add(row.node->begin);
    next_ = after(next_);
    return true;
  }

  /// Keeps the next number from being given again.
  void lose(stored_plan& part) {
    stored_node x;
    x.id = next_;
    x.is_lost = true;
    part.nodes.push_back(std::move(x));
    begins_.add(lost_begin);
    next_ = after(next_);
  }

  [[nodiscard]] bool is_lost(node_id x) const {
    return begins_[x] == lost_begin;
  }

  /// Says why nothing can be of a state; empty: it is one. What is of a node
  /// that is lost is not told again.
  [[nodiscard]] std::string damage_of(node_id node, step_t step) const {
    if (!begins_.has(node))
      return "there is no such node";
    return step < begins_[node] || step > max_step ? "there is no such step"
                                                   : "";
  }

  [[nodiscard]] bool is_of_lost(node_id x) const {
    return begins_.has(x) && is_lost(x);
  }

  static std::string state_text(node_id node, step_t step) {
    return "node " + to_string(node) + " at step " + std::to_string(step);
  }

  /// The rows of the nodes of a part, and of the last one those of nodes that
  /// are not there.
  template <class T, class F>
  expected<std::vector<T>> read_rows(const char* columns_from, node_id first,
                                     F&& read) {
    const auto end = is_last_ ? node_id{INT64_MAX} : next_;
    return read_all<T>(
      database_.prepare(std::string{"SELECT "} + columns_from
                        + " WHERE workload = ? AND node >= ? AND node < ?"
                          " ORDER BY node, step"),
      [&](sql_statement& x) {
        x.bind(1, workload_).bind(2, first).bind(3, end);
      },
      std::forward<F>(read));
  }

  expected<std::monostate> read_results(node_id first, stored_plan& part) {
    auto values = metrics_reader::make(database_);
    if (!values)
      return values.failure();
    auto rows = read_rows<stored_result>(
      "node, step, device FROM results", first,
      [](const sql_statement& row) -> expected<stored_result> {
        return stored_result{row.id_in<node_id>(0), row.number(1), {},
                             std::string{row.text(2)}};
      });
    if (!rows)
      return rows.failure();
    for (auto& x : *rows) {
      auto measured = values->read(workload_, x.node, x.step);
      if (!measured && measured.failure().code != errc::malformed_message)
        return measured.failure();
      if (is_of_lost(x.node))
        continue;
      auto damage = damage_of(x.node, x.step);
      if (damage.empty() && !measured)
        damage = measured.failure().message;
      if (damage.empty() && measured->empty())
        damage = "nothing was measured";
      if (!damage.empty()) {
        note(part, "the result of " + state_text(x.node, x.step) + ": "
                     + damage);
        continue;
      }
      x.values = std::move(*measured);
      part.results.push_back(std::move(x));
    }
    return std::monostate{};
  }

  expected<std::monostate> read_checkpoints(node_id first, stored_plan& part) {
    auto rows = read_rows<stored_checkpoint>(
      version_ < 12
        ? "node, step, file, bytes, digest, device, '' FROM checkpoints"
        : "node, step, file, bytes, digest, device, parts FROM checkpoints",
      first, [](const sql_statement& row) -> expected<stored_checkpoint> {
        stored_checkpoint result{
          row.id_in<node_id>(0),
          row.number(1),
          {std::string{row.text(2)}, row.number(3), row.number(4)},
          std::string{row.text(5)}};
        if (!read_parts(row.text(6), result.file))
          result.file.table_bytes = UINT64_MAX; // which `refused_file` tells
        return result;
      });
    if (!rows)
      return rows.failure();
    for (auto& x : *rows) {
      if (is_of_lost(x.node))
        continue;
      auto damage = damage_of(x.node, x.step);
      if (damage.empty())
        damage = refused_file(x.file);
      if (damage.empty())
        part.checkpoints.push_back(std::move(x));
      else
        note(part, "the checkpoint of " + state_text(x.node, x.step) + ": "
                     + damage);
    }
    return std::monostate{};
  }

  expected<std::vector<delivered_step>> read_delivered() {
    return read_all<delivered_step>(
      database_.prepare("SELECT node, max(step) FROM events WHERE workload = ?"
                        " AND node >= 0 GROUP BY node ORDER BY node"),
      [this](sql_statement& x) { x.bind(1, workload_); },
      [](const sql_statement& x) -> expected<delivered_step> {
        return delivered_step{x.id_in<node_id>(0), x.number(1)};
      });
  }

  /// Adds how far trials have got on a node. What was measured there is in the
  /// part: an event that says of more is its study's alone.
  expected<std::monostate> place_delivered(delivered_step x,
                                           stored_plan& part) {
    const auto is_measured = [&](step_t step) {
      const auto i = std::lower_bound(
        part.results.begin(), part.results.end(), std::pair{x.first, step},
        [](const auto& y, const auto& wanted) {
          return std::pair{y.node, y.step} < wanted;
        });
      return i != part.results.end() && i->node == x.first && i->step == step;
    };
    if (!is_measured(x.second)) {
      const auto steps = read_all<step_t>(
        database_.prepare("SELECT DISTINCT step FROM events"
                          " WHERE workload = ? AND node = ?"
                          " ORDER BY step DESC"),
        [&](sql_statement& query) {
          query.bind(1, workload_).bind(2, x.first);
        },
        [](const sql_statement& row) -> expected<step_t> {
          return row.number(0);
        });
      if (!steps)
        return steps.failure();
      const auto i = std::find_if(steps->begin(), steps->end(), is_measured);
      if (i == steps->end())
        return std::monostate{};
      x.second = *i;
    }
    part.delivered.push_back(x);
    return std::monostate{};
  }

  /// Where no node begins: it is lost.
  static constexpr step_t lost_begin = UINT64_MAX;

  sql_database& database_;
  const std::uint64_t version_; ///< of the tables
  std::uint64_t workload_;
  node_id next_ = after(root_node);
  bool is_last_ = false; ///< whether no node is beyond the present part
  by_id<node_id, step_t> begins_{1}; ///< of the nodes so far, the root's first
};

} // namespace

expected<std::monostate> read_plan_parts(sql_database& database,
                                         std::uint64_t version,
                                         std::uint64_t workload,
                                         const plan_taker& take) {
  return plan_reading{database, version, workload}.run(take);
}

} // namespace hippo
