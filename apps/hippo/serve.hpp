#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "hippo/core/endpoint.hpp"
#include "hippo/schedule/scheduler.hpp"
#include "log_format.hpp"
#include "studies.hpp"

namespace hippo {

/// What `hippo serve` was asked for.
struct serve_options {
  workload_catalogue catalogue;
  std::string state = "hippo-state"; ///< folder for everything that must last
  endpoint trainers{"127.0.0.1", 4848}; ///< where trainers connect
  endpoint clients{"127.0.0.1", 4849};  ///< where clients do, over RPC
  endpoint people{"127.0.0.1", 4850};   ///< and over HTTP
  std::string keys;      ///< folder of `hippo keys`; empty: no TLS
  bool insecure = false; ///< whether others may connect without TLS
  unsigned local_trainers = 0; ///< started on this machine
  /// A trainer that says nothing for so long is treated as dead.
  std::chrono::milliseconds trainer_timeout{15'000};
  /// A lease whose step does not come to its end for so long ends.
  std::chrono::milliseconds stall_timeout{600'000};
  hippo::policy policy = hippo::policy::critical_path;
  bool merge = true;
  std::uint64_t checkpoint_bytes_max = 20ull << 30; ///< of all workloads
  log_format log = log_format::text;
};

/// Runs a service until it is interrupted: goes on with the studies that have
/// not ended, takes in trainers and serves clients.
/// @returns the exit code: 0 interrupted, which is how it ends; 1 failed, 2 bad
///          input
int serve(serve_options options);

} // namespace hippo
