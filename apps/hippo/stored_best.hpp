#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/core/types.hpp"

namespace hippo {

/// A study's best trial.
struct best_trial {
  std::string study; ///< name
  std::uint64_t trial = 0;
  step_t step = 0;
  std::string metric;
  double value = 0;
  std::string params; ///< a JSON object
};

/// Prints a study's best trial, as JSON or for people.
void print_best(const best_trial& x, bool json);

/// What `hippo best --state` was asked for.
struct best_options {
  std::string state;
  std::string study;
  std::string weights; ///< file to export to; empty: do not
  bool json = false;
  std::string trainer_program;
  std::vector<std::string> libraries;
};

/// Prints a study's best trial and exports its weights. Where the state of that
/// very step was not kept, it is trained again from the nearest checkpoint
/// before it, which gives the same weights bit for bit.
/// @returns the exit code
int best_in_folder(const best_options& options);

} // namespace hippo
