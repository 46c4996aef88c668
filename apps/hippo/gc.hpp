#pragma once

#include <cstdint>
#include <string>

namespace hippo {

/// What `hippo gc` was asked for.
struct gc_options {
  std::string state = "hippo-state";
  std::uint64_t checkpoint_bytes_max = 20ull << 30; ///< of all workloads
  bool dry_run = false;
  bool json = false;
};

/// Gives up checkpoints beyond the budget, those of the oldest workload first and
/// of these the ones that take the least to train again, and files that nobody
/// knows; or says what it would do.
/// @returns the exit code
int gc(const gc_options& options);

} // namespace hippo
