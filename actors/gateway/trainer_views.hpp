#pragma once

#include <set>
#include <string>
#include <vector>

#include "gateway/query_service.hpp"

namespace hippo {

/// Returns all trainers, and what they train.
/// @param varied the hyper-parameters to tell of what is trained
std::vector<trainer_view> trainer_views(const live_view& now,
                                        const std::set<std::string>& varied);

} // namespace hippo
