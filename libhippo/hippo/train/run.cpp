#include "hippo/train/run.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "hippo/base/content_source.hpp"
#include "hippo/base/name.hpp"
#include "hippo/base/number.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/checkpoint/state_store.hpp"
#include "hippo/model/stop_points.hpp"
#include "hippo/train/data_wait.hpp"
#include "hippo/train/failures.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/lease_contents.hpp"
#include "hippo/train/setup_time.hpp"
#include "hippo/train/stop_queue.hpp"

namespace hippo {

namespace {

/// How long a call of a workload is to last: others want to be heard between
/// two, and each costs a little.
constexpr std::uint64_t call_ns = 100'000'000;

/// A checkpoint is synced once so much training lies behind it: what a power
/// failure may cost then is little, and so is what syncing costs.
constexpr std::uint64_t sync_after_ns = 1'000'000'000;

bool before(const stop_point& x, step_t at) {
  return x.at < at;
}

/// One lease while it runs.
class runner {
public:
  runner(workload& work, std::optional<checkpoint>& present,
         recent_states& kept, const lease& x, state_store& store,
         const std::string& device, lease_control& control,
         lease_progress& progress, const std::function<std::uint64_t()>& now_ns,
         const std::function<void(const stop_report&)>& report)
    : work_(work), present_(present), kept_(kept), lease_(x), store_(store),
      control_(control), progress_(progress), now_ns_(now_ns), report_(report),
      at_(x.stages.front().begin),
      untold_([this](passed_stop& stop) { return write_and_report(stop); },
              kept) {
    next_.lease = x.number;
    next_.device = kind_made(x, device);
  }

  lease_end run_lease() {
    return ended([this] { return run_stages(); });
  }

  lease_end follow(gang_lead& lead) {
    return ended([&] { return obey(lead); });
  }

private:
  /// Returns the end of the lease, of which `f` returns the failure.
  template <class F>
  lease_end ended(const F& f) {
    progress_.at = at_;
    progress_.lease = lease_.number;
    auto failure = f();
    lease_end result{lease_.number, at_, std::move(failure)};
    if (result.failure && result.failure->code != errc::cancelled) {
      add_output(*result.failure);
      result.failure->message = shortened(to_utf8(result.failure->message));
    }
    if (failed_stop_ && result.failure
        && result.failure->code != errc::cancelled) {
      result.during = failed_part_;
      result.at = *failed_stop_;
    }
    return result;
  }

  /// Trains and measures by the orders of a gang's lead.
  std::optional<error> obey(gang_lead& lead) {
    if (auto failure = start())
      return failure;
    for (;;) {
      std::optional<gang_order> order;
      auto failure = guarded([&] {
        const auto stop = control_.peek(0);
        lead.tell_done(stop && stop->at < lease_.stages.back().end);
        order = lead.next();
      });
      if (failure)
        return unless_cancelled(std::move(*failure));
      if (!order)
        return std::nullopt;
      if (failure = carry_out(*order); failure)
        return failure;
    }
  }

  std::optional<error> carry_out(const gang_order& order) {
    if (order.what == gang_call::evaluate)
      return timed(next_.evaluate_ns, call_kind::measuring,
                   [this] { work_.evaluate(); });
    const auto* const x = stage_of_steps(lease_, order.from, order.to);
    if (order.what != gang_call::train || order.from != at_ || x == nullptr)
      return error{errc::gang_lost, "the lead of the gang orders steps "
                                      + std::to_string(order.from) + " to "
                                      + std::to_string(order.to)
                                      + ", and this member is at "
                                      + std::to_string(at_)};
    present_.reset();
    if (auto failure = timed(
          next_.train_ns, call_kind::training,
          [&] { work_.train(x->config, order.from, order.to); },
          order.to - order.from))
      return failure;
    progress_.at = at_ = order.to;
    drop_output();
    return std::nullopt;
  }

  std::optional<error> run_stages() {
    auto failure = pass_through();
    if (!failure || !failed_in_long_call_)
      return failure;
    // At which of its steps nobody knows, and only trials that come by that one
    // are to fail: once more, step by step. What was reported stays reported.
    step_by_step_ = true;
    failed_stop_.reset();
    at_ = lease_.stages.front().begin;
    next_.load_ns = next_.train_ns = next_.evaluate_ns = next_.save_ns = 0;
    next_.wait_ns = 0;
    next_.trained_steps = 0;
    drop_output();
    return pass_through();
  }

