#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hippo/service/merge/lease_table.hpp"

// Moments and leases for tests of what a merger decides.

namespace hippo::test {

/// A moment so many seconds after the first one.
inline moment at_second(double value) {
  return moment{}
         + std::chrono::duration_cast<moment::duration>(
           std::chrono::duration<double>(value));
}

/// A lease of these stages, with a stop at the end of each; it has not reported
/// yet.
inline running_lease lease_of(lease_id id, trainer_id trainer,
                              std::uint32_t lane, std::vector<stage> stages,
                              std::string speed_key = {}) {
  running_lease result;
  result.trainer = trainer;
  result.work.number = id;
  result.work.lane = lane;
  result.progress.reached = stages.front().begin;
  result.progress.saved = stages.front().begin;
  result.speed_keys.assign(stages.size(), std::move(speed_key));
  for (const auto& x : stages) { // as a plan would have it
    auto& stops = result.work.stops;
    if (stops.empty() || stops.back().at < x.end)
      stops.push_back({x.end, x.begin == x.end, true});
  }
  result.work.stages = std::move(stages);
  return result;
}

/// A lease of steps 0 to 10 of node 1.
inline running_lease lease_of(lease_id id, trainer_id trainer,
                              std::uint32_t lane = 0) {
  return lease_of(id, trainer, lane, {{node_id{1}, 0, 10, {}}});
}

} // namespace hippo::test
