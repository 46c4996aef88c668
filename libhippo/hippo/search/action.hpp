#pragma once

#include <variant>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"

namespace hippo {

/// The algorithm wants trial `trial` trained up to state `to`; it is
/// notified of every measurement on the way.
struct advance {
  trial_no trial = 0;
  step_t to = 0;
  friend bool operator==(const advance&, const advance&) = default;
};

/// Trial `trial`, a new one, is trial `from` up to state `at` and goes on from
/// there with other values, which the study's sampler decides. Nothing is
/// copied: the two have their first `at` steps in common.
struct fork {
  trial_no trial = 0;
  trial_no from = 0;
  step_t at = 0;
  friend bool operator==(const fork&, const fork&) = default;
};

/// Trial `trial`, a new one, gets values that the study's sampler makes of
/// others': those of `target`, some of them replaced by those of `parents[0]`,
/// moved by what lies between `parents[2]` and `parents[1]`. It shares with
/// others what their values happen to have in common, and nothing else.
struct cross {
  trial_no trial = 0;
  trial_no target = 0;
  std::vector<trial_no> parents; ///< three
  friend bool operator==(const cross&, const cross&) = default;
};

/// The algorithm will not train this trial further; it keeps what it has. It
/// may be on its way: then what it was asked for is no longer wanted, and what
/// it still measures is not heeded.
struct prune {
  trial_no trial = 0;
  friend bool operator==(const prune&, const prune&) = default;
};

using action = std::variant<advance, fork, cross, prune>;

} // namespace hippo
