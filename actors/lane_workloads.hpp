#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/parts/part_tables.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "hippo/train/recent_states.hpp"
#include "hippo/train/run.hpp"

namespace hippo {

/// The state that the lanes of a training engine share: the way to checkpoints,
/// the states that were saved last, and the workload that each lane has kept.
/// Thread-safe.
class lane_workloads {
public:
  /// A lane's workload.
  struct entry : made_workload {
    workload_spec spec{};
    std::optional<checkpoint> present{}; ///< the state that it is in
  };

  lane_workloads(workload_registry registry, checkpoint_store_factory stores,
                 std::uint64_t kept_bytes_max);

  std::unique_ptr<checkpoint_store> store_of(const lease& lease);

  /// Returns the workload of a lease, for its thread alone until the lease has
  /// ended. Makes it if its lane has trained something else before.
  /// @returns as `make_workload`
  /// REQUIRES: leases of other workloads have ended; the same one may have
  /// several seeds (`take_seed`).
  expected<entry*> entry_of(const lease& lease, checkpoint_store& store);

  /// Of all lanes.
  recent_states& kept() { return kept_; }
  part_tables& tables() { return tables_; }

  /// Counts a lease among those that train, from when there is room for one
  /// more, or it was cancelled.
  class seat {
  public:
    seat(lane_workloads& where, std::uint32_t lane,
         const lease_control& control);
    ~seat();
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;

  private:
    lane_workloads& where_;
    const std::uint32_t lane_;
  };

  /// A lane's lease has failed for want of memory. Lets go of what it has, and
  /// of what lanes keep that train nothing; if none does, of those that train
  /// beside each other there is to be one less from now on.
  /// @returns whether it has been alone, so that it needs more than there is
  /// REQUIRES: the lane has a seat
  bool make_room(std::uint32_t lane);

private:
  static constexpr auto no_maximum = std::numeric_limits<std::size_t>::max();

  const workload_registry registry_;
  const checkpoint_store_factory stores_;
  std::mutex choice_; ///< of a store
  std::mutex reads_;
  std::mutex writes_;

  std::mutex mutex_; ///< guards what follows
  std::condition_variable left_;
  std::map<std::uint32_t, entry> entries_; ///< by lane, of `spec_`
  workload_spec spec_;                     ///< without its seed
  std::set<std::uint32_t> busy_;           ///< lanes that train
  std::size_t at_once_max_ = no_maximum;   ///< leases at once of `spec_`

  recent_states kept_; ///< states that leases of that workload have saved
  part_tables tables_;
};

} // namespace hippo
