#pragma once

#include <cstddef>
#include <vector>

#include "hippo/model/lease.hpp"

namespace hippo {

/// Adds a stop to sorted ones, or what it asks for to one that is there; a last
/// one takes away what comes after it.
/// @param passed how many of `stops` to leave alone
/// REQUIRES: `stop.at` is between the stops passed and the end
void merge_stop(std::vector<stop_point>& stops, std::size_t passed,
                const stop_point& stop);

} // namespace hippo
