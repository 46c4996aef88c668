#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator.hpp"
#include "hippo/store/state_writer.hpp"
#include "messages.hpp"
#include "pool.hpp"

namespace hippo {

/// What a service runs and how.
struct service_options {
  coordinator_options coordinator; ///< but for what is known
  pool_options pool;
  /// Where results last; null: nowhere.
  std::shared_ptr<state_writer> store;
  /// How long to wait before what could not be stored is tried again; 0: the
  /// service gives up.
  std::chrono::milliseconds store_retry{0};
};

/// The actors of a service: a pool, a journal, and a coordinator that makes the
/// others as studies come. Who trains, and on whose clock all of it runs, is the
/// caller's matter.
///
/// Not thread-safe; the actor system outlives it.
class service {
public:
  /// @param wait lets an answer arrive; not needed where actors run by
  ///             themselves
  service(caf::actor_system& system, service_options options,
          std::function<void()> wait = {});
  ~service() { close(); }
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  /// Starts the actors; trainers may join from now on.
  std::optional<error> open();

  /// Runs a study. @returns its id
  expected<std::uint64_t> submit(study_submission x);

  /// Lets the training begin.
  void go();

  /// Leases nothing more and cancels what runs.
  void halt();

  /// Ends every actor.
  void close();

  /// Asks an actor of this service.
  template <class T, class Handle, class... Ts>
  expected<T> ask(const Handle& handle, Ts&&... xs) {
    expected<T> result{errc::io_failed, "no answer"};
    auto pending
      = self_->request(handle, answer_timeout, std::forward<Ts>(xs)...);
    if (wait_)
      wait_();
    pending.receive([&](T& x) { result = std::move(x); },
                    [&](caf::error& e) {
                      result = error{errc::io_failed, system_.render(e)};
                    });
    return result;
  }

  /// The studies and mergers that are in memory.
  coordinator_status status();

  /// Puts together what the actors know.
  expected<run_record> record(double wall_seconds);

  /// Hears of trials and studies that end, and of the coordinator if it does.
  caf::scoped_actor& self() { return self_; }
  [[nodiscard]] const pool_actor& pool() const { return pool_; }
  [[nodiscard]] const journal_actor& journal() const { return journal_; }
  [[nodiscard]] const coordinator_actor& coordinator() const {
    return coordinator_;
  }

private:
  /// How long an actor of this process may take to answer.
  static constexpr auto answer_timeout = std::chrono::seconds{600};

  caf::actor_system& system_;
  caf::scoped_actor self_;
  service_options options_;
  std::function<void()> wait_;
  journal_actor journal_;
  pool_actor pool_;
  coordinator_actor coordinator_;
  bool closed_ = false;
};

} // namespace hippo
