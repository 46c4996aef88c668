#include "hippo/train/gang/follow_ranks.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "hippo/base/utf8.hpp"
#include "hippo/train/failures.hpp"
#include "hippo/train/gang/own_call.hpp"
#include "hippo/train/gang/world_text.hpp"
#include "hippo/train/lease_contents.hpp"

namespace hippo {

namespace {

/// The failure of a member itself: another one might do better.
struct own_failure {
  error what;
};

class rank_follower {
public:
  rank_follower(connected_gang& lead, workload& work, world_member& ranks,
                const lease& lease, state_store& store, lease_control& control,
                lease_progress& progress)
    : lead_(lead), work_(work), ranks_(ranks), lease_(lease), store_(store),
      control_(control), progress_(progress), at_(lease.stages.front().begin) {}

  lease_end run() {
    progress_.at = at_;
    progress_.lease = lease_.number;
    auto failure = obey();
    if (failure && control_.cancelled())
      failure =
        error{errc::cancelled, "cancelled at step " + std::to_string(at_)};
    else if (failure)
      failure->message = shortened(to_utf8(failure->message));
    return {lease_.number, at_, std::move(failure)};
  }

private:
  std::optional<error> obey() {
    std::optional<error> failure;
    try {
      const auto world = ranks_.world();
      has_ranks_ = !world.empty();
      lead_.tell_world(world);
      while (auto order = next())
        carry_out(*order);
    } catch (own_failure& e) {
      failure = std::move(e.what);
    } catch (const gang_lost& e) {
      failure = error{errc::gang_lost, e.what()};
    } catch (const std::exception& e) {
      failure = error{errc::io_failed, e.what()}; // of its files
    }
    if (failure)
      leave();
    return failure;
  }

  std::optional<gang_order> next() {
    return heard_ ? lead_.order_in(*std::exchange(heard_, std::nullopt))
                  : lead_.next();
  }

  void carry_out(const gang_order& order) {
    if (order.what != gang_call::enter && !has_ranks_)
      refuse("a call, and the ranks of this member are in no world");
    if (order.what != gang_call::give)
      saved_.reset();
    switch (order.what) {
      case gang_call::enter:
        return enter(order.world);
      case gang_call::prepare:
        return start([this] { work_.prepare(); });
      case gang_call::init:
        return begin_with(call_kind::loading, [this] { work_.init(); });
      case gang_call::load:
        return load();
      case gang_call::train:
        return train(order.from, order.to);
      case gang_call::evaluate:
        return call(call_kind::measuring, 1, [this] { work_.evaluate(); });
      case gang_call::save:
        return call(call_kind::saving, 1,
                    [this] { saved_ = work_.snapshot(); });
      case gang_call::give:
        return give();
    }
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw gang_lost{lead_.name_of(0) + " orders " + what};
  }

  void enter(const std::string& text) {
    const auto world = world_in(text, own_host(lead_.place()));
    if (!world)
      refuse("to enter a world that is none");
    has_ranks_ = true;
    start([&] { ranks_.enter(*world); });
  }

  void load() {
    if (lease_.start.file.empty())
      refuse("to load a state, and the lease begins without one");
    const auto path = work_.state_file();
    auto bytes = std::make_shared<std::string>();
    if (const auto why = path.empty()
                           ? read_start(store_, lease_, *bytes)
                           : read_start_to_file(store_, lease_, path))
      throw own_failure{*why};
    begin_with(call_kind::loading, [=, this] {
      if (path.empty())
        work_.load(*bytes);
      else
        work_.load_file();
    });
  }

  void train(step_t from, step_t to) {
    const auto* const x = stage_of_steps(lease_, from, to);
    if (from != at_ || x == nullptr)
      refuse("steps " + std::to_string(from) + " to " + std::to_string(to)
             + ", and this member is at " + std::to_string(at_));
    call(call_kind::training, to - from, [&] {
      work_.train(x->config, from, to);
      progress_.at = at_ = to;
    });
  }

  void give() {
    if (!saved_)
      refuse("a state that was not saved");
    lead_.give_state(*saved_->content());
    saved_.reset();
  }

  /// Makes a call that brings the ranks into the lease's first state.
  void begin_with(call_kind what, const std::function<void()>& work) {
    call(what, 1, [&] {
      work();
      progress_.at = at_ = lease_.stages.front().begin;
    });
  }

  /// Makes a call that has failed before there was anything to train.
  void start(const std::function<void()>& work) {
    call(call_kind::starting, 1, [&] {
      if (auto why = guarded(work)) {
        if (why->code == errc::training_failed)
          why->code = errc::cannot_start;
        throw own_failure{std::move(*why)};
      }
    });
  }

  /// Makes a call of the own workload, and answers the lead. Does not answer
  /// if the lease has ended meanwhile.
  void call(call_kind what, step_t steps, const std::function<void()>& work) {
    const watched_calls::scope watched{progress_.calls, what, steps};
    std::optional<error> failure;
    {
      own_call mine{ranks_, work};
      heard_ = lead_.hear(mine.number());
      if (heard_) {
        // The lead does not wait for this call any more.
        failure = error{errc::cancelled, "ended with another rank"};
      } else {
        try {
          failure = guarded_own([&] { mine.get(); });
        } catch (const own_failure&) {
          // Another member may be gone, and that was why. The lead, which may
          // have failed as well, waits longer for this.
          lead_.hear(-1,
                     std::chrono::steady_clock::now() + lead_.aftermath() / 4);
          throw;
        }
      }
    }
    if (!failure) {
      drop_output();
      const auto stop = control_.peek(0);
      return lead_.tell_done(stop && stop->at < lease_.stages.back().end);
    }
    if (!heard_) {
      add_last_words(*failure, output());
      lead_.tell_problem(shortened(to_utf8(failure->message)));
    } else if (lead_.order_in(*heard_)) {
      lead_.tell_problem(failure->message);
    }
    leave();
  }

  void leave() {
    has_ranks_ = false;
    ranks_.leave();
  }

  /// Returns the failure of a rank's code, which is the lead's to tell.
  template <class F>
  static std::optional<error> guarded_own(F&& f) {
    std::optional<own_failure> own;
    auto result = guarded([&] {
      try {
        f();
      } catch (const own_failure& e) {
        own = e;
      }
    });
    if (own)
      throw *own;
    if (result && result->code != errc::training_failed)
      throw own_failure{std::move(*result)};
    return result;
  }

  std::string output() {
    std::string result;
    static_cast<void>(guarded([&] { result = work_.take_output(); }));
    return result;
  }

  void drop_output() { static_cast<void>(output()); }

  connected_gang& lead_;
  workload& work_;
  world_member& ranks_;
  const lease& lease_;
  state_store& store_;
  lease_control& control_;
  lease_progress& progress_;
  step_t at_;
  std::shared_ptr<const workload_state> saved_; ///< that the lead may ask for
  std::optional<connected_gang::heard> heard_;  ///< in a call: the next order
  bool has_ranks_ = false; ///< whether there are any, in a world
};

} // namespace

lease_end follow_ranks(connected_gang& lead, workload& work,
                       world_member& ranks, const lease& lease,
                       state_store& store, lease_control& control,
                       lease_progress& progress) {
  return rank_follower{lead, work, ranks, lease, store, control, progress}
    .run();
}

} // namespace hippo