  std::optional<error> pass_through() {
    auto failure = pass_stages();
    if (auto unwritten = finish_telling()) {
      failed_in_long_call_ = false; // to train again would not help
      return unwritten;
    }
    return failure;
  }

  std::optional<error> pass_stages() {
    if (auto failure = start())
      return failure;
    if (auto failure = pass_stop(lease_.stages.front()))
      return failure;
    for (const auto& x : lease_.stages)
      while (at_ < x.end) {
        if (auto failure = train_some(x))
          return failure;
        if (auto failure = pass_stop(x))
          return failure;
        if (control_.done())
          return std::nullopt;
      }
    return std::nullopt;
  }

  /// Runs `f` and adds the time that it took to `spent_ns`. Once it has thrown,
  /// nobody knows which state the workload is in, nor whether memory is short.
  template <class F>
  std::optional<error> timed(std::uint64_t& spent_ns, F&& f) {
    const auto begin = now_ns_();
    auto failure = guarded(std::forward<F>(f));
    spent_ns += now_ns_() - begin;
    if (failure) {
      present_.reset();
      kept_.clear();
    }
    return failure ? unless_cancelled(std::move(*failure)) : failure;
  }

  /// The same where `f` is one call of the workload.
  template <class F>
  std::optional<error> timed(std::uint64_t& spent_ns, call_kind what, F&& f,
                             step_t steps = 1) {
    return timed(spent_ns, [&] {
      const watched_calls::scope call{progress_.calls, what, steps};
      f();
    });
  }

  /// Makes a call of the workload that takes no time to speak of.
  template <class F>
  std::optional<error> quick(F&& f) {
    return guarded([&] {
      const watched_calls::scope call{progress_.calls, call_kind::saving};
      f();
    });
  }

  /// What has failed since the lease was cancelled may have been ended.
  [[nodiscard]] error unless_cancelled(error x) const {
    return control_.cancelled() ? cancelled() : x;
  }

  void drop_output() {
    static_cast<void>(quick([this] { work_.take_output(); }));
  }

  /// Adds what the workload has printed since the last report.
  void add_output(error& to) {
    std::string printed;
    if (!quick([&] { printed = work_.take_output(); }))
      add_last_words(to, std::move(printed));
  }

  /// Brings the workload into the lease's first state.
  std::optional<error> start() {
    if (control_.cancelled())
      return cancelled();
    if (lease_.start.file.empty()) {
      if (at_ != 0)
        return error{errc::bad_checkpoint,
                     "no checkpoint to start from at step "
                       + std::to_string(at_)};
      present_.reset();
      if (auto failure = prepare())
        return failure;
      return named("making the initial state",
                   timed(next_.load_ns, call_kind::loading,
                         [this] { work_.init(); }));
    }
    if (present_ == lease_.start)
      return std::nullopt;
    present_.reset();
    if (const auto state = kept_.find(lease_.start);
        state && restore(*state))
      return std::nullopt;
    if (control_.cancelled())
      return cancelled();
    const auto file = work_.state_file();
    std::string bytes;
    std::optional<error> unreadable;
    auto failure = timed(next_.load_ns, [&] {
      unreadable = file.empty() ? read_start(store_, lease_, bytes)
                                : read_start_to_file(store_, lease_, file);
    });
    if (failure || unreadable)
      return failure ? failure : unreadable;
    failure = prepare(); // it has had the time to read
    if (failure)
      return failure;
    failure = timed(next_.load_ns, call_kind::loading, [&] {
      if (file.empty())
        work_.load(bytes);
      else
        work_.load_file();
    });
    if (failure) {
      // The bytes are those that were saved: no fault of the checkpoint.
      failure->message = "checkpoint " + lease_.start.file
                         + " cannot be loaded: " + failure->message;
      return failure;
    }
    present_ = lease_.start;
    return std::nullopt;
  }

