#pragma once

#include <cstdint>
#include <optional>

#include "hippo/search/accepted_study.hpp"

namespace hippo {

/// The first work of a study.
struct first_rung {
  std::uint64_t trials = 0; ///< that it starts before it has any result
  std::uint64_t steps = 0;  ///< that these need, after merging
};

/// Works out with how much training a study begins: what its algorithm asks for
/// before it has a result, up to the first rung if it has any.
/// @complexity O(trials * segments)
first_rung first_rung_of(const accepted_study& study,
                         const workload_descriptor& workload);

/// Says that a study's budget of cost does not even cover its first rung, if
/// that can be worked out: it cannot for who starts no trials at once.
/// @param step_seconds that a step of its workload takes; 0: unknown
/// @param price of an hour of the trainers of a trial, the lowest; 0: nothing
///        is to be paid
std::optional<diagnostic> note_of_cost(const accepted_study& study,
                                       const workload_descriptor& workload,
                                       double step_seconds, double price);

} // namespace hippo
