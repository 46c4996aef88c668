#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hippo/schedule/scheduler.hpp"
#include "hippo/store/state_folder.hpp"
#include "messages.hpp"
#include "pool.hpp"
#include "studies.hpp"

namespace hippo {

/// What a service runs and how.
struct service_options {
  std::vector<loaded_study> studies;
  workload_catalogue catalogue;
  hippo::policy policy = hippo::policy::critical_path;
  bool merge = true; ///< false: every trial is trained alone
  std::uint64_t checkpoint_bytes_max = UINT64_MAX; ///< of one workload
  pool_options pool;
  /// Where results last; null: nowhere.
  std::shared_ptr<state_folder> store;
};

/// The actors of a service: a pool, a journal, a merger for each workload key
/// and a study for each file. Who trains, and on whose clock all of it runs, is
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

  /// Loads what is known and registers every study; trainers may join before
  /// and after.
  std::optional<error> open();

  /// How many results of earlier runs the store had when it was opened.
  [[nodiscard]] std::size_t known_results() const { return known_results_; }

  /// Lets the training begin.
  void go();

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

  /// Puts together what the actors know, and notes it in the store.
  expected<run_record> record(double wall_seconds);

  [[nodiscard]] const service_options& options() const { return options_; }
  /// Hears of trials and studies that end, and of mergers that do.
  caf::scoped_actor& self() { return self_; }
  [[nodiscard]] const pool_actor& pool() const { return pool_; }
  [[nodiscard]] const std::vector<merger_actor>& mergers() const {
    return mergers_;
  }
  [[nodiscard]] const std::vector<study_actor>& studies() const {
    return studies_;
  }

private:
  /// How long an actor of this process may take to answer.
  static constexpr auto answer_timeout = std::chrono::seconds{60};

  /// The weights of the studies that share a workload key, added up.
  [[nodiscard]] double weight_of(const std::string& key) const;
  std::optional<error> open_merger(const study_spec& spec);
  std::optional<error> open_mergers();
  std::optional<error> open_studies();

  caf::actor_system& system_;
  caf::scoped_actor self_;
  service_options options_;
  std::function<void()> wait_;
  journal_actor journal_;
  pool_actor pool_;
  std::vector<merger_actor> mergers_;
  std::vector<study_actor> studies_;
  std::vector<std::size_t> merger_of_study_;
  std::vector<std::size_t> no_of_study_; ///< in its merger
  std::size_t known_results_ = 0;
  bool closed_ = false;
};

} // namespace hippo
