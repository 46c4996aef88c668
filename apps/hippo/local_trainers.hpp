#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "hippo/base/backoff.hpp"
#include "studies.hpp"

namespace hippo {

/// What trainers on this machine train on.
struct local_trainer_options {
  std::vector<std::string> devices{"cpu"}; ///< one for each trainer
  unsigned threads = 1; ///< that each of them trains with on a CPU
  /// Leases that each trains at once; nothing: `default_at_once`.
  std::optional<std::uint32_t> at_once{};
  /// That prepare batches of each lease; nothing: as trainers have by default.
  std::optional<unsigned> prepare_threads{};
  /// That training images of each trainer may take; nothing: half of the
  /// machine's memory, divided by the trainers.
  std::optional<std::uint64_t> data_memory_bytes{};
  /// That compute the parts of a workload in each trainer.
  unsigned members = 1;
  /// That a call of training has to return which was cancelled.
  double grace_seconds = 10;
  /// That are needed on CPUs; trainers take them in turns.
  std::vector<std::string> numerics{};
  /// Of trials that are trained; trainers take them in turns. Empty: 1.
  std::vector<std::uint32_t> ranks{};
};

/// Trainer processes on this machine, which end with this one.
class local_trainers {
public:
  using clock = std::chrono::steady_clock;

  /// Starts trainers, which connect to a port of this machine.
  /// @param logs folder for what they say, made if missing
  std::optional<error> start(const workload_catalogue& catalogue,
                             const local_trainer_options& options,
                             std::uint16_t port, const std::string& logs);

  /// Called for a sentence about what happened to a trainer.
  using say_function = std::function<void(const std::string&)>;

  /// Says which have died. @returns whether any is left
  bool look_after(const say_function& say);

  /// Says which have died, and starts each again after a while that grows.
  void revive(const say_function& say);

  /// Waits for a moment until they have ended, and ends those that have not.
  void wait();

private:
  struct entry {
    std::string name; ///< for people
    std::vector<std::string> command;
    std::string log;
    child_process process;
    bool mourned = false; ///< whether its death was told
    backoff patience;
    clock::time_point due; ///< when it is started again, once it is mourned
  };

  /// Says how a trainer ended, if it has and that is news. @param and_then what
  /// follows from it
  static void mourn(entry& place, const std::string& and_then,
                    const say_function& say);

  std::vector<entry> trainers_;
};

} // namespace hippo
