#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "caf/all.hpp"
#include "caf/scheduler/test_coordinator.hpp"

#include "messages.hpp"

namespace hippo::test {

/// The seeds 1 to `count`, or HIPPO_SEEDS times as many where the environment
/// says so.
inline auto seeds(unsigned count) {
  const char* const text = std::getenv("HIPPO_SEEDS");
  const auto times = text == nullptr ? 1 : std::max(1, std::atoi(text));
  return testing::Range(1u, 1 + count * static_cast<unsigned>(times));
}

/// A config that makes CAF run on the calling thread with a virtual clock.
struct config : caf::actor_system_config {
  config() {
    hippo::add_error_names(*this);
    set("scheduler.policy", caf::atom("testing"));
    set("logger.file-verbosity", caf::atom("quiet"));
    set("logger.console-verbosity", caf::atom("quiet"));
  }
};

/// An actor system without threads: messages move only when a test says so.
class actor_test : public testing::Test {
public:
  config cfg;
  caf::actor_system sys{cfg};
  caf::scoped_actor self{sys, true};
  caf::scheduler::test_coordinator& sched
    = dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler());

  /// Kills what `spawn` made: `~actor_system` waits for every actor, so one
  /// that a failed test left waiting would otherwise hang the run.
  ~actor_test() override {
    for (auto& hdl : spawned_)
      caf::anon_send_exit(hdl, caf::exit_reason::kill);
    spawned_.clear();
    sched.run();
  }

  template <caf::spawn_options Os = caf::no_spawn_options, class F, class... Ts>
  auto spawn(F fun, Ts&&... xs) {
    return keep(sys.spawn<Os>(fun, std::forward<Ts>(xs)...));
  }

  /// Has an actor killed in the end that others have spawned.
  template <class Handle>
  Handle keep(Handle handle) {
    spawned_.push_back(caf::actor_cast<caf::actor>(handle));
    return handle;
  }

  /// Delivers all messages; fires no timeout.
  void run() { sched.run(); }

  /// Delivers one message, from an actor picked by `rng`. One seed is one
  /// interleaving; CAF keeps the order between two given actors.
  /// @returns whether there was one
  template <class Rng>
  bool run_one(Rng& rng) {
    if (!sched.has_job())
      return false;
    const auto i = rng() % sched.jobs.size();
    std::swap(sched.jobs[0], sched.jobs[i]);
    sched.run_once();
    return true;
  }

  /// Sends a request, delivers all messages and returns the reply or error.
  template <class T, class Handle, class... Ts>
  caf::expected<T> ask(const Handle& hdl, Ts&&... xs) {
    auto rsp = self->request(hdl, caf::infinite, std::forward<Ts>(xs)...);
    run();
    caf::expected<T> result{caf::sec::runtime_error};
    rsp.receive([&](T& x) { result = std::move(x); },
                [&](caf::error& e) { result = std::move(e); });
    return result;
  }

private:
  std::vector<caf::actor> spawned_;
};

} // namespace hippo::test
