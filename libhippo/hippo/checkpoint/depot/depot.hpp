#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <kj/memory.h>
#include <kj/timer.h>

#include "depot.capnp.h"
#include "hippo/base/error.hpp"
#include "hippo/model/initial_state.hpp"

namespace hippo {

/// The limits of a depot.
struct depot_limits {
  /// Largest checkpoint, in bytes.
  std::uint64_t checkpoint_bytes_max = 64ull << 30;
  /// Transfers at a time. Each holds an open file, and one that is fetched a
  /// window of chunks: 512 MiB for all of them.
  std::size_t transfers_max = 64;
  /// How long a transfer may be silent.
  std::chrono::milliseconds silence_max{60'000};
  /// A transfer that moves less than this on average is silent.
  std::uint64_t bytes_per_second_min = 16 << 10;
  /// How long one may be silent while others wait for their turn.
  std::chrono::milliseconds crowded_silence_max{30'000};
};

struct depot_state;

/// Serves the checkpoint folders below a root to trainers.
///
/// All peers share its transfers. Where somebody would begin one more than
/// there may be, one makes room: of those that have moved too little for
/// `crowded_silence_max` the one that has for the longest; else, if an address
/// has at least two transfers more than that of whoever comes, or if that is
/// the same, a connection has, the one of its transfers that has moved nothing
/// for the longest. So nobody has more than a fair part while others wait, nor
/// keeps others waiting by moving nothing.
///
/// Takes only checkpoints that are named as those of leases are, and replaces
/// none.
///
/// It belongs to the event loop of the thread that makes it, and holds it up
/// for no longer than reading or writing one window of chunks takes: waiting
/// for the disk is left to a thread of its own.
class depot {
public:
  /// Removes what depots before it left unfinished.
  /// @param root the folder with one folder for each workload
  /// REQUIRES: `timer` outlives `*this` and what it hands out; no other depot
  ///           has this root.
  depot(std::string root, kj::Timer& timer, depot_limits limits = {});

  /// Makes what serves one connection.
  /// @param address of the peer, without a port
  [[nodiscard]] kj::Own<schema::Depot::Server>
  for_connection(std::string address) const;

  /// Whether a file of an initial state is there, as far as its size says.
  [[nodiscard]] bool has_initial(const initial_file& file) const;

  /// Begins to take a file of an initial state from a client; it is there once
  /// it has been committed and has the content that was announced.
  /// @param address of the client, without a port
  /// @returns the taker, or `errc::invalid_argument` or `errc::io_failed`
  [[nodiscard]] expected<kj::Own<schema::Upload::Server>>
  take_initial(std::string address, const initial_file& file) const;

private:
  std::shared_ptr<depot_state> state_;
};

} // namespace hippo
