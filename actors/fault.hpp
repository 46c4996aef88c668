#pragma once

#include <exception>

#include "caf/all.hpp"

namespace hippo {

/// Ends an actor in which something was thrown, which is a fault of the
/// program: whoever watches it is told what.
inline caf::error fault_of(std::exception_ptr& x) {
  try {
    std::rethrow_exception(x);
  } catch (const std::exception& why) {
    return caf::make_error(caf::sec::runtime_error, why.what());
  } catch (...) {
    return caf::sec::runtime_error;
  }
}

} // namespace hippo
