#pragma once

#include <cstdint>
#include <set>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"

namespace hippo {

/// Which trials of a study have come into being: as many as have got somewhere,
/// and a fixed number beyond them. So a study takes the memory of what is in
/// flight and of what it has measured, however many trials it may have.
///
/// The number is `trials_ahead_max`, many more than there are trainers, so that
/// the plan knows where trials part before it is trained past, and merges what
/// they have in common; or fewer where each takes much (`trials_ahead_of`). It
/// is stored with the study: with another one a replay would open others.
///
/// A trial has *settled* once it has come to the first rung, or has ended.
/// @invariant no more than `width` trials that are open have not settled
/// @invariant trials open in the order of their numbers, and stay so
class trial_window {
public:
  /// @param trials that there may be
  /// REQUIRES: `width > 0`
  trial_window(std::uint64_t trials, std::uint64_t width);

  /// Trials below this one are open.
  [[nodiscard]] std::uint64_t opened() const noexcept { return opened_; }

  /// Whether more trials are open after a call of `open`.
  [[nodiscard]] bool has_room() const noexcept {
    return opened_ < trials_ && unsettled_.size() < width_;
  }

  /// Opens as many as there is room for. @returns `opened()`
  std::uint64_t open();

  /// There are so many trials in all. REQUIRES: not fewer than are open
  void resize(std::uint64_t trials) { trials_ = trials; }

  /// There may be further trials.
  void grow(std::uint64_t trials) { trials_ += trials; }

  /// The trial has come to the first rung, or has ended. Nothing happens if it
  /// has done so before.
  void settle(trial_no trial) { unsettled_.erase(trial); }

private:
  std::uint64_t trials_;
  std::uint64_t width_;
  std::uint64_t opened_ = 0;
  std::set<trial_no> unsettled_; ///< of those that are open
};

} // namespace hippo