  /// Waits until the workload can train. What is wrong before it has been given
  /// anything to train is no fault of what it is to train.
  std::optional<error> prepare() {
    auto failure = timed(next_.load_ns, call_kind::starting,
                         [this] { work_.prepare(); });
    if (failure && failure->code == errc::training_failed)
      failure->code = errc::cannot_start;
    return failure;
  }

  /// Brings the workload into the lease's first state, which was kept.
  /// @returns whether that worked: what cannot be restored can be loaded
  bool restore(const workload_state& workload_state) {
    if (timed(next_.load_ns, [&] {
          {
            const watched_calls::scope call{progress_.calls,
                                            call_kind::starting};
            work_.prepare();
          }
          const watched_calls::scope call{progress_.calls, call_kind::loading};
          work_.restore(workload_state);
        }))
      return false;
    present_ = lease_.start;
    return true;
  }

  /// Trains towards the next stop, as far as one call goes.
  std::optional<error> train_some(const stage& x) {
    if (control_.cancelled())
      return cancelled();
    present_.reset();
    const auto to = control_.claim(at_, std::min(x.end, at_ + steps_wanted()));
    const auto before_ns = next_.train_ns;
    auto failure
      = timed(next_.train_ns, call_kind::training,
              [&] { work_.train(x.config, at_, to); }, to - at_);
    if (failure) {
      failed_in_long_call_ = to - at_ > 1 && failure->code != errc::cancelled
                             && failure->code != errc::resource_exhausted
                             && failure->code != errc::gang_lost;
      return failure;
    }
    auto ns = next_.train_ns - before_ns;
    if (const auto* sets_up = dynamic_cast<const setup_time*>(&work_)) {
      const auto setup_ns = std::min(sets_up->setup_ns(), ns);
      next_.load_ns += setup_ns;
      next_.train_ns -= setup_ns;
      ns -= setup_ns;
    }
    if (const auto* waits = dynamic_cast<const data_wait*>(&work_))
      next_.wait_ns += std::min(waits->waited_ns(), ns);
    unsynced_ns_ += ns;
    if (ns > call_ns)
      steps_a_call_ = std::max<step_t>(steps_a_call_ / 2, 1);
    else if (ns <= call_ns / 2 && to - at_ == steps_a_call_)
      steps_a_call_ *= 2;
    next_.trained_steps += to - at_;
    progress_.at = at_ = to;
    if (at_ <= reported_)
      drop_output(); // it is there from the first time
    return control_.cancelled() ? std::optional{cancelled()} : std::nullopt;
  }

  /// How many steps to train in the next call.
  [[nodiscard]] step_t steps_wanted() const {
    if (step_by_step_)
      return 1;
    return work_.trains_in_one_go() ? lease_.stages.back().end : steps_a_call_;
  }

  /// Does what the control asks for at the present step, of which `x` is the
  /// end or the middle.
  std::optional<error> pass_stop(const stage& x) {
    const auto stop = control_.take(at_);
    if (!stop)
      return std::nullopt;
    next_.at = at_;
    std::optional<error> failure;
    if (auto unknown = quick([this] { next_.size = work_.size(); }))
      return failed(lease_part::saving, "telling of", std::move(unknown));
    if (stop->evaluate)
      failure = evaluate();
    if (control_.done())
      if (auto unwritten = finish_telling())
        return unwritten;
    // Nobody is to start from a state that has diverged.
    passed_stop passed;
    if (stop->save && !failure)
      failure = save(x, passed);
    if (failure && failure->code != errc::diverged)
      return failure;
    if (auto silent = quick([this] { next_.output = work_.take_output(); }))
      return failed(lease_part::saving, "telling of", std::move(silent));
    reported_ = at_;
    stop_report fresh;
    fresh.lease = next_.lease;
    fresh.device = next_.device;
    passed.report = std::exchange(next_, std::move(fresh));
    const auto untold = tell(std::move(passed));
    return untold ? untold : failure;
  }

