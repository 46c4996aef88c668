#include "known_times.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/plan/schedule/step_profiles.hpp"
#include "hippo/plan/schedule/time_estimates.hpp"
#include "hippo/report/text.hpp"
#include "hippo/service/merge/other_steps.hpp"

namespace hippo {

namespace {

using estimate_source = time_estimates::step_estimate::source;

/// Whether two workload keys differ in their seed at the most: which numbers
/// are drawn makes no step longer.
bool takes_as_long(const std::string& x, const std::string& y) {
  if (x == y)
    return true;
  const auto differences = key_differences(x, y);
  return differences.size() == 1 && differences.front().starts_with("seed: ");
}

/// The values of the hyper-parameter by which a profile tells times; one of its
/// own where it does not tell them by that.
std::vector<scalar> values_of(const simulation_profile& x,
                              const parameter_descriptor& parameter) {
  std::vector<scalar> result;
  for (const auto& table : x.step_seconds)
    if (table.by == parameter.name) {
      for (const auto& kvp : table.by_number)
        result.emplace_back(kvp.first);
      for (const auto& kvp : table.by_word)
        result.emplace_back(kvp.first);
    }
  if (result.empty())
    result.push_back(parameter.fallback);
  return result;
}

/// What a profile says, as if it had been measured once with each combination
/// of its values.
std::vector<timing> timings_of(const simulation_profile& x) {
  std::vector<timing> result;
  std::vector<configuration> configs{{}};
  for (const auto& parameter : x.workload.hyper_parameters) {
    const auto values = parameter.affects_speed
                          ? values_of(x, parameter)
                          : std::vector<scalar>{parameter.fallback};
    std::vector<configuration> more;
    for (const auto& config : configs)
      for (const auto& value : values) {
        auto& next = more.emplace_back(config);
        const auto* number = std::get_if<double>(&value);
        next.emplace(parameter.name,
                     number ? form::constant(*number)
                            : form::text(std::get<std::string>(value)));
      }
    configs = std::move(more);
  }
  const time_estimates names{speed_names_of(x.workload)};
  for (const auto& config : configs) {
    timing step{x.device, timed::step, names.speed_key(config, 0), 1, 1,
                x.step_time(config, 0), 0, x.size};
    result.push_back(std::move(step));
  }
  const auto add = [&](timed what, double seconds) {
    if (seconds > 0)
      result.push_back({x.device, what, {}, 1, 1, seconds, 0});
  };
  add(timed::evaluate, x.evaluate_seconds);
  add(timed::save, x.save_seconds);
  add(timed::load, x.load_seconds);
  add(timed::dispatch, x.dispatch_seconds);
  return result;
}

/// The mean of a time on a device, else on all.
double mean_of(const std::vector<timing>& xs, timed what,
               const std::string& device) {
  for (const auto* on : {&device, static_cast<const std::string*>(nullptr)}) {
    double count = 0, seconds = 0;
    for (const auto& x : xs)
      if (x.what == what && x.count > 0 && (on == nullptr || x.device == *on)) {
        count += x.count;
        seconds += x.seconds;
      }
    if (count > 0)
      return seconds / count;
  }
  return 0;
}

/// How far the times of steps on a device spread, as a share of them.
double spread_of(const std::vector<timing>& xs, const std::string& device) {
  // Later deviations weigh more: their weights come to no more than this.
  constexpr double weights_max = 10;
  constexpr double spread_max = 1;
  double squares = 0, weights = 0;
  for (const auto& x : xs)
    if (x.what == timed::step && x.device == device && x.stages > 1) {
      squares += x.squared_log_deviations;
      weights += std::min(static_cast<double>(x.stages), weights_max);
    }
  return weights > 0 ? std::min(std::sqrt(squares / weights), spread_max) : 0;
}

} // namespace

known_times::known_times(const std::vector<simulation_profile>& profiles,
                         std::vector<workload_timings> measured,
                         std::vector<workload_descriptor> workloads)
  : profiles_(profiles), measured_(std::move(measured)),
    workloads_(std::move(workloads)) {}

std::optional<known_training>
known_times::find(const machine_kind& kind,
                  const workload_spec& workload) const {
  const auto key = key_of(workload);
  // Of this workload, and as a step model sees the others.
  std::vector<timing> own;
  std::vector<workload_timings> others;
  std::uint64_t stages = 0;
  std::string device;
  for (const auto& x : measured_) {
    if (!takes_as_long(x.workload_key, key)) {
      others.push_back(x);
      continue;
    }
    for (const auto& y : x.timings) {
      own.push_back(y);
      if (y.what != timed::step || !is_device(kind.device, y.device))
        continue;
      stages += y.stages;
      device = y.device;
    }
  }
  auto other_steps = step_profiles_of_others(others, key, workloads_);
  const workload_descriptor* descriptor = nullptr;
  for (const auto& x : workloads_)
    if (x.name == workload.name && !x.open)
      descriptor = &x;
  for (const auto& x : profiles_) {
    auto told = timings_of(x);
    if (x.workload.name == workload.name) {
      descriptor = &x.workload;
      std::ranges::move(told, std::back_inserter(own));
    } else {
      std::ranges::move(step_profiles_of(x.workload.name,
                                         speed_names_of(x.workload), told),
                        std::back_inserter(other_steps));
    }
  }
  if (descriptor == nullptr)
    return {}; // nobody knows what it measures
  if (device.empty())
    for (const auto& x : other_steps)
      if (is_device(kind.device, x.kind))
        device = x.kind;
  if (device.empty())
    return {}; // nothing was measured on such a device
  const auto estimates = std::make_shared<time_estimates>(
    speed_names_of(*descriptor), key, std::move(other_steps));
  estimates->begin_with(own);
  // What is predicted, looked at where anything was measured.
  double margin = 0, ratios = 0, predicted = 0;
  std::set<std::string> keys;
  for (const auto& x : own)
    if (x.what == timed::step)
      keys.insert(x.speed_key);
  for (const auto& speed : keys) {
    const auto here = estimates->estimate(speed, device);
    if (here.from != estimate_source::predicted)
      continue;
    margin = std::max(margin, here.margin);
    ratios += std::log(here.seconds / estimates->step_seconds(speed));
    ++predicted;
  }
  if (stages == 0 && predicted == 0)
    return {};
  known_training result;
  auto& profile = result.profile;
  profile.device = device;
  profile.workload = *descriptor;
  profile.known_step_seconds
    = [estimates, device](const configuration& config, step_t at) {
        return estimates->estimate(estimates->speed_key(config, at), device)
          .seconds;
      };
  profile.spread = spread_of(own, device);
  profile.dispatch_seconds = mean_of(own, timed::dispatch, device);
  profile.load_seconds = mean_of(own, timed::load, device);
  profile.save_seconds = mean_of(own, timed::save, device);
  profile.evaluate_seconds
    = mean_of(own, timed::evaluate, device)
      * (stages == 0 ? std::exp(ratios / predicted) : 1); // as steps are
  // Metrics are the same on all kinds.
  profile.curve.is_drawn = true;
  if (std::ranges::find(descriptor->hyper_parameters, "batch_size",
                        &parameter_descriptor::name)
      == descriptor->hyper_parameters.end())
    profile.curve.batch_size = {"", 1};
  for (const auto& x : descriptor->metrics) {
    const double best = x.better == direction::maximize ? 1 : 0;
    profile.curve.metrics.push_back({x.name, 1 - best, best});
  }
  // The gain by several trainers counts as the same as well.
  for (const auto& x : profiles_)
    if (x.workload.name == workload.name) {
      profile.curve = x.curve;
      profile.table = x.table;
      profile.members = x.members;
    }
  result.source
    = stages > 0 ? "measured (" + counted(stages, "stage") + ')'
                 : "predicted (+-" + percent(margin, 1) + ')';
  return result;
}

} // namespace hippo
