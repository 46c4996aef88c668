#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hippo/sequence/configuration.hpp"
#include "hippo/train/process/answer_buffer.hpp"
#include "hippo/train/process/child.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

struct process_setup;

/// @throws std::runtime_error if these are no metrics that can be reported
void check_metrics(const metrics& numbers);

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

  /// A process's description of itself.
  struct description {
    std::string name;
    std::vector<std::string> metrics;            ///< empty: not known before
    std::map<std::string, std::string> versions; ///< of what decides results
    bool averages = false; ///< whether it can measure the mean of weights
  };
  description describe();

  void setup(const process_setup& setup);
  void init();
  void train(const configuration& config, step_t from, step_t to);
  metrics evaluate();
  void save(const std::string& path);
  /// Keeps the present state and lets it be written to the empty file `path`
  /// while further calls are made; see `captured_file`.
  /// REQUIRES: `captures()`.
  void capture(const std::string& path);
  void load(const std::string& path);

  /// Says in which parts two saved states differ, and by how much; empty if
  /// they do not, nothing if the process cannot tell.
  std::optional<std::vector<std::string>> compare(const std::string& path,
                                                  const std::string& other);

  /// Has it forget its workload; `describe` is next. What it has printed is
  /// dropped.
  /// @returns whether it has; otherwise it is of no use any more
  bool renew();

  /// Whether it can capture states, as its description says.
  [[nodiscard]] bool captures() const noexcept { return captures_; }

  /// How much there is to compute, as far as it has told.
  [[nodiscard]] workload_size size() const noexcept { return size_; }

  /// The time of the last `train` beside its steps, in nanoseconds, as the
  /// process tells.
  [[nodiscard]] std::uint64_t setup_ns() const noexcept { return setup_ns_; }

  /// Whether its ranks had joined no process group after the last `train`.
  [[nodiscard]] bool ranks_apart() const noexcept { return ranks_apart_; }

  /// Ends it at once.
  void kill() noexcept { child_->kill(); }

  /// As `child::stop`: the call that runs fails.
  void stop(stop_force how) noexcept { child_->stop(how); }

  [[nodiscard]] bool alive() const noexcept { return child_->alive(); }

  /// Whether it waits for a request. REQUIRES: all were answered.
  [[nodiscard]] bool waits() const noexcept;

  /// Returns what it has printed since the last call.
  std::string take_output() { return child_->take_output(); }

private:
  class exchange;

  /// Ends the process and says why in an exception.
  [[noreturn]] void give_up(const std::string& why);
  /// Likewise, for one that has closed its socket.
  [[noreturn]] void mourn();

  process_options options_;
  std::optional<child> child_; ///< set but while this is constructed
  int socket_ = -1;
  answer_buffer answers_;    ///< what has come of them
  std::uint64_t number_ = 0; ///< of the last request
  workload_size size_;
  std::uint64_t setup_ns_ = 0;
  bool ranks_apart_ = false;
  bool captures_ = false;
  bool renews_ = false;
};

} // namespace hippo
