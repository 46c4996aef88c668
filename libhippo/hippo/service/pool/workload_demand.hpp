#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hippo/service/pool/pool_view.hpp"

namespace hippo {

/// The trainers that the merger of a workload could use beside those that it
/// holds.
struct workload_demand {
  std::string key;             ///< the workload key
  std::set<std::string> kinds; ///< of their devices; empty: any
  std::set<std::string> unfit; ///< kinds that cannot train it, as was measured
  /// Trainers that are asked for, at least one for each state that training
  /// could begin at now; from `waiting_leases_max` on as many as there are,
  /// since a study starts more for each trainer.
  std::uint64_t wanted = 0;
  std::uint32_t ranks = 1;   ///< of each trainer that it is best trained by
  std::uint32_t members = 1; ///< of these that a trial takes
  friend bool operator==(const workload_demand&,
                         const workload_demand&) = default;
};

/// In the order in which mergers have introduced themselves.
std::vector<workload_demand> workload_demands(const pool_view& view);

} // namespace hippo
