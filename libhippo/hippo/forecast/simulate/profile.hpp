#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hippo/forecast/simulate/learning_curve.hpp"
#include "hippo/forecast/simulate/result_table.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/model/workload_size.hpp"
#include "hippo/plan/schedule/gang_speeds.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// How long a step takes, by the value of one hyper-parameter.
struct step_time_table {
  std::string by; ///< a hyper-parameter; empty: always `seconds`
  double seconds = 1;
  std::map<double, double> by_number; ///< seconds by the value, not empty
  std::map<std::string, double> by_word;

  /// Returns the time at a value. Between two given numbers it is on the line
  /// through them, beyond all of them that of the nearest.
  /// REQUIRES: a number for `by_number`, else a word of `by_word`
  [[nodiscard]] double at(const scalar& value) const;
};

/// The behaviour of simulated training: times on one kind of device,
/// how often they fail and what comes of them.
struct simulation_profile {
  std::string device; ///< what the times stand for, as results name it
  workload_descriptor workload;
  /// The time of a step is the product of all of these.
  std::vector<step_time_table> step_seconds;
  /// Says it instead, if it is there: of what a service has measured.
  std::function<double(const configuration&, step_t)> known_step_seconds;
  /// How much there is to compute; unknown unless the profile says so.
  workload_size size;
  double spread = 0; ///< standard deviation of a stretch's time, as a share
  double dispatch_seconds = 0; ///< from a lease until its training starts
  double load_seconds = 0;
  double save_seconds = 0;
  double evaluate_seconds = 0;
  std::uint64_t checkpoint_bytes = 0;
  /// How many times as fast a trainer is with any number of leases at once as
  /// with one, at the most: k of them together are min(k, this) times as fast.
  double at_once_gain = 1;
  /// How many times as fast several trainers are that train a path together:
  /// what the profile says, of no kind and key.
  gang_speeds members;
  double failure_rate = 0; ///< share of stages that fail on the way
  curve_settings curve;
  /// The file of a table that is played instead of the curve, as the profile
  /// names it, and the table, for whoever has read the file; none: the curve.
  std::string table_file;
  std::shared_ptr<const result_table> table;

  /// Returns how long the step from state `at` to `at + 1` takes, in seconds.
  /// REQUIRES: `config` has all hyper-parameters of the workload.
  [[nodiscard]] double step_time(const configuration& config, step_t at) const;

  /// Returns how many times as fast as one trainer so many are.
  /// @param trainers a power of two
  [[nodiscard]] double speedup(unsigned trainers) const {
    return members.at({}, {}, trainers);
  }
};

/// The result of reading a profile: one unless there is an error.
struct profile_file {
  std::optional<simulation_profile> profile;
  std::vector<diagnostic> errors;
};

/// Reads and checks the text of a profile; docs/simulation.md describes it.
/// Every error that can be told independently is told.
/// @param name stands for the file in messages
/// @param workloads those that a profile may name rather than describe
profile_file read_profile(
  const std::string& text, const std::string& name,
  const std::vector<workload_descriptor>& workloads = built_in_workloads());

} // namespace hippo
