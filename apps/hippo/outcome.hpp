#pragma once

#include <iostream>
#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

// Exit codes, the same for every verb.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_bad_input = 2; ///< or bad usage
inline constexpr int exit_interrupted = 130;

/// Tells the reason of a failure on stderr; what is wrong with a study line by
/// line. @returns `code`
inline int fail(const error& why, int code) {
  const std::string prefix
    = why.code == errc::invalid_study ? "error: " : "hippo: ";
  for (const auto c : prefix + why.message) {
    std::cerr << c;
    if (c == '\n' && why.code == errc::invalid_study)
      std::cerr << prefix;
  }
  std::cerr << '\n';
  return code;
}

} // namespace hippo
