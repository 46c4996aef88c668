#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "hippo/base/error.hpp"

namespace hippo {

/// Returns what is expected, or says why it is not there and ends the program.
template <class T>
T checked(expected<T> x) {
  if (!x) {
    std::fprintf(stderr, "%s\n", x.failure().message.c_str());
    std::exit(1);
  }
  return std::move(*x);
}

} // namespace hippo
