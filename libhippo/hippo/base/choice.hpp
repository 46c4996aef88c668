#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// Why a trial has the values that a sampler has chosen, for people.
struct choice_reason {
  /// `given` by the study, `startup`, `model`, `cross of A, B, C`; empty:
  /// nothing was learned.
  std::string how;
  /// The model's prediction of the objective after the last step.
  std::optional<double> predicted;
  /// Of the trial's steps to its first goal, those that no trial of the study
  /// had been asked for.
  std::optional<step_t> untrained;
  friend bool operator==(const choice_reason&, const choice_reason&) = default;
};

/// A learning sampler's decision about a trial. It is stored, so that a
/// restart need not compute it anew: another machine's arithmetic might decide
/// otherwise.
struct trial_choice {
  choice_reason why;
  /// The decision on each leaf, in the order of `search_space::walk`.
  std::vector<std::uint64_t> decisions;
  friend bool operator==(const trial_choice&, const trial_choice&) = default;
};

} // namespace hippo
