#pragma once

#include <string>

#include "caf/all.hpp"

#include "hippo/net/link/link_handle.hpp"

namespace hippo {

/// A connection between service and trainer has ended.
struct link_ended {
  std::string why; ///< one clause; empty: the peer has closed it
};

} // namespace hippo

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::frame)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::link_ended)
