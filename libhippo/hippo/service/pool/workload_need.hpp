#pragma once

#include <cstdint>
#include <string>

namespace hippo {

/// The demands of a merger on a trainer.
struct workload_need {
  std::string key;        ///< the workload key
  std::string name;       ///< of the workload
  std::string version;    ///< of the workload; empty: any
  std::string numerics{}; ///< `numerics_of` the workload; empty: any
  std::uint32_t ranks = 1; ///< `ranks_of` the workload
};

} // namespace hippo
