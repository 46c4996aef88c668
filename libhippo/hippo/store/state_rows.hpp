#pragma once

#include <string>

#include "hippo/core/error.hpp"
#include "hippo/store/records.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

// What rows of a state folder's database stand for.

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
