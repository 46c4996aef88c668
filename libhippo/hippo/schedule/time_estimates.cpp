#include "hippo/schedule/time_estimates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hippo/core/number.hpp"

namespace hippo {

namespace {

/// What is left of the weight of older measurements when a new one arrives.
constexpr double memory = 0.9;

/// An estimate that moves by more than this share is announced.
constexpr double drift = 0.2;

/// One that has moved by this share since it was stored is stored again.
constexpr double stored_drift = 0.05;

/// And one of which this share more has been measured.
constexpr std::uint64_t stored_part = 8;

/// Steps that are shorter count as if they took so many seconds: handing one
/// over takes longer, and how long they take says more of the clock than of
/// them.
constexpr double shortest_step = 1e-3;

/// What is shorter has no logarithm that says anything.
constexpr double shortest = 1e-9;

} // namespace

// -- a mean -------------------------------------------------------------------

void time_estimates::mean::learn(double total, double weight) {
  if (has_value()) {
    const auto off = std::log(std::max(total / weight, shortest)
                              / std::max(value(0), shortest));
    squared_log_deviations_ = squared_log_deviations_ * memory + off * off;
  }
  total_ = total_ * memory + total;
  weight_ = weight_ * memory + weight;
  ++stages_;
}

void time_estimates::mean::add(const timing& x) {
  total_ += x.seconds;
  weight_ += x.count;
  squared_log_deviations_ += x.squared_log_deviations;
  stages_ += x.stages;
  note_stored();
}

bool time_estimates::mean::is_unstored() const {
  return stages_ > stored_stages_ + stored_stages_ / stored_part
         || (stages_ > stored_stages_
             && std::abs(value(0) - stored_value_)
                  > stored_drift * stored_value_);
}

void time_estimates::mean::note_stored() {
  stored_stages_ = stages_;
  stored_value_ = value(0);
}

void time_estimates::mean::write_to(timing& x) const {
  x.stages = stages_;
  x.count = weight_;
  x.seconds = total_;
  x.squared_log_deviations = squared_log_deviations_;
}

// -- learning -----------------------------------------------------------------

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

bool time_estimates::times::learn_step(const std::string& speed_key,
                                       double count, double total) {
  any_step.learn(total, count);
  auto& x = steps[speed_key];
  x.seconds.learn(total, count);
  const auto now = std::max(x.seconds.value(0), shortest_step);
  if (std::abs(now - x.announced) <= drift * x.announced)
    return false;
  x.announced = now;
  return true;
}

void time_estimates::learn_step(const std::string& speed_key,
                                std::uint64_t steps, double seconds,
                                const std::string& kind) {
  has_learned_ = true;
  const auto count = static_cast<double>(steps);
  bool moved = pool_.learn_step(speed_key, count, seconds);
  if (!kind.empty())
    moved |= kinds_[kind].learn_step(speed_key, count, seconds);
  if (moved)
    announce();
}

void time_estimates::learn(timed what, double seconds,
                           const std::string& kind) {
  assert(what != timed::step);
  has_learned_ = true;
  pool_.at(what).learn(seconds, 1);
  if (!kind.empty())
    kinds_[kind].at(what).learn(seconds, 1);
}

void time_estimates::begin_with(const std::vector<timing>& known) {
  for (const auto& x : known) {
    if (!(x.count > 0))
      continue; // of a damaged row
    for (auto* of : {&pool_, &kinds_[x.device]}) {
      if (x.what != timed::step) {
        of->at(x.what).add(x);
        continue;
      }
      of->any_step.add(x);
      auto& step = of->steps[x.speed_key];
      step.seconds.add(x);
      step.announced = std::max(step.seconds.value(0), shortest_step);
    }
  }
  announce();
}

std::vector<timing> time_estimates::take_unstored() {
  std::vector<timing> result;
  if (!std::exchange(has_learned_, false))
    return result;
  const auto take = [&](timing x, mean& from) {
    if (!from.is_unstored())
      return;
    from.write_to(x);
    from.note_stored();
    result.push_back(std::move(x));
  };
  for (auto& [kind, all] : kinds_) {
    for (auto& [key, step] : all.steps)
      take({kind, timed::step, key}, step.seconds);
    for (const auto what :
         {timed::evaluate, timed::save, timed::load, timed::dispatch})
      take({kind, what}, all.at(what));
  }
  return result;
}

void time_estimates::announce() {
  for (const auto& kvp : kinds_)
    kvp.second.inferred.clear();
  ++version_;
}

kind_speeds time_estimates::speeds() const {
  std::vector<measured_steps> all;
  for (const auto& [kind, known] : kinds_)
    for (const auto& [key, step] : known.steps) {
      timing x;
      step.seconds.write_to(x);
      all.push_back({kind, key, step.seconds.value(0), x.count});
    }
  return compare_speeds(std::move(all));
}

// -- looking ------------------------------------------------------------------

std::optional<double> time_estimates::seconds(timed what,
                                              const std::string* kind) const {
  if (kind != nullptr && kinds_.size() > 1)
    if (const auto i = kinds_.find(*kind);
        i != kinds_.end() && i->second.at(what).has_value())
      return i->second.at(what).value(0);
  const auto& all = pool_.at(what);
  return all.has_value() ? std::optional{all.value(0)} : std::nullopt;
}

double time_estimates::step_seconds(const std::string& speed_key,
                                    const std::string* kind) const {
  // One kind has all that was measured.
  if (kind != nullptr && kinds_.size() > 1) {
    if (const auto i = kinds_.find(*kind); i != kinds_.end()) {
      const auto found = i->second.steps.find(speed_key);
      if (found != i->second.steps.end())
        return found->second.seconds.value(0);
      const auto [entry, is_new] = i->second.inferred.emplace(speed_key, 0);
      if (is_new)
        entry->second = inferred_seconds(i->second, speed_key);
      return entry->second;
    }
  }
  const auto i = pool_.steps.find(speed_key);
  return i == pool_.steps.end() ? pool_.any_step.value(1)
                                : i->second.seconds.value(0);
}

double time_estimates::inferred_seconds(const times& kind,
                                        const std::string& speed_key) const {
  const auto log_of = [](const mean& x) {
    return std::log(std::max(x.value(0), shortest));
  };
  double sum = 0, count = 0;
  for (const auto& kvp : kinds_) {
    const auto& other = kvp.second;
    const auto there = other.steps.find(speed_key);
    if (there == other.steps.end())
      continue;
    double ratio = 0, common = 0;
    for (const auto& [key, step] : kind.steps)
      if (const auto i = other.steps.find(key); i != other.steps.end()) {
        ratio += log_of(step.seconds) - log_of(i->second.seconds);
        common += 1;
      }
    if (common == 0)
      continue;
    sum += log_of(there->second.seconds) + ratio / common;
    count += 1;
  }
  return count > 0 ? std::exp(sum / count) : step_seconds(speed_key);
}

} // namespace hippo
