#pragma once

namespace hippo {

/// How much there is to compute in a workload. Each is 0 where nobody knows.
struct workload_size {
  double operations = 0; ///< floating-point, to train on a sample
  double parameters = 0; ///< that are trained
  double samples = 0;    ///< in a step; 0: a step is one iteration

  [[nodiscard]] bool is_known() const {
    return operations > 0 && parameters > 0;
  }
  friend bool operator==(const workload_size&, const workload_size&) = default;
};

} // namespace hippo
