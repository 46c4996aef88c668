#pragma once

#include <cstdint>
#include <vector>

#include "hippo/search/accepted_study.hpp"

namespace hippo {

/// Trials of a study that are looked at to say what they share.
inline constexpr std::uint64_t noted_trials_max = 512;

/// The most that they have in all: hyper-parameters of pieces, each about 300
/// bytes. Fewer trials are looked at where each has more.
inline constexpr std::uint64_t noted_forms_max = 1 << 17;

/// Of fewer trials, unless the study has fewer, nothing is said.
inline constexpr std::uint64_t noted_trials_min = 32;

/// Says what is odd about what a study's trials have in common, before anything
/// is spent: a rung at which many of them are one state, so that it cannot tell
/// them apart; or that no two of them share a step, and what would. All figures
/// are computed, from the first `noted_trials_max` trials or as many as are
/// looked at, with the values that they have if nothing is learned.
/// @returns nothing where all is well
/// @complexity O(trials * segments * hyper-parameters)
std::vector<diagnostic> sharing_notes(const accepted_study& study,
                                      const workload_descriptor& workload);

} // namespace hippo
