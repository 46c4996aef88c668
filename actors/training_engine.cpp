#include "training_engine.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/train/gang/train_in_gang.hpp"
#include "hippo/train/run.hpp"
#include "hippo/train/stoppable.hpp"
#include "lane_workloads.hpp"

namespace hippo {

namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch())
      .count());
}

/// Returns the stops of a lease. In a gang they are those of the lead alone.
std::vector<stop_point> stops_of(const lease& lease) {
  if (lease.gang && lease.gang->rank != 0)
    return {{.at = lease.stages.back().end}};
  return lease.stops;
}

} // namespace

/// Trains the leases of one lane, one after the other, on one thread.
/// Thread-safe. The thread has it as well: one that is stuck may outlive the
/// engine.
class training_engine::lane {
public:
  lane(std::shared_ptr<lane_workloads> where, std::string device,
       call_limits limits, std::function<void()> on_stuck,
       std::shared_ptr<gang_port> gangs)
    : shared_(std::move(where)), device_(std::move(device)),
      on_stuck_(std::move(on_stuck)), gangs_(std::move(gangs)),
      progress_(limits) {}

  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  void start(const lease& lease, engine_sink sink) {
    const std::lock_guard guard{mutex_};
    control_ = std::make_shared<lease_control>(stops_of(lease));
    running_ = lease.number;
    winds_down_ = false;
    progress_.at = lease.stages.front().begin; // until the thread takes it up
    next_ = job{lease, std::move(sink), control_};
    changed_.notify_all();
  }

  void add_stop(lease_id lease, const stop_point& stop) {
    const std::lock_guard guard{mutex_};
    if (running_ != lease)
      return;
    control_->add(stop);
    if (!stop.last)
      return;
    winds_down_ = true;
    progress_.calls.wind_down();
  }

  void cancel(lease_id lease) {
    const std::lock_guard guard{mutex_};
    if (running_ == lease)
      cancel_now();
  }

  step_t reached(lease_id lease) {
    const std::lock_guard guard{mutex_};
    return running_ == lease ? progress_.at.load() : 0;
  }

  std::chrono::milliseconds overdue(lease_id lease) {
    const std::lock_guard guard{mutex_};
    if (running_ != lease)
      return {};
    return std::chrono::ceil<std::chrono::milliseconds>(
      progress_.calls.overdue());
  }

  /// Ends a call that is to return and does not.
  /// @returns how long it may take until something is to be done about one;
  ///          nothing: the lane's lease is not to end
  std::optional<call_watch::duration> look() {
    using effect = call_watch::effect;
    std::optional<engine_sink> stuck;
    device_stuck told;
    std::optional<call_watch::duration> result;
    {
      const std::lock_guard guard{mutex_};
      if (!progress_.calls.is_to_end())
        return std::nullopt;
      auto* const trains = dynamic_cast<stoppable*>(work_);
      const auto what = progress_.calls.tick(trains != nullptr);
      if (what != effect::nothing)
        log(what);
      if (what == effect::terminate || what == effect::kill) {
        control_->cancel(); // it may have been to end after its present step
        trains->stop(what == effect::kill ? stop_force::kill
                                          : stop_force::terminate);
      } else if (what == effect::give_up) {
        told.end = {running_, progress_.at.load(),
                    error{errc::cancelled,
                          "a call of training did not return, and its trainer "
                          "starts anew"}};
        stuck = sink_;
        is_stuck_ = true;
        running_ = {};
        changed_.notify_all();
      }
      result = is_stuck_ ? std::nullopt
                         : std::optional{progress_.calls.due_in(
                             trains != nullptr).value_or(look_interval)};
    }
    if (stuck) {
      if (on_stuck_)
        on_stuck_();
      (*stuck)(std::move(told));
    }
    return result;
  }

  /// Lets the thread end, and cancels what it does.
  void close() {
    const std::lock_guard guard{mutex_};
    closing_ = true;
    if (control_)
      cancel_now();
    changed_.notify_all();
  }

  /// Waits until the thread has ended, or is stuck. @returns whether it is
  bool await_end() {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return has_ended_ || is_stuck_; });
    return !has_ended_;
  }

  /// What the thread does.
  void loop() {
    for (job x; take(x);) {
      auto end = train(x);
      {
        const std::lock_guard guard{mutex_};
        if (is_stuck_)
          break; // its end was told, and nothing is left to train
        progress_.calls.start_lease(false); // nobody waits for this one
        if (running_ == x.work.number)
          running_ = {};
      }
      x.sink(std::move(end));
    }
    const std::lock_guard guard{mutex_};
    has_ended_ = true;
    changed_.notify_all();
  }

