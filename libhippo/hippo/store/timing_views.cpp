#include "hippo/store/timing_views.hpp"

#include <cmath>
#include <optional>

namespace hippo {

namespace {

timing_view view_of(const timing& x) {
  timing_view result;
  result.device = x.device;
  result.what = to_string(x.what);
  result.speed = x.speed_key;
  result.stages = x.stages;
  result.count = x.count;
  result.seconds = x.seconds;
  result.squared_log_deviations = x.squared_log_deviations;
  result.operations = x.size.operations;
  result.parameters = x.size.parameters;
  result.samples = x.size.samples;
  return result;
}

/// @returns nothing of what this release does not know
std::optional<timing> timing_of(const timing_view& x) {
  const auto what = timed_from(x.what);
  if (!what)
    return {};
  const auto number = [](double y) {
    return std::isfinite(y) && y > 0 ? y : 0;
  };
  timing result{x.device, *what, x.speed};
  result.stages = x.stages;
  result.count = number(x.count);
  result.seconds = number(x.seconds);
  result.squared_log_deviations = number(x.squared_log_deviations);
  result.size = {number(x.operations), number(x.parameters),
                 number(x.samples)};
  return result;
}

} // namespace

workload_timings_view view_of(const workload_timings& measured) {
  workload_timings_view result;
  result.workload = measured.workload_key;
  for (const auto& x : measured.timings)
    result.timings.push_back(view_of(x));
  return result;
}

std::vector<workload_timings>
timings_of(const std::vector<workload_timings_view>& views) {
  std::vector<workload_timings> result;
  for (const auto& x : views) {
    workload_timings all{x.workload, {}};
    for (const auto& y : x.timings)
      if (auto found = timing_of(y))
        all.timings.push_back(std::move(*found));
    result.push_back(std::move(all));
  }
  return result;
}

} // namespace hippo
