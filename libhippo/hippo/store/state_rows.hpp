#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/store/records.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

// What rows of a state folder's database stand for.

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

/// Reads the first row of a query, if there is one.
template <class T, class Bind, class Read>
expected<std::optional<T>> read_first(expected<sql_statement> query,
                                      Bind&& bind, Read&& read) {
  if (!query)
    return query.failure();
  bind(*query);
  const auto found = query->step();
  if (!found)
    return found.failure();
  if (!*found)
    return std::optional<T>{};
  expected<T> row = read(*query);
  if (!row)
    return row.failure();
  return std::optional<T>{std::move(*row)};
}

/// The columns that `study_in` reads, in its order.
inline const std::string study_columns
  = "id, name, file, metric, direction, state, weight, active_seconds,"
    " reason, device_seconds, algorithm, cost, submitted";

/// Reads a study, without its text.
expected<stored_study> study_in(const sql_statement& row);

/// Reads the columns that `state_reader::load_trials` selects.
expected<stored_trial> trial_in(const sql_statement& row);

/// Reads the columns that `state_reader::load_events` selects: an event, a
/// measurement without its values.
expected<stored_event> event_in(const sql_statement& row);

/// The columns that `timing_in` reads, in its order.
inline const std::string timing_columns
  = "device, what, speed, stages, count, seconds, squared_log_deviations,"
    " operations, parameters, samples";

/// Reads what was measured of a time.
expected<timing> timing_in(const sql_statement& row);

} // namespace hippo
