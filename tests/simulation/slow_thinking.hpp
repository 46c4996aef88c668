#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "hippo/search/think/thinking.hpp"

namespace hippo::simulation {

/// Jobs of a simulated service: on four threads that are none, in fair turns,
/// each as long as the seed says, and paused where it says.
class slow_thinking final
  : public thinking,
    public std::enable_shared_from_this<slow_thinking> {
public:
  using duration = std::chrono::nanoseconds;

  struct surroundings {
    std::function<duration()> now;
    std::function<void(duration, std::function<void()>)> after;
    std::function<void(const std::string&)> fail;
  };

  /// @param slow_max how long a job of a slow party takes at most; 0: none is
  ///        slow
  slow_thinking(surroundings around, std::uint64_t seed, duration slow_max)
    : around_(std::move(around)), random_(seed), slow_max_(slow_max) {}

  party_no join(job_kind kind) override { return turns_.join(kind); }
  void leave(party_no party) override;
  void post(party_no party, job work) override;
  [[nodiscard]] std::size_t waiting(party_no party) const override {
    return turns_.waiting(party);
  }

  /// The process ends: no job runs any more, and what they hold goes now. They
  /// hold this, too.
  void end() { std::exchange(jobs_, {}).clear(); }

  [[nodiscard]] bool is_idle() const {
    return turns_.running() == 0 && !turns_.has_waiting();
  }

private:
  class paused_at_random;

  struct waiting_job {
    job what;
    duration since{0};
    std::size_t parties = 0; ///< that there were when it came
  };

  void begin();
  void run(fair_turns::turn turn);
  [[nodiscard]] bool is_slow(party_no party) const {
    return slow_max_.count() > 0 && static_cast<std::uint64_t>(party) % 3 == 0;
  }

  static constexpr std::size_t threads = 4;

  surroundings around_;
  std::mt19937_64 random_;
  duration slow_max_;
  fair_turns turns_{threads};
  std::map<job_no, waiting_job> jobs_; ///< that wait or run
  std::map<job_no, bool> cancelled_;   ///< of those that run
};

} // namespace hippo::simulation
