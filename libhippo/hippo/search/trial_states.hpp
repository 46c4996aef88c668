#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"

namespace hippo {

/// A trial that rests at a step, or is on its way there.
struct placed_trial {
  trial_no trial = 0;
  step_t at = 0;
};

/// Which trials of a study are one and the same up to a rung, and what was
/// expected of each. Both follow from what a trial was given when it was drawn,
/// so they are the same whenever they are asked. And the trial that a model of
/// all results would train next.
///
/// Trials that are one state measure the same. Which of them goes on must not
/// be a matter of their numbers as long as there is a better reason.
class trial_states {
public:
  virtual ~trial_states() = default;

  /// Returns a number that two trials have in common if their values are equal
  /// in all steps before `rung`; others have it by a chance of 2^-64.
  /// REQUIRES: the values of the trial are known, and `rung` is one of
  /// `algorithm::rungs`.
  [[nodiscard]] virtual std::uint64_t of(trial_no trial,
                                         step_t rung) const = 0;

  /// Returns the step at which the trial ends if nothing ends it before.
  /// REQUIRES: the values of the trial are known
  [[nodiscard]] virtual step_t end_of(trial_no /*trial*/) const {
    return std::numeric_limits<step_t>::max();
  }

  /// Returns what a model expected of the objective after the last step when it
  /// chose the values of the trial, a finite number; nothing if none did.
  [[nodiscard]] virtual std::optional<double>
  predicted(trial_no /*trial*/) const {
    return std::nullopt;
  }

  /// See `sampler::next`; without a model it is the first.
  [[nodiscard]] virtual std::optional<trial_no>
  next(const std::vector<placed_trial>& resting,
       const std::vector<placed_trial>& /*going*/,
       std::optional<trial_no> fresh) const {
    return first_of(resting, fresh);
  }

  /// A new trial, or else the first at rest, if there is one.
  static std::optional<trial_no>
  first_of(const std::vector<placed_trial>& resting,
           std::optional<trial_no> fresh) {
    return fresh || resting.empty() ? fresh
                                    : std::optional{resting.front().trial};
  }
};

/// Orders equally good trials such that those that come first differ as much as
/// may be: one of each state at the first rung before a second of any; among
/// those of one state, one of each at the next rung before a second of any; and
/// so on. Where nothing differs, by their numbers.
/// @param rungs in order, the one first where the trials are
/// @param states null: by their numbers
/// @complexity O(trials * rungs)
std::vector<trial_no> spread(std::vector<trial_no> equals,
                             const std::vector<step_t>& rungs,
                             const trial_states* states);

} // namespace hippo
