#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/workload_spec.hpp"

namespace hippo {

/// The possible values of a hyper-parameter or an option of a workload.
struct parameter_descriptor {
  std::string name;
  scalar fallback; ///< its value where a study does not mention it
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false; ///< `min` itself is not allowed
  bool max_excluded = false; ///< nor `max`, nor the value of `max_parameter`
  std::string max_option; ///< an option that limits it further, or empty
  std::string min_option; ///< an option that it may not be below, or empty
  /// Another hyper-parameter above which it may not be where that one is not 0,
  /// or empty.
  std::string max_parameter;
  double divides = 0; ///< if not 0: it must divide this number
  bool integer = false;
  std::vector<std::string> words; ///< if not empty: the words it may be
  /// Whether it decides how long a step takes (batch size does, learning rate
  /// does not): time estimates are learned for each value of these.
  bool affects_speed = false;
  /// Whether configurations, or specs for an option, leave it out where it has
  /// its fallback. Those of before it was there are then equal to those of
  /// today.
  bool left_out = false;
  /// Another hyper-parameter without which it has no effect, or empty: where
  /// that one is 0 or left out, configurations leave this one out too.
  std::string only_with;
  /// An option without which it has no effect, or empty: it may be given only
  /// where that one has another value than its fallback.
  std::string only_option;
  std::string meaning; ///< one sentence

  /// Returns why `param` is not allowed ("must be above 0"), or nothing.
  [[nodiscard]] std::optional<std::string> refuses(const scalar& param) const;
};

/// A metric that a workload's evaluation reports.
struct metric_descriptor {
  std::string name;
  direction better = direction::maximize;
  std::string meaning;
};

/// Everything that is known of a workload without training it.
struct workload_descriptor {
  std::string name;
  std::string meaning;
  std::string unit = "epoch"; ///< what one step is
  /// Decides its results beside spec and device: trainers that know another one
  /// get none of its work. Empty: fits all.
  std::string version;
  /// Whether studies bring the code: nothing is known of its hyper-parameters,
  /// metrics and options before it runs, and the lists below are empty.
  bool open = false;
  bool averages = false; ///< whether it can measure means; see `averaging`
  std::vector<metric_descriptor> metrics;
  std::vector<parameter_descriptor> hyper_parameters;
  std::vector<parameter_descriptor> options; ///< nested ones with dots
};

/// Returns the hyper-parameters of `descriptor` with the limits that the
/// options of a spec set (`parameter_descriptor::max_option`, `min_option`).
/// They keep an `only_option` where the spec leaves that out.
workload_descriptor limited_by(workload_descriptor descriptor,
                               const workload_spec& spec);

/// The names of the hyper-parameters that affect a step's time.
std::vector<std::string> speed_names_of(const workload_descriptor& descriptor);

/// How a study brings its own code; also the names of the workloads.
inline constexpr const char* python_workload = "python";   ///< a class
inline constexpr const char* command_workload = "command"; ///< a program
inline constexpr const char* files_workload = "files"; ///< that reads files

/// The workloads that come with Hippo, those included that stand for code which
/// studies bring. They are described here, without LibTorch, so that a study can
/// be checked where nothing can be trained.
const std::vector<workload_descriptor>& built_in_workloads();

/// Descriptors as JSON: how `hippo-trainer --describe` tells of workloads from
/// shared libraries.
std::string to_json(const std::vector<workload_descriptor>& xs);
expected<std::vector<workload_descriptor>>
descriptors_from_json(const std::string& text);

} // namespace hippo
