#include "hippo/plan/schedule/slowdowns.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "hippo/plan/schedule/placement.hpp"

namespace hippo {

namespace {

/// The weight that older measurements keep when a new one arrives.
constexpr double kept_part = 0.9;

/// It is fitted anew once this part more was measured.
constexpr std::uint64_t fit_part = 16;

} // namespace

void slowdowns::learn(const std::string& kind, std::uint32_t leases,
                      const std::string& speed_key, double steps,
                      double seconds, std::uint64_t measurements) {
  assert(leases > 0 && steps > 0);
  auto& x = kinds_[kind];
  auto& among = x.crowds[leases];
  auto& known = among.steps[speed_key];
  known.seconds = kept_part * known.seconds + seconds;
  known.steps = kept_part * known.steps + steps;
  const bool was_known = among.measurements >= measurements_min;
  among.measurements += measurements;
  among.last = ++x.measurements;
  const auto forgotten = std::erase_if(x.crowds, [&](const auto& kvp) {
    return kvp.second.last + forgotten_after < x.measurements
           && kvp.first > worth(x, kvp.first);
  });
  if (forgotten > 0 || (!was_known && among.measurements >= measurements_min)
      || x.measurements >= x.fit_due)
    fit(x);
}

void slowdowns::fit(device& target) {
  target.fit_due = target.measurements + target.measurements / fit_part + 1;
  target.fitted.clear();
  for (const auto& [leases, among] : target.crowds)
    if (among.measurements >= measurements_min)
      target.fitted[leases] = 1;
  if (target.fitted.size() < 2)
    return;
  std::vector<measured_steps> all;
  for (const auto& kvp : target.fitted)
    for (const auto& [key, known] : target.crowds.at(kvp.first).steps)
      all.push_back({std::to_string(kvp.first), key,
                     known.seconds / known.steps, known.steps});
  const auto speeds = compare_speeds(std::move(all));
  const auto speed_of = [&](std::uint32_t leases) {
    const auto i = speeds.find(std::to_string(leases));
    return i == speeds.end() ? 1 : i->second;
  };
  const auto first = speed_of(target.fitted.begin()->first);
  double most = 1;
  for (auto& [leases, slowdown] : target.fitted) {
    const auto speed = speed_of(leases);
    if (speed > 0)
      most = std::max(most, first / speed);
    slowdown = most;
  }
}

double slowdowns::at(const device& target, double leases) {
  const auto above = std::ranges::find_if(target.fitted, [&](const auto& kvp) {
    return static_cast<double>(kvp.first) >= leases;
  });
  if (above == target.fitted.begin()) // or nothing is known
    return 1;
  const auto& below = *std::prev(above);
  if (above == target.fitted.end())
    return below.second;
  const auto from = std::log(static_cast<double>(below.first));
  const auto part = (std::log(leases) - from)
                    / (std::log(static_cast<double>(above->first)) - from);
  return below.second * std::pow(above->second / below.second, part);
}

std::uint32_t slowdowns::worth(const device& target, std::uint32_t lanes) {
  if (target.fitted.size() < 2)
    return lanes;
  const auto rate = [&](std::uint32_t leases) {
    return leases / at(target, leases);
  };
  const auto most = std::min(target.fitted.rbegin()->first, lanes);
  double best = 0;
  for (std::uint32_t leases = 1; leases <= most; ++leases)
    best = std::max(best, rate(leases));
  std::uint32_t result = 1;
  while (result < most && rate(result) * gain_min < best)
    ++result;
  return result == most ? lanes : result;
}

bool slowdowns::covers(const std::string& kind, double leases) const {
  const auto i = kinds_.find(kind);
  return i == kinds_.end() || i->second.fitted.empty()
         || leases < i->second.fitted.rbegin()->first + 0.5;
}

double slowdowns::at(const std::string& kind, double leases) const {
  const auto i = kinds_.find(kind);
  return i == kinds_.end() ? 1 : at(i->second, leases);
}

std::uint32_t slowdowns::worth(const std::string& kind,
                               std::uint32_t lanes) const {
  const auto i = kinds_.find(kind);
  return i == kinds_.end() ? lanes : worth(i->second, lanes);
}

} // namespace hippo
