#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine.hpp"
#include "hippo/train/checkpoint_store.hpp"
#include "hippo/train/made_workload.hpp"
#include "hippo/train/run.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// An engine that trains on a thread of its own, so that the actor in front of
/// it always answers. Keeps the workload of the last lease: its data stay in
/// memory, and a lease that goes on where that one ended loads nothing.
/// Thread-safe.
class training_thread final : public engine {
public:
  /// @param device the kind of device, as reports name it
  /// @param stores chooses where a lease's checkpoints are; called, and what it
  ///        returns used, on the engine's thread
  training_thread(workload_registry registry, std::string device,
                  checkpoint_store_factory stores = folder_of);

  /// Cancels what runs and waits for it.
  ~training_thread() override;

  void start(const lease& x, engine_sink sink) override;
  void add_stop(std::uint64_t lease, const stop_point& stop) override;
  void cancel(std::uint64_t lease) override;
  [[nodiscard]] step_t reached() const override { return progress_.at; }

private:
  struct job {
    lease work;
    engine_sink sink;
    std::shared_ptr<lease_control> control;
  };

  void loop();
  lease_end train(const job& x);

  const workload_registry registry_;
  const std::string device_;
  const checkpoint_store_factory stores_;
  lease_progress progress_;

  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::optional<job> next_;
  std::shared_ptr<lease_control> control_; ///< of the lease `running_`
  std::uint64_t running_ = 0;
  bool closing_ = false;

  // The thread's own.
  std::optional<made_workload> made_;
  workload_spec spec_;                ///< of `made_`
  std::optional<checkpoint> present_; ///< the state that `made_` is in

  std::thread thread_; ///< last: it uses all of the above
};

} // namespace hippo
