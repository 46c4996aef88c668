#pragma once

#include <string>
#include <vector>

#include "hippo/core/types.hpp"

namespace hippo {

/// What `hippo check` was asked for.
struct check_options {
  std::string file; ///< a study, or FILE.py or FILE.py:CLASS
  /// Of a class: NAME=VALUE,VALUE... of hyper-parameters, and NAME=VALUE.
  std::vector<std::string> values;
  std::vector<std::string> args;
  std::string trainer_program;
  std::vector<std::string> libraries;
  std::vector<std::string> flags; ///< passed on to the trainer
};

/// Tries whether trials of a study, or of a class, may share training; prints
/// what was tried.
/// @returns the exit code: 0 they may, 1 they may not, 2 bad input
int check(const check_options& options);

} // namespace hippo
