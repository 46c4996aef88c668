#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <kj/memory.h>
#include <kj/timer.h>

#include "depot.capnp.h"

namespace hippo {

/// What a depot takes at most.
struct depot_limits {
  /// Largest checkpoint, in bytes.
  std::uint64_t checkpoint_bytes_max = 64ull << 30;
  /// Transfers at a time. Each holds an open file, and one that is fetched a
  /// window of chunks: 512 MiB for all of them.
  std::size_t transfers_max = 64;
  /// How long a transfer may be silent.
  std::chrono::milliseconds silence_max{60'000};
};

/// Makes what serves the checkpoint folders below `root` to trainers. Removes
/// what depots before it left unfinished there. It belongs to the event loop of
/// the thread that calls this, and holds it up for no longer than reading or
/// writing one window of chunks takes: waiting for the disk is left to a thread
/// of its own.
/// @param root the folder with one folder for each workload
/// REQUIRES: `timer` outlives the result and what it hands out; no other depot
///           has this root.
kj::Own<schema::Depot::Server> make_depot(std::string root, kj::Timer& timer,
                                          depot_limits limits = {});

} // namespace hippo
