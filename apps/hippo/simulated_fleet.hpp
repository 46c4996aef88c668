#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/forecast/machines/machines.hpp"
#include "hippo/model/records.hpp"
#include "simulation.hpp"

namespace hippo {

/// The machines of a file, and what training on them is like.
struct known_machines {
  std::string file;
  fleet all;
  /// Of each kind, those that it names; a path is relative to the file.
  std::vector<std::vector<simulation_profile>> profiles;
};

/// Reads a file of machines and the profiles that it names, and adds the
/// workloads that these describe to a catalogue, so that studies may name them;
/// says on stderr what is wrong. @returns nothing if something is
std::optional<known_machines> load_machines(const std::string& file,
                                            workload_catalogue& catalogue);

/// What there is to find out what training is like.
struct time_sources {
  const std::vector<simulation_profile>& profiles; ///< of any kinds
  const std::vector<workload_descriptor>& workloads; ///< that there are
  std::vector<workload_timings> measured{}; ///< by a service; may be empty
};

/// Finds what training is like on the machines that are used, for each workload
/// that studies name: a profile that the kind of machine names, else one of the
/// given ones whose device is the kind's, else what a service has measured
/// there, else what follows from all that was measured anywhere. Says on stderr
/// what is wrong, e.g. of which kind nothing is known.
/// @returns them in the order of `used`; nothing if something is wrong
std::optional<std::vector<simulated_machines>>
find_machines(const known_machines& machines,
              const std::vector<machine_group>& used,
              const std::vector<accepted_study>& studies,
              const time_sources& sources);

} // namespace hippo