private:
  struct job {
    lease work;
    engine_sink sink;
    std::shared_ptr<lease_control> control;
  };

  /// How often a lease that is to end is looked at while no call runs.
  static constexpr call_watch::duration look_interval
    = std::chrono::milliseconds{200};

  bool take(job& x) {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, [this] { return closing_ || next_; });
    if (closing_)
      return false;
    x = std::move(*next_);
    next_.reset();
    sink_ = x.sink;
    progress_.calls.start_lease(std::exchange(spec_, x.work.workload)
                                != x.work.workload);
    // What came before the thread has taken it up.
    if (winds_down_)
      progress_.calls.wind_down();
    if (x.control->cancelled())
      progress_.calls.cancel();
    return true;
  }

  /// Trains a lease; once more where that has failed for want of memory,
  /// perhaps beside fewer others. What was reported stays reported.
  lease_end train(const job& x) {
    if (x.work.gang)
      return train_as_member(x);
    for (;;) {
      const lane_workloads::seat mine{*shared_, x.work.lane, *x.control};
      auto end = train_once(x, nullptr);
      if (!end.failure || end.failure->code != errc::resource_exhausted)
        return end;
      if (shared_->make_room(x.work.lane)) {
        end.failure->code = errc::training_failed;
        return end;
      }
      spdlog::warn("trainer: lease {} has found no room beside others, and "
                   "starts again: {}",
                   number_of(x.work.number), end.failure->message);
    }
  }

  /// Trains a lease of a gang, once the other members are there.
  lease_end train_as_member(const job& x) {
    const auto failed = [&](error why) {
      return lease_end{x.work.number, x.work.stages.front().begin,
                       std::move(why)};
    };
    if (!gangs_)
      return failed({errc::gang_lost, "this trainer is in no gang: it was "
                                      "started without --gang-listen"});
    const lane_workloads::seat mine{*shared_, x.work.lane, *x.control};
    // First of all, since it gives signs of life from then on.
    const auto members = connected_gang::join(
      *gangs_, *x.work.gang,
      [control = x.control] { return control->cancelled(); },
      ranks_of(x.work.workload) > 1 ? gang_links::to_lead
                                    : gang_links::exchanging);
    if (!members)
      return failed(members.failure());
    auto end = train_once(x, members->get());
    if (end.failure && end.failure->code == errc::resource_exhausted)
      end.failure->code = shared_->make_room(x.work.lane)
                            ? errc::training_failed
                            : errc::gang_lost; // others may leave room
    (*members)->finish(end.failure);
    return end;
  }

  /// @param members null: it is trained alone
  lease_end train_once(const job& x, connected_gang* members) {
    const auto cancelled = [&] {
      return lease_end{
        x.work.number, x.work.stages.front().begin,
        error{errc::cancelled, "cancelled before it had begun"}};
    };
    if (x.control->cancelled())
      return cancelled();
    const auto store = shared_->store_of(x.work);
    const auto mine = [&] {
      const watched_calls::scope call{progress_.calls, call_kind::starting};
      return shared_->entry_of(x.work, *store);
    }();
    if (!mine)
      return x.control->cancelled()
               ? cancelled()
               : lease_end{x.work.number, x.work.stages.front().begin,
                           mine.failure()};
    auto& made = **mine;
    set_work(made.work.get());
    parted_store states{x.work, *store, shared_->tables()};
    const auto train = [&](const auto& how) {
      return how(*made.work, made.present, shared_->kept(), x.work, states,
                 device_, *x.control, progress_, now_ns,
                 [&](const stop_report& report) { x.sink(report); });
    };
    auto end = members == nullptr
                 ? train(run)
                 : train(std::bind_front(train_in_gang, std::ref(*members)));
    set_work(nullptr);
    return end;
  }

  void set_work(workload* x) {
    const std::lock_guard guard{mutex_};
    work_ = x;
  }

  /// REQUIRES: a lease was started.
  void cancel_now() {
    control_->cancel();
    progress_.calls.cancel();
  }

  void log(call_watch::effect what) const {
    const auto seconds
      = std::chrono::duration<double>(progress_.calls.overdue()).count();
    const auto* const done
      = what == call_watch::effect::terminate
          ? "its process gets SIGTERM"
        : what == call_watch::effect::kill
          ? "its process is killed, with all that it has started"
          : "this trainer has to start anew";
    spdlog::warn("trainer: lease {} was cancelled and does not return since "
                 "{:.1f} s: {}",
                 number_of(running_), seconds, done);
  }

  const std::shared_ptr<lane_workloads> shared_;
  const std::string device_;
  const std::function<void()> on_stuck_;
  const std::shared_ptr<gang_port> gangs_;
  lease_progress progress_;

  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::optional<job> next_;
  std::shared_ptr<lease_control> control_; ///< of the lease `running_`
  engine_sink sink_;                       ///< of what the thread runs
  workload_spec spec_;                     ///< likewise
  workload* work_ = nullptr; ///< that trains; null: none, or it is being made
  lease_id running_{};
  bool winds_down_ = false; ///< whether that is to end after its present step
  bool closing_ = false;
  bool is_stuck_ = false;
  bool has_ended_ = false; ///< the thread
};

