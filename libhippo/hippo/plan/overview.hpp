#pragma once

#include <string>
#include <vector>

#include "hippo/plan/search_plan.hpp"

namespace hippo {

/// A stage of the whole merged tree: what trials ask for, trained or not.
struct overview_stage {
  std::uint64_t id = 0;     ///< from 1, parents before children
  std::uint64_t parent = 0; ///< 0: from step 0
  node_id node{};
  step_t begin = 0;
  step_t end = 0;
  std::string config;            ///< as text
  std::uint64_t trials = 0;      ///< that pass it
  std::vector<study_no> studies; ///< of those trials, sorted
  std::vector<std::uint64_t> trials_of{}; ///< the trials, by study
};

/// Returns the stages that all requests so far make together: each node cut
/// where trials leave it or end.
/// @complexity O(trials * segments)
std::vector<overview_stage> overview(const search_plan& plan);

} // namespace hippo
