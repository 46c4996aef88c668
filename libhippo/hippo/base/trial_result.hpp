#pragma once

#include "hippo/base/types.hpp"

namespace hippo {

/// Whether what a trial has measured is a result of it, by which it has a rank
/// and may be the best: that of one which failed is none. Whoever compares
/// trials, for whatever purpose, asks this.
constexpr bool has_result(trial_state state) noexcept {
  return state != trial_state::failed;
}

} // namespace hippo
