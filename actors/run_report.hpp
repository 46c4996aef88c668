#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hippo/model/run_record.hpp"
#include "messages.hpp"

namespace hippo {

/// A study as its actor knows it, and where its merger has it.
struct reported_study {
  study_record record;
  std::size_t merger = 0;        ///< index into the mergers
  std::optional<study_no> no{};  ///< the merger's number of it, if it has one
};

/// Puts together what the actors know of a run.
/// @param wall_seconds from the first lease that could be given to the last
///                     result
run_record make_run_record(std::vector<reported_study> studies,
                           const std::vector<merger_overview>& mergers,
                           const pool_status& pool, double wall_seconds);

} // namespace hippo
