#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/model/run_record.hpp"

namespace hippo {

/// The best value that a trial measured, and the first step that gave it.
struct best_value {
  step_t step = 0;
  double value = 0;
};

/// Whether `left` is strictly better than `right`.
inline bool better(double left, double right, direction way) {
  return way == direction::maximize ? left > right : left < right;
}

/// Returns the trial's best measurement of its study's metric, the first one of
/// several, or nothing if it has none (NaN does not count, nor what breaks a
/// constraint), or has failed.
std::optional<best_value> best_of(const trial_record& trial,
                                  const study_record& study);

/// The best value of a trial in a study whose trials have several lengths.
struct trial_best {
  std::uint64_t trial = 0;
  step_t length = 0;
  best_value best;
};

/// Returns the length that a trial's parameters have; nothing: all trials of
/// the study have one.
std::optional<step_t> length_in(const nlohmann::ordered_json& params);

/// Returns the best trial of each length, by length; of equals the first.
std::vector<trial_best> best_of_each_length(const std::vector<trial_best>& all,
                                            direction way);

/// The same of a study; none if its trials have one length, or it has several
/// metrics.
std::vector<trial_best> best_of_each_length(const study_record& study);

} // namespace hippo
