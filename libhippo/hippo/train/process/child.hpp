#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hippo/train/process/spawn_plan.hpp"
#include "hippo/train/world_member.hpp"

namespace hippo {

/// How long a program may take to end once it has said its last.
inline constexpr std::chrono::milliseconds last_breath{1000};

/// How a program that trains is started.
struct process_options {
  std::vector<std::string> command; ///< program and arguments
  /// Of a member of a gang that has some ranks of a trial: the same in a world.
  /// It is started by `world_member::enter` then, and not by
  /// `workload::prepare`.
  std::function<std::vector<std::string>(const rank_world&)> command_in{};
  std::string folder;  ///< to work in; empty: that of this program
  std::string scratch{}; ///< for what it writes that does not last; empty: none
  std::string initial{}; ///< path of the study's initial state; empty: none
  std::string device = "cpu"; ///< that it is to train on
  std::uint32_t threads = 1;  ///< that it is to train with
  /// A program that neither answers nor prints for so long is taken for hung,
  /// and killed.
  std::chrono::milliseconds silence_max{1'800'000};
};

/// The last bytes of what a program prints.
class output_tail {
public:
  void add(std::string_view bytes);

  /// Returns them as text, and begins anew. What was left out is said.
  std::string take();

private:
  std::string kept_;
  std::uint64_t left_out_ = 0; ///< bytes
};

/// Whether what a program prints while it is waited for is a sign of life.
enum class printing : std::uint8_t { counts, does_not_count };

/// A program that runs beside this one. What it prints is collected.
///
/// All that it starts ends with it, and all of that with this object or with
/// this process, however that ends: a keeper between the two sees to it
/// (keeper.cpp).
class child {
public:
  /// @param plan what is to be done besides
  /// @throws std::runtime_error if it cannot be started
  child(spawn_plan& plan, const process_options& options);
  ~child();
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  /// Whether its end has not been heard of.
  [[nodiscard]] bool alive() const noexcept { return pid_ > 0; }

  /// The event that ended a wait.
  enum class event : std::uint8_t {
    ready,   ///< the descriptor can be used
    ended,   ///< the program has ended, and all that it has started
    silence, ///< nothing was heard of it for too long
  };

  /// Waits until `fd` can be used (-1: for nothing of the kind) or something
  /// else happens. Takes in what the program prints meanwhile.
  /// @param use as for `poll`: POLLIN or POLLOUT
  event wait(int fd, short use, std::chrono::milliseconds silence_max,
             printing how = printing::counts);

  /// Waits a moment for a program that is about to end, and ends it otherwise.
  /// @returns how it ended: `exit code 1`
  std::string end(std::chrono::milliseconds patience);

  /// Ends it at once. Nothing happens if it has ended.
  void kill() noexcept;

  /// Has it ended, without waiting for that: whoever waits for something of it
  /// hears of its end. Any thread may call this, beside the one that uses the
  /// rest. Nothing happens if it has ended.
  void stop(stop_force how) noexcept;

  /// Returns what it has printed since the last call.
  std::string take_output();

private:
  /// Waits until the program runs. @returns the errno of why it does not, or 0
  [[nodiscard]] int hear_of_start() const noexcept;

  void close_all() noexcept;

  /// Takes in what is there, or a part of much. @returns whether more may come
  bool drain();

  pid_t pid_ = -1;   ///< of its keeper; -1: it has ended
  int end_ = -1;     ///< can be read once that has ended (a pidfd)
  std::mutex line_mutex_; ///< guards `line_` from `stop`
  int line_ = -1;    ///< to the keeper: once it is closed, all is ended
  int output_ = -1;  ///< what it prints comes out here
  output_tail tail_;
};

} // namespace hippo
