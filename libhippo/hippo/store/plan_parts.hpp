#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "hippo/base/error.hpp"
#include "hippo/model/records.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// Receives a plan in parts: some thousand nodes, those that follow on the
/// ones before, and all that is of them. The first has what is of the root.
using plan_taker = std::function<void(stored_plan)>;

/// Reads the plan of a workload part by part, so that never all of it is in
/// memory but where its nodes begin. Rows that are damaged are left out, along
/// with what depends on them: `stored_plan::damage`.
/// @param version of the tables
/// @param workload its number in them
/// @returns nothing, or `errc::io_failed` where the database cannot be read
/// @complexity O(what is in it)
expected<std::monostate> read_plan_parts(sql_database& database,
                                         std::uint64_t version,
                                         std::uint64_t workload,
                                         const plan_taker& take);

} // namespace hippo
