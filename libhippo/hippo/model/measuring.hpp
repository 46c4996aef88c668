#pragma once

#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// At which states the trials of a study are measured, and where they may be
/// paused.
struct measuring {
  step_t every = 1;           ///< at all multiples of this up to the last rung
  std::vector<step_t> rungs;  ///< sorted, not empty; the last is the farthest
  /// States at which trials that are yet unknown will likely part, sorted; kept
  /// but not measured.
  std::vector<step_t> branches{};
  /// Whether trials may part wherever they are measured, so that all these
  /// states are kept.
  bool parts_anywhere = false;

  /// Whether state `at` is measured.
  [[nodiscard]] bool covers(step_t at) const;

  /// Whether state `at`, a measured one, is kept.
  [[nodiscard]] bool keeps(step_t at) const;

  /// Returns the first measured state after `at`, or 0 if there is none.
  [[nodiscard]] step_t next(step_t at) const;

  friend bool operator==(const measuring&, const measuring&) = default;
};

} // namespace hippo
