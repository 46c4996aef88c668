#pragma once

#include <string>
#include <vector>

#include "hippo/model/timing.hpp"
#include "hippo/plan/schedule/step_model.hpp"

namespace hippo {

/// A step's time, as a `step_model` sees it: so many iterations alike.
struct step_makeup {
  /// The further values that decide its time, beside batch and workload.
  std::string workload;
  double batch = 1;      ///< samples in an iteration
  double iterations = 1; ///< in a step, at least 1
};

/// Takes apart what decides how long a step takes. The batch is the value of
/// `batch_size`; where there is none, a step is one iteration.
/// @param workload its key
/// @param speed_names the hyper-parameters whose values are in a speed key
step_makeup makeup_of(const std::string& workload,
                      const std::vector<std::string>& speed_names,
                      const std::string& speed_key, const workload_size& size);

/// Returns what of a workload's measured times a step model learns from: those
/// of steps.
std::vector<step_profile>
step_profiles_of(const std::string& workload,
                 const std::vector<std::string>& speed_names,
                 const std::vector<timing>& measured);

} // namespace hippo
