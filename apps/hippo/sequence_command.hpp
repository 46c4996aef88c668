#pragma once

#include <string>
#include <vector>

#include "hippo/core/types.hpp"

namespace hippo {

/// The most steps that are worked out one by one.
inline constexpr step_t shown_steps_max = 1'000'000;

struct sequence_options {
  std::string text; ///< YAML, as in a study file
  step_t steps = 100;
  std::vector<std::string> observed; ///< `STEP:VALUE`, in order
  bool minimize = false;             ///< small observed values are good
  std::string svg;                   ///< file to write; empty: none
  std::string title;                 ///< of that picture; empty: the text
  bool json = false;
};

/// Shows what a sequence of a study file means: its canonical pieces, its
/// values and a plot. @returns the exit code
int show_sequence(const sequence_options& options);

} // namespace hippo
