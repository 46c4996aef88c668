#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/fleet/fleet.hpp"
#include "simulation.hpp"

namespace hippo {

/// Reads a file of machines; says on stderr what is wrong.
/// @returns nothing if something is
std::optional<fleet> load_fleet(const std::string& file);

/// Adds the workloads that the profiles of machines describe to a catalogue, so
/// that studies may name them; says on stderr what is wrong.
/// @param file of `machines`
/// @returns whether nothing is
bool add_workloads(const fleet& machines, const std::string& file,
                   workload_catalogue& catalogue);

/// Finds what training is like on the machines that are used, for each workload
/// that studies name: a profile that the kind of machine names (a path is
/// relative to the file of machines), else one of `profiles` whose device is
/// the kind's. Says on stderr what is wrong, e.g. which profile is missing.
/// @param file of `machines`
/// @returns them in the order of `used`; nothing if something is wrong
std::optional<std::vector<simulated_machines>>
find_machines(const fleet& machines, const std::string& file,
              const std::vector<machine_group>& used,
              const std::vector<accepted_study>& studies,
              const std::vector<simulation_profile>& profiles,
              workload_catalogue& catalogue);

} // namespace hippo
