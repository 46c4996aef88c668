#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/workload_descriptor.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// The values of the hyper-parameters that a trial does not mention.
class trial_defaults {
public:
  trial_defaults() = default;

  /// Takes the defaults of a workload as constants.
  explicit trial_defaults(const workload_descriptor& workload);

  /// Takes values that every configuration has.
  explicit trial_defaults(std::map<std::string, sequence> values)
    : values_(std::move(values)) {}

  /// The defaults of all hyper-parameters.
  [[nodiscard]] const std::map<std::string, sequence>& values() const {
    return values_;
  }

  /// The defaults that every configuration has.
  [[nodiscard]] std::map<std::string, sequence> kept() const;

  /// Returns the segments of a trial: its values with these for the rest.
  /// Segments leave out hyper-parameters that make no difference in them
  /// (`parameter_descriptor::left_out`, `only_with`), so that equal training
  /// has equal configurations.
  /// REQUIRES: `end > 0`
  [[nodiscard]] std::vector<segment>
  complete(std::map<std::string, sequence> given, step_t end) const;

private:
  /// A hyper-parameter that configurations may leave out.
  struct optional_parameter {
    std::string name;
    form fallback;
    std::string only_with; ///< as of `parameter_descriptor`
  };

  std::map<std::string, sequence> values_;
  std::vector<optional_parameter> optional_; ///< each after its `only_with`
};

} // namespace hippo