  std::optional<error> evaluate() {
    auto failure =
      timed(next_.evaluate_ns, call_kind::measuring,
            [this] { next_.values = work_.evaluate(); });
    if (!failure)
      failure = check_names();
    if (failure)
      return failed(lease_part::measuring, "evaluating", std::move(failure));
    for (const auto& [name, value] : next_.values)
      if (!std::isfinite(value) && !failure)
        failure =
          error{errc::diverged, "diverged: " + name + " is " + to_text(value)
                                  + " at step " + std::to_string(at_)};
    // The rest must not count as a result either: whoever comes by later, after
    // a restart of the service say, is to find out the same.
    if (failure)
      next_.values.clear();
    return failure;
  }

  /// Whether what was measured can be told.
  std::optional<error> check_names() {
    const auto why = refused_metrics(next_.values);
    if (!why)
      return {};
    next_.values.clear();
    return error{errc::training_failed, "the workload measured " + *why};
  }

  /// Says which call has failed, if it is another one than `train`. A disk or a
  /// network says itself what it is.
  static std::optional<error> named(const std::string& what,
                                    std::optional<error> x) {
    if (x && x->code == errc::training_failed)
      x->message = what + " failed: " + x->message;
    return x;
  }

  /// Notes that not all could be done with a state that was reached.
  std::optional<error> failed(lease_part during, const std::string& what,
                              step_t at, std::optional<error> x) {
    failed_part_ = during;
    failed_stop_ = at;
    return named(what + " step " + std::to_string(at), std::move(x));
  }
  std::optional<error> failed(lease_part during, const std::string& what,
                              std::optional<error> x) {
    return failed(during, what, at_, std::move(x));
  }

  /// Returns the present state, whether or not there is room for a copy of it.
  std::shared_ptr<const workload_state> snapshot() {
    const watched_calls::scope call{progress_.calls, call_kind::saving};
    try {
      return work_.snapshot();
    } catch (const std::bad_alloc&) {
      kept_.clear();
      return std::make_shared<saved_state>(work_.save());
    }
  }

  /// Writes a stop's state, and says in its report that it is there.
  std::optional<error> write(passed_stop& x) {
    std::optional<error> unwritten;
    auto failure = guarded([&] {
      const auto saved = store_.write(x.name, *x.state->content(), x.how);
      if (!saved) {
        unwritten = saved.failure();
        return;
      }
      x.report.saved = *saved;
      if (lease_.workload.any_device)
        x.report.saved->device = x.report.device;
      kept_.keep(*x.report.saved, std::move(x.state));
    });
    return failure ? failure : unwritten;
  }

  std::optional<error> write_and_report(passed_stop& x) {
    auto failure = x.state ? write(x) : std::nullopt;
    if (!failure)
      failure = guarded([&] { report_(x.report); });
    if (failure)
      unwritten_at_ = x.report.at;
    return failure;
  }

  /// Saves the present state. @param to is given it if it is to be written
  /// while training goes on
  std::optional<error> save(const stage& x, passed_stop& to) {
    std::optional<error> unwritten;
    auto failure = timed(next_.save_ns, [&] {
      to.name = checkpoint_name(x.node, at_, lease_.number);
      to.state = snapshot();
      if (unsynced_ns_ >= sync_after_ns) {
        to.how = durability::synced;
        unsynced_ns_ = 0;
      }
      if (!control_.done())
        return;
      to.report.device = next_.device;
      unwritten = write(to);
      next_.saved = present_ = to.report.saved;
      to.state.reset();
    });
    if (!failure)
      failure = std::move(unwritten);
    return failure ? failed(lease_part::saving, "saving", std::move(failure))
                   : failure;
  }

  /// Reports a stop, once its state and the stops before are written. Training
  /// goes on meanwhile.
  std::optional<error> tell(passed_stop x) {
    if (!x.state && !is_behind_) {
      report_(x.report);
      return std::nullopt;
    }
    is_behind_ = true;
    std::optional<error> unwritten;
    auto failure = guarded([&] {
      if (untold_.try_add(x))
        return;
      const auto begin = now_ns_();
      unwritten = untold_.add(x);
      next_.save_ns += now_ns_() - begin;
    });
    return failure ? failure : unsaved(std::move(unwritten));
  }

  /// What the queue says of a stop that was passed before.
  std::optional<error> unsaved(std::optional<error> x) {
    return x ? failed(lease_part::saving, "saving", unwritten_at_, std::move(x))
             : x;
  }

