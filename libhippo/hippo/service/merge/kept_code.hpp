#pragma once

#include <string>

#include "hippo/model/lease.hpp"

namespace hippo {

/// The code of a workload, and its place for trainers.
struct kept_code {
  std::string folder; ///< of the service's disk
  checkpoint file;    ///< there
  std::string text;   ///< its content
};

} // namespace hippo
