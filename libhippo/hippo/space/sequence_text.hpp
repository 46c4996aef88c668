#pragma once

#include <string>
#include <vector>

#include "hippo/space/study.hpp"

namespace hippo {

/// The most alternatives that one text may have.
inline constexpr std::uint64_t alternatives_max = 16;

/// The result of reading the value of one hyper-parameter.
struct sequence_text {
  /// Every choice and range decided; empty if there is an error.
  std::vector<nlohmann::ordered_json> alternatives;
  std::vector<diagnostic> errors;
  std::vector<diagnostic> warnings; ///< odd but harmless
};

/// Reads the value of a hyper-parameter as a study file writes it: YAML, with
/// choices and ranges of up to `alternatives_max` alternatives in all.
/// @param name stands for the text in messages
sequence_text read_sequence(const std::string& text, const std::string& name,
                            step_t max_steps);

} // namespace hippo
