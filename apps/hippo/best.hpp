#pragma once

#include <string>

#include "studies.hpp"

namespace hippo {

/// What `hippo best` was asked for.
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
int best(const best_options& options);

} // namespace hippo
