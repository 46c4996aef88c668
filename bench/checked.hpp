#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "hippo/base/error.hpp"

namespace hippo {

/// Returns what is expected, or says why it is not there and ends the program.
template <class T>
T checked(expected<T> value) {
  if (!value) {
    std::fprintf(stderr, "%s\n", value.failure().message.c_str());
    std::exit(1);
  }
  return std::move(*value);
}

} // namespace hippo