/// A lane and its thread.
class training_engine::lane_thread {
public:
  explicit lane_thread(std::shared_ptr<lane> x)
    : lane_(std::move(x)), thread_([y = lane_] { y->loop(); }) {}

  ~lane_thread() {
    lane_->close();
    if (lane_->await_end())
      thread_.detach();
    else
      thread_.join();
  }

  lane_thread(const lane_thread&) = delete;
  lane_thread& operator=(const lane_thread&) = delete;

  [[nodiscard]] lane& operator*() const { return *lane_; }
  [[nodiscard]] lane* operator->() const { return lane_.get(); }

private:
  const std::shared_ptr<lane> lane_;
  std::thread thread_;
};

/// Looks after lanes whose leases are to end, on a thread of its own: theirs
/// may be in a call that does not return.
class training_engine::watcher {
public:
  watcher() : thread_([this] { loop(); }) {}

  ~watcher() {
    {
      const std::lock_guard guard{mutex_};
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;

  void add(std::shared_ptr<lane> x) {
    const std::lock_guard guard{mutex_};
    lanes_.push_back(std::move(x));
  }

  /// A lane's lease is to end.
  void wake() {
    const std::lock_guard guard{mutex_};
    is_woken_ = true;
    changed_.notify_all();
  }

private:
  void loop() {
    std::unique_lock guard{mutex_};
    while (!closing_) {
      is_woken_ = false;
      const auto lanes = lanes_;
      guard.unlock();
      std::optional<call_watch::duration> pause;
      for (const auto& x : lanes)
        if (const auto due = x->look())
          pause = std::min(pause.value_or(pause_max), *due);
      guard.lock();
      const auto is_over = [this] { return closing_ || is_woken_; };
      if (pause)
        changed_.wait_for(guard, std::max(*pause, pause_min), is_over);
      else
        changed_.wait(guard, is_over);
    }
  }

  /// Of two looks at a lane: calls begin and end without a word.
  static constexpr call_watch::duration pause_min
    = std::chrono::milliseconds{5};
  static constexpr call_watch::duration pause_max
    = std::chrono::milliseconds{500};

  std::mutex mutex_; ///< guards what follows
  std::condition_variable changed_;
  std::vector<std::shared_ptr<lane>> lanes_;
  bool is_woken_ = false;
  bool closing_ = false;

  std::thread thread_; ///< last: it uses all of the above
};

training_engine::training_engine(workload_registry registry, std::string device,
                                 checkpoint_store_factory stores,
                                 std::uint64_t kept_bytes_max,
                                 call_limits limits,
                                 std::function<void()> on_stuck,
                                 std::shared_ptr<gang_port> gangs)
  : shared_(std::make_shared<lane_workloads>(
    std::move(registry), std::move(stores), kept_bytes_max)),
    device_(std::move(device)), limits_(limits), on_stuck_(std::move(on_stuck)),
    gangs_(std::move(gangs)), watcher_(std::make_unique<watcher>()) {}

training_engine::~training_engine() {
  for (const auto& kvp : threads_)
    (*kvp.second)->close();
  watcher_->wake();
  threads_.clear(); // while they are watched
}

void training_engine::start(const lease& lease, engine_sink sink) {
  auto& thread = threads_[lease.lane];
  if (!thread) {
    auto fresh =
      std::make_shared<lane>(shared_, device_, limits_, on_stuck_, gangs_);
    watcher_->add(fresh);
    thread = std::make_unique<lane_thread>(std::move(fresh));
  }
  (*thread)->start(lease, std::move(sink));
}

void training_engine::add_stop(lease_id lease, const stop_point& stop) {
  for (const auto& kvp : threads_)
    (*kvp.second)->add_stop(lease, stop);
  if (stop.last)
    watcher_->wake();
}

void training_engine::cancel(lease_id lease) {
  for (const auto& kvp : threads_)
    (*kvp.second)->cancel(lease);
  watcher_->wake();
}

step_t training_engine::reached(lease_id lease) const {
  step_t result = 0;
  for (const auto& kvp : threads_)
    result = std::max(result, (*kvp.second)->reached(lease));
  return result;
}

std::chrono::milliseconds training_engine::overdue(lease_id lease) const {
  std::chrono::milliseconds result{};
  for (const auto& kvp : threads_)
    result = std::max(result, (*kvp.second)->overdue(lease));
  return result;
}

} // namespace hippo
