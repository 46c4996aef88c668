#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace hippo {

/// Returns what `read` complains of.
template <class Error>
std::string message_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error of that kind";
  return {};
}

} // namespace hippo
