#pragma once

#include <functional>
#include <string>
#include <vector>

#include "devices.hpp"
#include "options.hpp"

namespace hippo {

/// Prints, as JSON, the workloads that can be trained. @returns the exit code
int describe_workloads(const workload_registry& registry);

/// Makes a study's workload and throws it away: whether it can be trained here.
/// @returns the exit code
int prepare_study(const trainer_options& opts,
                  const workload_registry& registry);

/// Says whether trials of a study's workload may share training.
/// @returns the exit code
int check_study(trainer_options opts, std::vector<device_entry> devices);

/// Measures how long a study's training takes, and prints a profile.
/// @returns the exit code
int measure_study(const trainer_options& opts, const device_entry& device);

/// Trains what the recipe says and exports the weights that it leads to.
/// @returns the exit code
int export_weights(const trainer_options& opts,
                   const workload_registry& registry,
                   const std::string& device);

/// Trains for the service, whenever there is one.
/// @param log_tail returns the last lines of the log
/// @returns the exit code if it cannot even begin
int serve(const trainer_options& opts, std::vector<device_entry> devices,
          const std::function<std::string()>& log_tail);

} // namespace hippo
