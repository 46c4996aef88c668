#pragma once

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Steps that a study would still have to train, beyond what its trials have
/// been asked to do already. Samplers may prefer the cheaper of choices that
/// are equally good.
///
/// It counts the study's own trials only: a decision must not depend on what
/// others happen to train at the same time.
class untrained_work {
public:
  virtual ~untrained_work() = default;

  /// Returns the steps on the way of `trial` to state `to`.
  [[nodiscard]] virtual step_t of(trial_no trial, step_t to) const = 0;

  /// Returns the steps on the way of a trial of these values to state `to`.
  [[nodiscard]] virtual step_t of(const trial_parameters& values,
                                  step_t to) const = 0;
};

} // namespace hippo
