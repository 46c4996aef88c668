#pragma once

#include "hippo/base/error.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// Works out, for the events and trials of a version that did not keep it, how
/// many steps each measurement brought that a trial had got before: as
/// `delivery::shared`, from the events in their order.
/// REQUIRES: the columns are there, all 0.
/// @complexity O(events * depth of the plan); memory for each node and trial
expected<std::monostate> add_shared_steps(sql_database& database);

} // namespace hippo
