#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/schedule/scheduler.hpp"
#include "studies.hpp"

namespace hippo {

/// What `hippo run` was asked for.
struct run_options {
  std::vector<loaded_study> studies;
  workload_catalogue catalogue;
  std::string state = "hippo-state"; ///< folder for everything that must last
  std::string report;                ///< folder; empty: in the state folder
  /// What each trainer trains on.
  std::vector<std::string> devices{"cpu"};
  hippo::policy policy = hippo::policy::critical_path;
  bool merge = true;
  std::uint64_t checkpoint_bytes_max = 20ull << 30; ///< of all workloads
  bool quiet = false;
  /// Whether studies go on where the state folder has them, ended or not.
  bool resume = false;
};

/// Runs studies to their end with trainers on this machine, and writes the
/// report. Results that the state folder holds already are not trained again.
/// @returns the exit code: 0 done, 1 failed, 2 bad input, 130 interrupted
int run(run_options options);

} // namespace hippo