  /// Waits until all stops have been reported. @returns why one was not
  std::optional<error> finish_telling() {
    if (!std::exchange(is_behind_, false))
      return std::nullopt;
    std::optional<error> unwritten;
    auto failure = timed(next_.save_ns, [&] {
      unwritten = untold_.finish();
    });
    return failure ? failure : unsaved(std::move(unwritten));
  }

  error cancelled() const {
    return {errc::cancelled, "cancelled at step " + std::to_string(at_)};
  }

  workload& work_;
  std::optional<checkpoint>& present_;
  recent_states& kept_;
  const lease& lease_;
  state_store& store_;
  lease_control& control_;
  lease_progress& progress_;
  const std::function<std::uint64_t()>& now_ns_;
  const std::function<void(const stop_report&)>& report_;
  step_t at_;
  step_t steps_a_call_ = 1; ///< follows how long steps take
  step_t reported_ = 0;     ///< the last stop that was passed
  std::uint64_t unsynced_ns_ = 0; ///< trained since a checkpoint was synced
  bool failed_in_long_call_ = false;
  /// The state that could not be measured or saved, if that is what failed.
  std::optional<step_t> failed_stop_;
  lease_part failed_part_{};
  bool step_by_step_ = false; ///< whatever they take
  stop_report next_;        ///< of the stop that comes next
  bool is_behind_ = false; ///< whether stops may be in the queue
  step_t unwritten_at_ = 0; ///< of the queue's thread until it has failed
  stop_queue untold_; ///< last: its thread uses all of the above
};

} // namespace

lease_control::lease_control(std::vector<stop_point> stops)
  : stops_(std::move(stops)) {}

bool lease_control::add(stop_point stop) {
  const std::lock_guard guard{mutex_};
  if (stop.last)
    stop.at = std::max(stop.at, passed_);
  if (stop.at < passed_ || stops_.empty() || stop.at > stops_.back().at)
    return false;
  merge_stop(stops_, 0, stop);
  return true;
}

bool lease_control::done() const {
  const std::lock_guard guard{mutex_};
  return stops_.empty();
}

std::optional<stop_point> lease_control::peek(step_t at) const {
  const std::lock_guard guard{mutex_};
  const auto i = std::lower_bound(stops_.begin(), stops_.end(), at, before);
  return i == stops_.end() ? std::nullopt : std::optional{*i};
}

step_t lease_control::claim(step_t at, step_t most) {
  const std::lock_guard guard{mutex_};
  const auto i = std::upper_bound(
    stops_.begin(), stops_.end(), at,
    [](step_t y, const stop_point& x) { return y < x.at; });
  const auto to = i == stops_.end() ? most : std::min(most, i->at);
  passed_ = std::max(passed_, to);
  return to;
}

std::optional<stop_point> lease_control::take(step_t at) {
  const std::lock_guard guard{mutex_};
  passed_ = std::max(passed_, at + 1);
  const auto i = std::lower_bound(stops_.begin(), stops_.end(), at, before);
  std::optional<stop_point> result;
  if (i != stops_.end() && i->at == at)
    result = *i;
  stops_.erase(stops_.begin(), result ? i + 1 : i);
  return result;
}

lease_end run(workload& work, std::optional<checkpoint>& present,
              recent_states& kept, const lease& lease, state_store& store,
              const std::string& device, lease_control& control,
              lease_progress& progress,
              const std::function<std::uint64_t()>& now_ns,
              const std::function<void(const stop_report&)>& report) {
  return runner{work,   present, kept,     lease,  store,
                device, control, progress, now_ns, report}
    .run_lease();
}

lease_end follow(workload& work, std::optional<checkpoint>& present,
                 recent_states& kept, const lease& lease, state_store& store,
                 const std::string& device, lease_control& control,
                 lease_progress& progress,
                 const std::function<std::uint64_t()>& now_ns,
                 gang_lead& lead) {
  const std::function<void(const stop_report&)> none;
  return runner{work,   present, kept,     lease,  store,
                device, control, progress, now_ns, none}
    .follow(lead);
}

} // namespace hippo
