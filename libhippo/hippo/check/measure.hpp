#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/sequence/sequence.hpp"
#include "hippo/space/study.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// The measured times of steps by one hyper-parameter.
struct measured_table {
  std::string by; ///< the hyper-parameter; empty: there is one entry
  /// Its values, and what a step takes there: in seconds in the first table, as
  /// a share of that of the first entry's time in the others.
  std::vector<std::pair<scalar, double>> times;
};

/// How long training takes on the device where it was measured.
struct measured_training {
  std::vector<measured_table> steps; ///< not empty; they are multiplied
  double first_seconds = 0; ///< of a step with the values of the first trial
  /// How many times as fast so many members have trained such a step.
  std::map<unsigned, double> members;
  double load_seconds = 0;
  double save_seconds = 0;
  double evaluate_seconds = 0;
  std::uint64_t checkpoint_bytes = 0;
  workload_size size; ///< how much there is to compute, if it is known
  metrics values; ///< of the last evaluation
  std::map<std::string, scalar> hyper_parameters; ///< that were trained with
};

/// Trains a few steps with each value that the hyper-parameters which affect
/// the time of a step can have in a study's space (of many, some that lie
/// evenly among them), all others being as in its first trial; evaluates, saves
/// and loads once more than is counted.
/// @param descriptor of the study's workload
/// @param steps that are counted each time, at least 1, and more of short ones;
///              one more goes before
/// @param now the time in seconds, from any beginning
/// @param tell is called with what is measured next
/// @returns the times, or what the workload threw as `errc::training_failed`
expected<measured_training>
measure(const study_spec& study, const workload_descriptor& descriptor,
        step_t steps, workload& work, const std::function<double()>& now,
        const std::function<void(const std::string&)>& tell);

/// Measures a step with the values of a study's first trial, likewise.
/// @param what is measured, for `tell`
/// @returns its seconds
expected<double> measure_first_step(
  const study_spec& study, const workload_descriptor& descriptor, step_t steps,
  workload& work, const std::function<double()>& now,
  const std::function<void(const std::string&)>& tell, const std::string& what);

/// Returns a profile (docs/simulation.md) without a learning curve.
/// @param device what the times stand for
std::string profile_text(const measured_training& training,
                         const workload_descriptor& descriptor,
                         const std::string& device);

} // namespace hippo
