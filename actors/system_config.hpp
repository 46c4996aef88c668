#pragma once

#include "caf/all.hpp"

#include "messages.hpp"

namespace hippo {

/// How every Hippo process sets up CAF.
struct system_config : caf::actor_system_config {
  system_config();
};

} // namespace hippo
