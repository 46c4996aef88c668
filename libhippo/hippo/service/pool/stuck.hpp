#pragma once

#include <string>
#include <vector>

#include "hippo/service/pool/pool_view.hpp"

namespace hippo {

/// A workload that has something to train, which no trainer can.
struct stuck_workload {
  std::string key; ///< the workload key
  std::string why; ///< and what to do
  friend bool operator==(const stuck_workload&,
                         const stuck_workload&) = default;
};

/// Says why no trainer can train what a merger has to train, and what to do;
/// empty: one can, or it has nothing to train.
std::string why_stuck(const pool_view& view, const need_table::entry& entry);

/// In the order in which mergers have introduced themselves.
std::vector<stuck_workload> stuck_workloads(const pool_view& view);

} // namespace hippo
