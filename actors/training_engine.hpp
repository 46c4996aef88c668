#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine.hpp"
#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/train/call_watch.hpp"
#include "hippo/train/gang/gang_port.hpp"
#include "hippo/train/recent_states.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

class lane_workloads;

/// An engine that trains as many leases at once as there are lanes in use, each
/// on a thread of its own, with a workload of its own, so that the actor in
/// front of it always answers. A lane keeps its workload: a lease that goes on
/// where the one before in its lane has ended loads nothing. What one lane has
/// saved the others start from without reading.
///
/// Where memory is too short for so many, fewer are trained at once: a lease
/// that has found no room starts again once another one has ended. It fails if
/// it finds none alone.
///
/// A lease of a gang is trained with other trainers, which it waits for and
/// exchanges with by `gang_port`.
///
/// A call of training that does not return once its lease is to end is ended
/// (`call_watch`): with the process that trains, or, if it trains in this one,
/// by telling that the device is stuck.
class training_engine final : public engine {
public:
  /// @param device the kind of device, as reports name it
  /// @param stores chooses where a lease's checkpoints are; called on the
  ///        engine's threads, one at a time. Of what it returns, one reads and
  ///        one writes at a time, all lanes together
  /// @param kept_bytes_max how much memory may hold states that leases have
  ///        saved, so that others start from them without reading
  /// @param on_stuck called on a thread of the engine's before it tells that
  /// the
  ///        device is stuck: this process must end
  /// @param gangs where other members of a gang reach it; null: it is in none
  training_engine(workload_registry registry, std::string device,
                  checkpoint_store_factory stores = folder_of,
                  std::uint64_t kept_bytes_max = recent_state_bytes_max,
                  call_limits limits = {}, std::function<void()> on_stuck = {},
                  std::shared_ptr<gang_port> gangs = {});

  /// Cancels what runs and waits for it, but not for what is stuck.
  ~training_engine() override;

  training_engine(const training_engine&) = delete;
  training_engine& operator=(const training_engine&) = delete;

  void start(const lease& lease, engine_sink sink) override;
  void add_stop(lease_id lease, const stop_point& stop) override;
  void cancel(lease_id lease) override;
  [[nodiscard]] step_t reached(lease_id lease) const override;
  [[nodiscard]] std::chrono::milliseconds
  overdue(lease_id lease) const override;

private:
  class lane;
  class lane_thread;
  class watcher;

  const std::shared_ptr<lane_workloads> shared_;
  const std::string device_;
  const call_limits limits_;
  const std::function<void()> on_stuck_;
  const std::shared_ptr<gang_port> gangs_;
  const std::unique_ptr<watcher> watcher_;
  std::map<std::uint32_t, std::unique_ptr<lane_thread>> threads_; ///< by lane
};

} // namespace hippo
