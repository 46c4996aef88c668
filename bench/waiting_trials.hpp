#pragma once

#include <cstdint>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/plan/search_plan.hpp"

namespace hippo {

/// The last step of the schedules of `segments_of`.
inline constexpr step_t last_step = 100;

/// Schedules that share a beginning with others; from step 60 on each has a
/// weight decay of its own.
inline std::vector<segment> segments_of(std::uint64_t combination) {
  const auto schedule = hash_bytes(&combination, sizeof(combination)) % 64;
  configuration x{{"batch_size", form::constant(64)},
                  {"lr", form::constant(0.1)},
                  {"momentum", form::constant(schedule % 2 == 0 ? 0.9 : 0.8)},
                  {"weight_decay", form::constant(0)}};
  std::vector<segment> result{{0, x}};
  x["lr"] = form::constant(0.01);
  result.push_back({10 + schedule / 2, x});
  x["weight_decay"]
    = form::constant(1e-5 * (1 + static_cast<double>(combination) / 16));
  result.push_back({60, x});
  return result;
}

/// Does all that a lease is about, as if it had been trained.
inline void finish(search_plan& plan, const lease& work) {
  for (const auto& stage : work.stages)
    for (const auto& stop :
         plan.stops_of(stage.node, stage.begin, stage.end, 0)) {
      stop_report report;
      report.lease = work.number;
      report.at = stop.at;
      if (stop.evaluate)
        report.values = {{"value", 1}};
      if (stop.save)
        report.saved = checkpoint{"file", 1, 1};
      plan.record(report);
    }
  plan.end_lease(work.number);
}

} // namespace hippo
