#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hippo/merge/status.hpp"
#include "hippo/report/record.hpp"
#include "hippo/study/answers.hpp"

namespace hippo {

/// Estimates how long a study takes yet, from what it has asked for and is
/// expected to ask for, and the speed that was measured: `seconds_left`.
/// @param plan of its workload
/// @param idle trainers that nobody uses: once its paths part they train, too
/// @returns seconds; nothing if there is nothing that says it
std::optional<double> time_left(const study_status& study,
                                const merger_status& plan, std::size_t idle);

/// Returns how many trainers are there that train nothing.
std::size_t idle_trainers(const std::vector<trainer_record>& all,
                          const std::vector<merger_status>& plans);

} // namespace hippo
