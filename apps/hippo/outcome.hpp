#pragma once

#include <iostream>

#include "hippo/core/error.hpp"

namespace hippo {

// Exit codes, the same for every verb.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_bad_input = 2; ///< or bad usage
inline constexpr int exit_interrupted = 130;

/// Tells the reason of a failure on stderr. @returns `code`
inline int fail(const error& why, int code) {
  std::cerr << "hippo: " << why.message << '\n';
  return code;
}

} // namespace hippo
