#include "hippo/plan/schedule/time_estimates.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/plan/schedule/step_profiles.hpp"

namespace hippo {

namespace {

/// The weight that older measurements keep when a new one arrives.
constexpr double memory = 0.9;

/// An estimate that moves by more than this share is announced.
constexpr double moved_share = 0.2;

/// One that has moved by this share since it was stored is stored again.
constexpr double stored_drift = 0.05;

/// And one of which this share more has been measured.
constexpr std::uint64_t stored_part = 8;

/// Steps that are shorter count as if they took so many seconds: handing one
/// over takes longer, and how long they take says more of the clock than of
/// them.
constexpr double shortest_step = 1e-3;

/// So many measurements beside what is usual are no chance, nor is what is
/// usual known before there were as many.
constexpr std::uint64_t streak_stages = 10;

/// Beside it is what is off by more than this share.
constexpr double beside = 0.1;

/// So near to a whole number is the mean number of leases of a trainer that had
/// as many but for moments.
constexpr double nearly_whole = 0.1;

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

void time_estimates::mean::add(const timing& timing) {
  total_ += timing.seconds;
  weight_ += timing.count;
  squared_log_deviations_ += timing.squared_log_deviations;
  stages_ += timing.stages;
  note_stored();
}

bool time_estimates::mean::is_unstored() const {
  return stages_ > stored_stages_ + stored_stages_ / stored_part
         || (stages_ > stored_stages_
             && std::abs(value(0) - stored_value_)
                  > stored_drift * stored_value_);
}

void time_estimates::mean::restart(const mean& x) {
  total_ = x.total_;
  weight_ = x.weight_;
  squared_log_deviations_ = x.squared_log_deviations_;
}

void time_estimates::mean::note_stored() {
  stored_stages_ = stages_;
  stored_value_ = value(0);
}

void time_estimates::mean::write_to(timing& timing) const {
  timing.stages = stages_;
  timing.count = weight_;
  timing.seconds = total_;
  timing.squared_log_deviations = squared_log_deviations_;
}

// -- learning -----------------------------------------------------------------

time_estimates::time_estimates(std::vector<std::string> speed_names,
                               std::string workload,
                               std::vector<step_profile> others)
  : speed_names_(std::move(speed_names)), workload_(std::move(workload)),
    others_(std::move(others)) {}

std::string time_estimates::speed_key(const configuration& config,
                                      step_t at) const {
  std::string result;
  for (const auto& name : speed_names_)
    if (auto i = config.find(name); i != config.end())
      result += (i->second.kind == form_kind::text
                   ? quoted_if_needed(i->second.word)
                   : to_text(i->second.at(at)))
                + ';';
  return result;
}

bool time_estimates::times::learn_step(const std::string& speed_key,
                                       double count, double total) {
  any_step.learn(total, count);
  auto& x = steps[speed_key];
  x.seconds.learn(total, count);
  const auto now = std::max(x.seconds.value(0), shortest_step);
  if (std::abs(now - x.announced) <= moved_share * x.announced)
    return false;
  x.announced = now;
  return true;
}

void time_estimates::learn_step(const std::string& speed_key,
                                std::uint64_t steps, double seconds,
                                const std::string& kind, double leases) {
  assert(leases >= 1);
  has_learned_ = true;
  const auto count = static_cast<double>(steps);
  const auto near = std::round(leases);
  const bool is_alone = near == 1;
  if (!kind.empty()) {
    // A mean between two numbers of leases says nothing of either.
    if (std::abs(leases - near) < nearly_whole)
      slowdowns_.learn(kind, static_cast<std::uint32_t>(near), speed_key,
                       count, seconds);
    // Nor of the time alone of what is known, if the slowdown is not.
    if (!slowdowns_.covers(kind, leases)
        && kinds_[kind].steps.contains(speed_key))
      return;
    seconds /= slowdowns_.at(kind, leases);
  }
  bool moved = pool_.learn_step(speed_key, count, seconds);
  if (!kind.empty()) {
    if (is_alone) // else the slowdown may be what moves
      follow_drift(kind, speed_key, count, seconds);
    moved |= kinds_[kind].learn_step(speed_key, count, seconds);
  }
  if (moved)
    announce();
}

void time_estimates::learn_gang_step(const std::string& speed_key,
                                     std::uint64_t steps, double seconds,
                                     const std::string& kind,
                                     unsigned members) {
  const auto known = kinds_.find(kind);
  if (known == kinds_.end() || !known->second.steps.contains(speed_key)) {
    learn_step(speed_key, steps, seconds * speedup(&kind, speed_key, members),
               kind);
    return;
  }
  const auto alone = known->second.steps.at(speed_key).seconds.value(0);
  if (alone > 0 && seconds > 0)
    gang_speeds_.learn(kind, speed_key, members,
                       alone * static_cast<double>(steps) / seconds);
}

void time_estimates::follow_drift(const std::string& kind,
                                  const std::string& speed_key, double steps,
                                  double seconds) {
  auto& x = kinds_[kind].steps[speed_key];
  const auto off_by = [&x](double now) {
    return std::max(now, shortest_step) / std::max(x.usual, shortest_step);
  };
  const auto is_beside = [](double off, double share) {
    return off > 1 + share || off < 1 / (1 + share);
  };
  if (x.seconds.stages() < streak_stages || !(x.usual > 0))
    x.usual = x.seconds.value(0);
  const auto off = off_by(seconds / steps);
  const bool is_usual = !is_beside(off, beside);
  if (x.seconds.stages() < streak_stages || is_usual
      || (x.streak.has_value()
          && (off_by(x.streak.value(0)) > 1) != (off > 1))) {
    // What was beside it for a while, and is no more, does not change it.
    if (is_usual)
      x.usual = memory * x.usual + (1 - memory) * seconds / steps;
    x.streak = {};
    return;
  }
  x.streak.learn(seconds, steps);
  const auto now = x.streak.value(0);
  if (x.streak.stages() < streak_stages
      || !is_beside(off_by(now), moved_share))
    return;
  drifts_.push_back({kind, speed_key, x.usual, now});
  x.seconds.restart(x.streak);
  x.streak = {};
  x.usual = now;
}

std::vector<time_estimates::drift> time_estimates::take_drifts() {
  return std::exchange(drifts_, {});
}

void time_estimates::learn_size(const workload_size& size) {
  if (!size.is_known() || size == size_)
    return;
  size_ = size;
  announce();
}

void time_estimates::learn(timed what, double seconds,
                           const std::string& kind) {
  assert(what != timed::step && what != timed::start);
  has_learned_ = true;
  pool_.at(what).learn(seconds, 1);
  if (!kind.empty())
    kinds_[kind].at(what).learn(seconds, 1);
}

void time_estimates::learn_first_step(double seconds) {
  first_step_ = std::max(first_step_.value_or(0), seconds);
  if (*first_step_ > (1 + stored_drift) * stored_first_step_)
    has_learned_ = true;
}

void time_estimates::begin_with(const std::vector<timing>& known) {
  for (const auto& x : known) {
    if (!(x.count > 0))
      continue; // of a damaged row
    if (x.what == timed::start) {
      stored_first_step_ = std::max(stored_first_step_, x.mean());
      learn_first_step(x.mean());
      continue;
    }
    for (auto* of : {&pool_, &kinds_[x.device]}) {
      if (x.what != timed::step) {
        of->at(x.what).add(x);
        continue;
      }
      of->any_step.add(x);
      if (x.size.is_known())
        size_ = x.size;
      if (of != &pool_ && x.seconds > 0)
        slowdowns_.learn(x.device, 1, x.speed_key, x.count, x.seconds,
                         x.stages);
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
    for (auto& [key, step] : all.steps) {
      timing x{kind, timed::step, key};
      x.size = size_;
      take(std::move(x), step.seconds);
    }
    for (const auto what :
         {timed::evaluate, timed::save, timed::load, timed::dispatch})
      take({kind, what}, all.at(what));
  }
  if (first_step_.value_or(0) > (1 + stored_drift) * stored_first_step_) {
    stored_first_step_ = *first_step_;
    result.push_back({{}, timed::start, {}, 1, 1, *first_step_});
  }
  return result;
}

void time_estimates::announce() {
  inferred_.clear();
  model_.reset();
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
  if (kind != nullptr && (kinds_.size() > 1 || !kinds_.contains(*kind)))
    return estimate(speed_key, *kind).seconds;
  const auto i = pool_.steps.find(speed_key);
  return i == pool_.steps.end() ? inferred({}, speed_key).seconds
                                : i->second.seconds.value(0);
}

time_estimates::step_estimate
time_estimates::estimate(const std::string& speed_key,
                         const std::string& kind) const {
  if (const auto i = kinds_.find(kind); i != kinds_.end())
    if (const auto found = i->second.steps.find(speed_key);
        found != i->second.steps.end() && found->second.seconds.has_value())
      return {found->second.seconds.value(0), step_estimate::source::measured,
              0};
  return inferred(kind, speed_key);
}

const time_estimates::step_estimate&
time_estimates::inferred(const std::string& kind,
                         const std::string& speed_key) const {
  const auto [entry, is_new] = inferred_[kind].try_emplace(speed_key);
  auto& result = entry->second;
  if (!is_new)
    return result;
  std::optional<predicted_time> found;
  if (const auto i = kinds_.find(kind); i != kinds_.end())
    found = by_other_kinds(i->second, speed_key);
  if (!found)
    found = by_model(kind, speed_key);
  if (found)
    result = {found->seconds, step_estimate::source::predicted, found->margin};
  else if (const auto i = pool_.steps.find(speed_key); i != pool_.steps.end())
    result.seconds = i->second.seconds.value(0);
  else if (!kind.empty())
    result.seconds = step_seconds(speed_key);
  else
    result.seconds = pool_.any_step.value(1);
  return result;
}

std::optional<predicted_time>
time_estimates::by_other_kinds(const times& kind,
                               const std::string& speed_key) const {
  const auto log_of = [](const mean& x) {
    return std::log(std::max(x.value(0), shortest));
  };
  double sum = 0, deviations = 0, count = 0;
  for (const auto& kvp : kinds_) {
    const auto& other = kvp.second;
    const auto there = other.steps.find(speed_key);
    if (there == other.steps.end())
      continue;
    double ratios = 0, squares = 0, common = 0;
    for (const auto& [key, step] : kind.steps)
      if (const auto i = other.steps.find(key); i != other.steps.end()) {
        const auto ratio = log_of(step.seconds) - log_of(i->second.seconds);
        ratios += ratio;
        squares += ratio * ratio;
        common += 1;
      }
    if (common == 0)
      continue;
    sum += log_of(there->second.seconds) + ratios / common;
    // Of few ratios nobody knows how far they spread.
    deviations += std::max(
      std::sqrt(std::max(0.0, squares - ratios * ratios / common)
                / std::max(1.0, common - 1)),
      deviation_of_one_ratio / std::sqrt(common));
    count += 1;
  }
  if (count == 0)
    return {};
  return predicted_time{std::exp(sum / count), margin_of(deviations / count)};
}

std::optional<predicted_time>
time_estimates::by_model(const std::string& kind,
                         const std::string& speed_key) const {
  if (!model_) {
    auto profiles = others_;
    for (const auto& [name, known] : kinds_)
      for (const auto& [key, step] : known.steps) {
        timing x{name, timed::step, key};
        step.seconds.write_to(x);
        x.size = size_;
        std::ranges::move(step_profiles_of(workload_, speed_names_, {x}),
                          std::back_inserter(profiles));
      }
    model_.emplace(std::move(profiles));
  }
  const auto step = makeup_of(workload_, speed_names_, speed_key, size_);
  const auto predict = [&](const std::string& on) {
    auto result = model_->predict(on, step.workload, step.batch, size_);
    if (result)
      result->seconds *= step.iterations;
    return result;
  };
  if (!kind.empty())
    return predict(kind);
  // Of any: the mean of those that there are.
  predicted_time all;
  double count = 0;
  for (const auto& kvp : kinds_)
    if (const auto found = predict(kvp.first)) {
      all.seconds += found->seconds;
      all.margin = std::max(all.margin, found->margin);
      ++count;
    }
  if (count == 0)
    return {};
  all.seconds /= count;
  return all;
}

} // namespace hippo
