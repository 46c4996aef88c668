#pragma once

#include <cstdint>

#include "hippo/space/study.hpp"

namespace hippo {

/// The approximate work that a service needs for a trial.
struct trial_cost {
  std::uint64_t pieces = 0; ///< ranges of steps in which nothing changes
  std::uint64_t hyper_parameters = 0;

  /// In memory: its nodes in the plan, each with all hyper-parameters, what
  /// waits for them, and the study's own books.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// The trials of a study that are open take at most so many bytes, unless one
/// does.
inline constexpr std::uint64_t open_trials_bytes_max = 256 << 20;

/// The most that one trial of a study takes, of those that are drawn first.
/// @param further hyper-parameters that the study does not mention
/// @complexity O(pieces of some trials): a fixed number of pieces at most, or
///             of one trial
trial_cost cost_of_trial(const study_spec& spec, std::uint64_t further);

/// How many trials may be open so that they take no more than so many bytes; at
/// least one.
std::uint64_t trials_ahead_of(const trial_cost& cost, std::uint64_t bytes);

} // namespace hippo
