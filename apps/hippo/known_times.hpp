#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/forecast/machines/machines.hpp"
#include "hippo/forecast/simulate/profile.hpp"
#include "hippo/model/records.hpp"

namespace hippo {

/// What training is like on a kind of machine that has no profile of it, and
/// how that is known.
struct known_training {
  simulation_profile profile;
  std::string source; ///< `measured (412 stages)`, `predicted (+-9 %)`
};

/// What was measured anywhere, to tell from it what training is like elsewhere.
class known_times {
public:
  /// @param profiles of any kinds of device
  /// @param measured by a service; may be empty
  known_times(const std::vector<simulation_profile>& profiles,
              std::vector<workload_timings> measured,
              std::vector<workload_descriptor> workloads);

  /// Finds what training a workload is like on a kind of machine: as a service
  /// has measured it there, else as it is predicted of all that was measured
  /// anywhere (`time_estimates`).
  /// @returns nothing if nothing says anything of it
  [[nodiscard]] std::optional<known_training>
  find(const machine_kind& kind, const workload_spec& workload) const;

private:
  std::vector<simulation_profile> profiles_;
  std::vector<workload_timings> measured_;
  std::vector<workload_descriptor> workloads_;
};

} // namespace hippo
