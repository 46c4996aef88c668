#include "hippo/schedule/time_estimates.hpp"

#include <algorithm>
#include <cmath>

#include "hippo/core/number.hpp"

namespace hippo {

namespace {

/// What is left of the weight of older measurements when a new one arrives.
constexpr double memory = 0.9;

/// An estimate that moves by more than this share is announced.
constexpr double drift = 0.2;

/// Steps that are shorter count as if they took so many seconds: handing one
/// over takes longer, and how long they take says more of the clock than of
/// them.
constexpr double shortest_step = 1e-3;

} // namespace

void time_estimates::mean::learn(double total, double weight) {
  total_ = total_ * memory + total;
  weight_ = weight_ * memory + weight;
}

time_estimates::time_estimates(std::vector<std::string> speed_names)
  : speed_names_(std::move(speed_names)) {}

std::string time_estimates::speed_key(const configuration& config,
                                      step_t at) const {
  std::string result;
  for (const auto& name : speed_names_)
    if (auto i = config.find(name); i != config.end())
      result += to_text(i->second.at(at)) + ';';
  return result;
}

void time_estimates::learn_step(const std::string& speed_key,
                                std::uint64_t steps, double seconds) {
  any_step_.learn(seconds, static_cast<double>(steps));
  auto& x = steps_[speed_key];
  x.seconds.learn(seconds, static_cast<double>(steps));
  const auto now = std::max(x.seconds.value(0), shortest_step);
  if (std::abs(now - x.announced) <= drift * x.announced)
    return;
  x.announced = now;
  ++version_;
}

double time_estimates::step_seconds(const std::string& speed_key) const {
  const auto fallback = any_step_.value(1);
  const auto i = steps_.find(speed_key);
  return i == steps_.end() ? fallback : i->second.seconds.value(fallback);
}

} // namespace hippo
