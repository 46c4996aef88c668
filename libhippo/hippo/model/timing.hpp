#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hippo/model/workload_size.hpp"

namespace hippo {

/// The activities whose time trainers report.
enum class timed : std::uint8_t {
  step,
  evaluate,
  save,
  load,
  dispatch, ///< from handing over a lease until its work begins
  /// The longest time that a lease took to make its first step, on any kind of
  /// device; all that comes before the step is part of it.
  start,
};
const char* to_string(timed sample) noexcept; ///< e.g. `"step"`
std::optional<timed> timed_from(std::string_view text);

/// The times of one activity on one kind of device. Later measurements
/// weigh more, so that the sums are of the last ones in the main.
struct timing {
  std::string device; ///< its kind
  timed what = timed::step;
  /// Of steps, the values of the hyper-parameters that affect their time, as
  /// `time_estimates::speed_key` has them; else empty.
  std::string speed_key{};
  std::uint64_t stages = 0; ///< measurements, each of which counts as one
  double count = 0;         ///< steps, or whatever it is, of weight 1
  double seconds = 0;       ///< of these
  /// Of the measurements, how far the logarithm of each lay from that of the
  /// mean before it, squared and summed.
  double squared_log_deviations = 0;
  /// Of steps, how much there is to compute in the workload.
  workload_size size{};

  /// The mean time, in seconds. REQUIRES: `count > 0`
  [[nodiscard]] double mean() const { return seconds / count; }
  friend bool operator==(const timing&, const timing&) = default;
};

/// Returns the mean time of a step, in seconds, of any values on any device; 0:
/// none was measured.
double mean_step_seconds(const std::vector<timing>& xs);

} // namespace hippo
