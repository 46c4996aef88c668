#pragma once

#include <string>

#include "hippo/model/lease.hpp"

namespace hippo {

/// What a workload runs, and where it lies for its trainers.
struct kept_code {
  std::string folder; ///< of the service's disk
  checkpoint file;    ///< there
  std::string text;   ///< its content
};

} // namespace hippo
