#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <kj/async.h>

#include "caf/all.hpp"

#include "messages.hpp"

namespace hippo {

/// What an actor does for an event loop.
struct caller_job {
  std::function<void(caf::event_based_actor*)> run;
};

} // namespace hippo

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::caller_job)

namespace hippo {

/// Returns a failure as clients see it: "code: sentence".
kj::Exception to_exception(const error& failure);

/// Returns what an actor failed with, its sentence unchanged.
error to_error(const caf::error& failure);

/// A failure that no client should see: the service's own fault.
error fault(const std::string& what);

/// The end of a promise of an event loop that other threads fulfil.
template <class T>
class loop_answer {
public:
  explicit loop_answer(kj::Own<kj::CrossThreadPromiseFulfiller<T>> to)
    : to_(std::make_shared<kj::Own<kj::CrossThreadPromiseFulfiller<T>>>(
      kj::mv(to))) {}

  void keep(T value) const { (*to_)->fulfill(std::move(value)); }
  void fail(const error& failure) const {
    (*to_)->reject(to_exception(failure));
  }
  /// Whether anybody waits for it yet.
  [[nodiscard]] bool is_wanted() const { return (*to_)->isWaiting(); }

  /// Runs `function`; what goes wrong in it is one client's matter.
  template <class F>
  void guard(F&& function) const {
    try {
      function();
    } catch (const std::exception& why) {
      fail(fault(why.what()));
    } catch (const kj::Exception& why) {
      fail(fault(why.getDescription().cStr()));
    }
  }

  /// Answers with what `function` gives, an `expected<T>`.
  template <class F>
  void keep_or_fail(F&& function) const {
    guard([&] {
      auto x = function();
      if (x)
        keep(std::move(*x));
      else
        fail(x.failure());
    });
  }

private:
  std::shared_ptr<kj::Own<kj::CrossThreadPromiseFulfiller<T>>> to_;
};

/// Joins an event loop of kj with actors: lets an actor ask others, or read on
/// a thread of its own, and brings the answer back to the loop.
///
/// Belongs to the thread of the loop, which outlives every job: `close` waits.
class actor_caller {
public:
  /// Where the jobs run: among the other actors, or on a thread of their own.
  enum class place { shared, own_thread };

  actor_caller(caf::actor_system& system, place where);
  ~actor_caller() { close(); }
  actor_caller(const actor_caller&) = delete;
  actor_caller& operator=(const actor_caller&) = delete;

  /// Ends the actor. What has not been answered fails. Any thread may call it.
  void close();

  /// Asks an actor.
  /// @param timeout after which the answer is no longer waited for, or
  ///        `caf::infinite`
  template <class T, class Handle, class Timeout, class... Ts>
  kj::Promise<T> request(const Handle& to, Timeout timeout, Ts... xs) {
    return start<T>(
      [=](caf::event_based_actor* self, const loop_answer<T>& done) {
        self->request(to, timeout, xs...)
          .then([done](const T& x) { done.keep(x); },
                [done](const caf::error& why) { done.fail(to_error(why)); });
      });
  }

  /// Asks an actor that may be gone. @returns nothing if it was gone before it
  /// could take the request: nothing has been done
  template <class T, class Handle, class Timeout, class... Ts>
  kj::Promise<std::optional<T>> request_if_there(const Handle& to,
                                                 Timeout timeout, Ts... xs) {
    using answer = std::optional<T>;
    return start<answer>(
      [=](caf::event_based_actor* self, const loop_answer<answer>& done) {
        self->request(to, timeout, xs...)
          .then([done](const T& x) { done.keep(x); },
                [done](const caf::error& why) {
                  if (why == caf::sec::request_receiver_down)
                    done.keep(std::nullopt);
                  else
                    done.fail(to_error(why));
                });
      });
  }

  /// Runs `work`, which gives an `expected<T>`.
  template <class T, class Work>
  kj::Promise<T> run(Work work) {
    return start<T>([work = std::move(work)](caf::event_based_actor*,
                                             const loop_answer<T>& done) {
      done.keep_or_fail(work);
    });
  }

private:
  template <class T, class Job>
  kj::Promise<T> start(Job job) {
    auto pair = kj::newPromiseAndCrossThreadFulfiller<T>();
    caf::anon_send(actor_,
                   caller_job{[job = std::move(job),
                               done = loop_answer<T>{kj::mv(pair.fulfiller)}](
                                caf::event_based_actor* self) {
                     done.guard([&] { job(self, done); });
                   }});
    return kj::mv(pair.promise);
  }

  caf::actor_system& system_;
  caf::actor actor_;
};

} // namespace hippo
