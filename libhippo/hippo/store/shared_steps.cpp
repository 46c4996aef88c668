#include "hippo/store/shared_steps.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/model/records.hpp"

namespace hippo {

namespace {

/// A workload and a node of its plan, or a study and a trial of it.
using row_key = std::pair<std::uint64_t, std::uint64_t>;

struct node_state {
  std::uint64_t parent = 0;
  step_t begin = 0;
  step_t known_to = 0; ///< the farthest state that a trial has got
};

struct trial_progress {
  step_t steps = 0;
  step_t shared = 0;
};

class shared_step_counter {
public:
  explicit shared_step_counter(sql_database& database) : database_(database) {}

  expected<std::monostate> run() {
    auto done = database_.for_each(
      "SELECT workload, node, parent, begin FROM nodes WHERE node > 0",
      [this](const sql_statement& row) {
        nodes_[{row.number(0), row.number(1)}]
          = {row.number(2), row.number(3), row.number(3)};
      });
    if (!done)
      return done;
    done = database_.for_each(
      "SELECT id, study, trial, step, workload, node FROM events"
      " WHERE workload IS NOT NULL ORDER BY id",
      [this](const sql_statement& row) {
        auto& trial = trials_[{row.number(1), row.number(2)}];
        const auto step = row.number(3);
        if (step <= trial.steps)
          return;
        const auto fresh = take({row.number(4), row.number(5)}, step);
        const auto steps = step - trial.steps;
        const auto shared = steps - std::min(fresh, steps);
        trial.steps = step;
        trial.shared += shared;
        if (shared > 0)
          events_.emplace_back(row.number(0), shared);
      });
    return done ? write() : done;
  }

private:
  /// Notes that a trial has got a state.
  /// @returns the steps on its way that none had got
  std::uint64_t take(row_key where, step_t step) {
    std::uint64_t fresh = 0;
    for (auto end = step; where.second != 0;) {
      const auto i = nodes_.find(where);
      if (i == nodes_.end())
        break; // damaged: reading the plan says so
      auto& x = i->second;
      if (end > x.known_to) {
        fresh += end - x.known_to;
        x.known_to = end;
      }
      end = x.begin;
      where.second = x.parent;
    }
    return fresh;
  }

  expected<std::monostate> write() {
    auto event
      = database_.prepare("UPDATE events SET shared = ?2 WHERE id = ?1");
    if (!event)
      return event.failure();
    for (const auto& [id, shared] : events_)
      if (auto done = event->bind(1, id).bind(2, shared).run(); !done)
        return done;
    auto trial = database_.prepare(
      "UPDATE trials SET steps = ?3, shared = ?4 WHERE study = ?1"
      " AND trial = ?2");
    if (!trial)
      return trial.failure();
    for (const auto& [where, x] : trials_)
      if (auto done = trial->bind(1, where.first)
                        .bind(2, where.second)
                        .bind(3, x.steps)
                        .bind(4, x.shared)
                        .run();
          !done)
        return done;
    return std::monostate{};
  }

  sql_database& database_;
  std::map<row_key, node_state> nodes_;
  std::map<row_key, trial_progress> trials_;
  std::vector<std::pair<std::uint64_t, step_t>> events_; ///< id, shared
};

} // namespace

expected<std::monostate> add_shared_steps(sql_database& database) {
  return shared_step_counter{database}.run();
}

} // namespace hippo
