#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hippo/process/spawn_plan.hpp"

namespace hippo {

/// How a program that trains is started.
struct process_options {
  std::vector<std::string> command; ///< program and arguments
  std::string folder;  ///< to work in; empty: that of this program
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

/// Ends every `child` there is, with all that they have started; for a program
/// that ends without its destructors. Thread-safe; no more may be started then.
void end_children() noexcept;

/// A program that runs beside this one, with all that it starts, which ends
/// with this object. What it prints is collected.
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

  /// What was waited for.
  enum class event : std::uint8_t {
    readable, ///< the descriptor can be read
    ended,    ///< the program has ended, though what it started may live on
    silence,  ///< nothing was heard of it for too long
  };

  /// Waits until `fd` can be read (-1: for nothing of the kind) or something
  /// else happens. Takes in what the program prints meanwhile.
  event wait(int fd, std::chrono::milliseconds silence_max);

  /// Waits a moment for a program that is about to end, and ends it otherwise.
  /// @returns how it ended: `exit code 1`
  std::string end(std::chrono::milliseconds patience);

  /// Ends it at once. Nothing happens if it has ended.
  void kill() noexcept;

  /// Returns what it has printed since the last call.
  std::string take_output();

private:
  /// Takes in what is there. @returns whether more may come
  bool drain();

  /// Ends what it has left behind.
  void forget() noexcept;

  pid_t pid_ = -1;   ///< also that of its process group; -1: it has ended
  int end_ = -1;     ///< can be read once it has ended (a pidfd)
  int output_ = -1;  ///< what it prints comes out here
  output_tail tail_;
};

} // namespace hippo
