#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hippo/sequence/configuration.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// How a workload process is started.
struct process_options {
  std::vector<std::string> command; ///< program and arguments
  std::string folder;  ///< to work in; empty: that of this program
  std::string log;     ///< what it prints is appended here; empty: discarded
  std::string device = "cpu"; ///< that it is to train on
  std::uint32_t threads = 1;  ///< that it is to train with
  /// A process that says nothing for so long is taken for hung, and killed.
  std::chrono::seconds silence_max{600};
};

/// A process that trains (schemas/process.capnp). It is started by the
/// constructor and ended, with all that it has started, by the destructor.
///
/// Failures are exceptions derived from `std::runtime_error` that say what
/// happened: what the process has said, with its details; the signal or exit
/// code by which it ended; or for how long it was silent. After one of the last
/// two the process is gone, and every further call fails.
class workload_process {
public:
  explicit workload_process(process_options options);
  ~workload_process();
  workload_process(const workload_process&) = delete;
  workload_process& operator=(const workload_process&) = delete;

  /// What a process says of itself.
  struct description {
    std::string name;
    std::vector<std::string> metrics;            ///< empty: not known before
    std::map<std::string, std::string> versions; ///< of what decides results
  };
  description describe();

  void setup(std::uint64_t seed, const std::map<std::string, scalar>& args);
  void init();
  void train(const configuration& config, step_t from, step_t to);
  metrics evaluate();
  void save(const std::string& path);
  void load(const std::string& path);

  [[nodiscard]] bool alive() const noexcept { return pid_ > 0; }
  [[nodiscard]] pid_t id() const noexcept { return pid_; }

private:
  class exchange;

  /// Ends the process and says why in an exception.
  [[noreturn]] void give_up(const std::string& why);
  /// Waits until there is something to read.
  void await_answer();
  /// Waits for the end of a process that has closed its socket.
  std::string end();
  void kill_all() noexcept;

  process_options options_;
  pid_t pid_ = -1; ///< also that of its process group; -1: it has ended
  int socket_ = -1;
  std::uint64_t number_ = 0; ///< of the last request
};

} // namespace hippo
