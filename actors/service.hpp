#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator.hpp"
#include "hippo/store/state_writer.hpp"
#include "journal.hpp"
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
  /// Deletes checkpoints that lie in an object store; see `journal`.
  file_remover remove_elsewhere;
  /// Where the cores of its actors write their events; null: nowhere.
  std::shared_ptr<trace_log> trace{};
  /// Whether actors that wait for the disk have threads of their own.
  bool detached = true;
};

/// What came of having a study go on; a message to whoever wanted it.
struct study_start {
  std::string name; ///< of the study, with its number
  std::optional<error> failure{}; ///< why it does not run: it has failed then
  bool had_ended = false;         ///< it only brings its trials up to date
};

} // namespace hippo

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_start)

namespace hippo {

/// The actors that every service has.
struct service_actors {
  journal_actor journal;
  pool_actor pool;
  coordinator_actor coordinator;
};

/// Spawns them, each with those that it needs.
/// @param observer is notified of trials and studies that end
/// @returns why the store cannot be read; nothing is spawned then
expected<service_actors> spawn_service(caf::actor_system& system,
                                       service_options options,
                                       const observer_actor& observer);

/// The actors of a service: a pool, a journal, and a coordinator that makes the
/// others as studies come. Who trains, and on whose clock all of it runs, is
/// the caller's matter.
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
  expected<study_id> submit(study_submission submission);

  /// Runs studies, which start at the same time. @returns for each of them
  /// nothing, or why it does not run: it has failed then
  std::vector<std::optional<error>>
  submit_all(std::vector<study_submission> xs);

  /// Has a study of before go on, without waiting for it: what comes of it is a
  /// message to `self()`, a `study_start`.
  void begin(study_submission submission);

  /// A study of before cannot be read: it has failed.
  void give_up(study_id id, const std::string& why);

  /// Says which actor of the service an address is, of those that `self()`
  /// hears of when they end.
  [[nodiscard]] std::string name_of(const caf::actor_addr& address) const;

  /// Lets the training begin.
  void go();

  /// Takes no more studies in, nor has one go on that has ended, if all have
  /// ended. @returns whether they have
  bool retire();

  /// Leases nothing more and lets what runs end after its present step, saved.
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

  /// Hears of trials and studies that end, and of journal, pool and coordinator
  /// if they do.
  caf::scoped_actor& self() { return self_; }
  [[nodiscard]] const pool_actor& pool() const { return actors_.pool; }
  [[nodiscard]] const journal_actor& journal() const { return actors_.journal; }
  [[nodiscard]] const coordinator_actor& coordinator() const {
    return actors_.coordinator;
  }

private:
  /// How long an actor of this process may take to answer.
  static constexpr auto answer_timeout = std::chrono::seconds{600};

  caf::actor_system& system_;
  caf::scoped_actor self_;
  service_options options_;
  std::function<void()> wait_;
  service_actors actors_;
  bool closed_ = false;
};

} // namespace hippo
