#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "hippo/model/lease.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// How much memory kept states may take by default: 256 MiB.
inline constexpr std::uint64_t recent_state_bytes_max = 256ull << 20;

/// States of one workload, or of the lanes of one launch, by the checkpoints
/// that they were saved as: what branches off there restores them, and reads
/// nothing. Thread-safe.
/// @invariant they and what is held take at most `bytes_max` together, as
///            `workload_state::size` tells
class recent_states {
public:
  explicit recent_states(std::uint64_t bytes_max);

  /// Keeps a state if it is worth it and there is room; the least recently used
  /// ones make room.
  void keep(const checkpoint& checkpoint,
            std::shared_ptr<const workload_state> state);

  /// Returns the state that was saved as `checkpoint`, or null if it is not
  /// kept.
  [[nodiscard]] std::shared_ptr<const workload_state>
  find(const checkpoint& checkpoint);

  /// Lets go of all of them.
  void clear();

  /// Leaves `bytes` of the room to states that somebody has who is to write
  /// them, until `release`. @returns whether that much can be left
  bool hold(std::uint64_t bytes);
  /// REQUIRES: as much is held
  void release(std::uint64_t bytes);

private:
  struct entry {
    checkpoint name;
    std::shared_ptr<const workload_state> state;
  };

  void drop(std::list<entry>::iterator position);
  bool make_room(std::uint64_t bytes);

  const std::uint64_t bytes_max_;
  std::mutex mutex_; ///< guards what follows
  std::uint64_t bytes_ = 0; ///< of the entries
  std::uint64_t held_ = 0;
  std::list<entry> entries_; ///< the last used one first
};

} // namespace hippo
