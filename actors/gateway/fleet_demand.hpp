#pragma once

#include <string>

#include "gateway/query_service.hpp"

namespace hippo {

/// Returns the trainers that could be used now, and those that are connected.
///
/// A trainer is asked for by each path that is being trained or could be at
/// once. A study that starts more for each trainer asks for as many as it has
/// unfinished trials, at most. Paused studies, and those that wait for space or
/// whose budget is spent, ask for none.
/// @complexity O(mergers * studies + trainers)
demand_view demand_of(const live_view& now);

/// Returns the name of the device kinds that a demand accepts, for labels:
/// `any`, or all of them with `|` between.
std::string kinds_text(const work_demand& work);

} // namespace hippo
