#pragma once

#include <optional>

#include "hippo/report/record.hpp"

namespace hippo {

/// The best value that a trial measured, and the first step that gave it.
struct best_value {
  step_t step = 0;
  double value = 0;
};

/// Whether `a` is strictly better than `b`.
inline bool better(double a, double b, direction way) {
  return way == direction::maximize ? a > b : a < b;
}

/// Returns the trial's best measurement of its study's metric, the first one of
/// several, or nothing if it has none (NaN does not count, nor what breaks a
/// constraint), or has failed.
std::optional<best_value> best_of(const trial_record& trial,
                                  const study_record& study);

} // namespace hippo
