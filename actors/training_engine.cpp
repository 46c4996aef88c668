#include "training_engine.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "hippo/code/made_workload.hpp"
#include "hippo/train/run.hpp"

namespace hippo {

namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch())
      .count());
}

/// A store that lanes share.
class locked_store final : public checkpoint_store {
public:
  locked_store(std::mutex& reads, std::mutex& writes,
               std::unique_ptr<checkpoint_store> store)
    : reads_(reads), writes_(writes), store_(std::move(store)) {}

  expected<std::string> read(const checkpoint& x) override {
    const std::lock_guard guard{reads_};
    return store_->read(x);
  }

  expected<checkpoint> write(const std::string& name, const std::string& bytes,
                             durability how) override {
    const std::lock_guard guard{writes_};
    return store_->write(name, bytes, how);
  }

private:
  std::mutex& reads_;
  std::mutex& writes_;
  std::unique_ptr<checkpoint_store> store_;
};

} // namespace

/// What the threads share: the workload of the last lease, and the way to
/// checkpoints. Thread-safe.
class training_engine::workload_cache {
public:
  /// A lane of a workload.
  struct lane {
    std::unique_ptr<workload> work;
    std::optional<checkpoint> present; ///< the state that it is in
  };

  workload_cache(workload_registry registry, checkpoint_store_factory stores,
         std::uint64_t kept_bytes_max)
    : registry_(std::move(registry)), stores_(std::move(stores)),
      kept_(kept_bytes_max) {}

  std::unique_ptr<checkpoint_store> store_of(const lease& x) {
    const std::lock_guard guard{choice_};
    return std::make_unique<locked_store>(reads_, writes_, stores_(x));
  }

  /// Returns the lane of a lease, for its thread alone until the lease has
  /// ended. Makes the workload if the one before was another.
  /// @returns as `make_workload`, or `errc::training_failed` if the workload has
  ///          no such lane
  /// REQUIRES: leases of other workloads have ended.
  expected<lane*> lane_of(const lease& x, checkpoint_store& store) {
    const std::lock_guard guard{mutex_};
    if (lanes_.empty() || x.workload != spec_) {
      kept_.clear();
      lanes_.clear(); // two workloads at a time may not fit
      code_.reset();
      auto made = make_workload(registry_, x, store);
      if (!made)
        return made.failure();
      auto others = made->work->take_other_lanes();
      code_ = std::move(made->code);
      lanes_.push_back({std::move(made->work), std::nullopt});
      for (auto& work : others)
        lanes_.push_back({std::move(work), std::nullopt});
      spec_ = x.workload;
    }
    if (x.lane >= lanes_.size())
      return error{errc::training_failed,
                   "there is no lane " + std::to_string(x.lane) + ": "
                     + x.workload.name + " has "
                     + std::to_string(lanes_.size())};
    return &lanes_[x.lane];
  }

  /// Of the lanes.
  recent_states& kept() { return kept_; }

private:
  const workload_registry registry_;
  const checkpoint_store_factory stores_;
  std::mutex choice_; ///< of a store
  std::mutex reads_;
  std::mutex writes_;

  std::mutex mutex_; ///< guards what follows
  std::optional<unpacked_code> code_; ///< what the lanes run: gone after them
  std::vector<lane> lanes_;
  workload_spec spec_; ///< of the lanes, if there are any

  recent_states kept_; ///< what leases of these lanes have saved
};

/// Trains the leases of one lane, one after the other. Thread-safe.
class training_engine::lane_thread {
public:
  lane_thread(std::shared_ptr<workload_cache> where, std::string device)
    : cache_(std::move(where)),
      device_(std::move(device)),
      thread_([this] { loop(); }) {}

  ~lane_thread() {
    {
      const std::lock_guard guard{mutex_};
      closing_ = true;
      if (control_)
        control_->cancel();
    }
    changed_.notify_one();
    thread_.join();
  }

  lane_thread(const lane_thread&) = delete;
  lane_thread& operator=(const lane_thread&) = delete;

  void start(const lease& x, engine_sink sink) {
    const std::lock_guard guard{mutex_};
    control_ = std::make_shared<lease_control>(x.stops);
    running_ = x.number;
    progress_.at = x.stages.front().begin; // until the thread takes it up
    next_ = job{x, std::move(sink), control_};
    changed_.notify_one();
  }

  void add_stop(lease_id lease, const stop_point& stop) {
    const std::lock_guard guard{mutex_};
    if (running_ == lease)
      control_->add(stop);
  }

  void cancel(lease_id lease) {
    const std::lock_guard guard{mutex_};
    if (running_ == lease)
      control_->cancel();
  }

  step_t reached(lease_id lease) {
    const std::lock_guard guard{mutex_};
    return running_ == lease ? progress_.at.load() : 0;
  }

private:
  struct job {
    lease work;
    engine_sink sink;
    std::shared_ptr<lease_control> control;
  };

  lease_end train(const job& x) {
    const auto store = cache_->store_of(x.work);
    const auto mine = cache_->lane_of(x.work, *store);
    if (!mine)
      return {x.work.number, x.work.stages.front().begin, mine.failure()};
    auto& [work, present] = **mine;
    return run(*work, present, cache_->kept(), x.work, *store, device_,
               *x.control, progress_, now_ns,
               [&](const stop_report& report) { x.sink(report); });
  }

  void loop() {
    for (;;) {
      job x;
      {
        std::unique_lock guard{mutex_};
        changed_.wait(guard, [this] { return closing_ || next_; });
        if (closing_)
          return;
        x = std::move(*next_);
        next_.reset();
      }
      auto end = train(x);
      {
        const std::lock_guard guard{mutex_};
        if (running_ == x.work.number)
          running_ = {};
      }
      x.sink(std::move(end));
    }
  }

  const std::shared_ptr<workload_cache> cache_;
  const std::string device_;
  lease_progress progress_;

  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::optional<job> next_;
  std::shared_ptr<lease_control> control_; ///< of the lease `running_`
  lease_id running_{};
  bool closing_ = false;

  std::thread thread_; ///< last: it uses all of the above
};

training_engine::training_engine(workload_registry registry, std::string device,
                                 checkpoint_store_factory stores,
                                 std::uint64_t kept_bytes_max)
  : cache_(std::make_shared<workload_cache>(std::move(registry), std::move(stores),
                                     kept_bytes_max)),
    device_(std::move(device)) {}

training_engine::~training_engine() = default;

void training_engine::start(const lease& x, engine_sink sink) {
  auto& thread = threads_[x.lane];
  if (!thread)
    thread = std::make_unique<lane_thread>(cache_, device_);
  thread->start(x, std::move(sink));
}

void training_engine::add_stop(lease_id lease, const stop_point& stop) {
  for (const auto& kvp : threads_)
    kvp.second->add_stop(lease, stop);
}

void training_engine::cancel(lease_id lease) {
  for (const auto& kvp : threads_)
    kvp.second->cancel(lease);
}

step_t training_engine::reached(lease_id lease) const {
  step_t result = 0;
  for (const auto& kvp : threads_)
    result = std::max(result, kvp.second->reached(lease));
  return result;
}

} // namespace hippo
