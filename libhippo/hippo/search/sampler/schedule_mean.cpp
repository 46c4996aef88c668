#include "hippo/search/sampler/schedule_mean.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "hippo/search/surrogate/counter_rng.hpp"

namespace hippo {

namespace {

constexpr std::array<std::string_view, 2> names{"lr", "learning_rate"};

constexpr std::uint64_t sampled_schedules = 64;

constexpr step_t parts = 16; ///< of a training, with a loss each

/// Losses that a law is fitted to.
constexpr std::size_t fitted_max = 240;

bool changes(const sequence& x) {
  return x.pieces().size() > 1 || !x.form_at(0).is_plateau();
}

/// A loss with the trial it is of, as its place among all.
struct placed_point {
  law_point what;
  std::size_t trial = 0;
  step_t part = 0;
};

/// Returns the squared relative error of an expected loss, at most 1: an
/// expectation of twice the loss is as bad as any.
double error_of(double expected, double loss) {
  const auto off = std::min(std::abs(expected / loss - 1), 1.0);
  return off * off;
}

/// The median of the losses in the part of a training, of the nearest one
/// before it that has any, or after.
class part_medians {
public:
  part_medians(const std::vector<placed_point>& xs, std::size_t half) {
    std::map<step_t, std::vector<double>> losses;
    for (const auto& x : xs)
      if (x.trial % 2 == half)
        losses[x.part].push_back(x.what.loss);
    for (auto& [part, found] : losses) {
      const auto middle =
        found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
      std::nth_element(found.begin(), middle, found.end());
      medians_[part] = *middle;
    }
  }

  [[nodiscard]] double at(step_t part) const {
    const auto next = medians_.upper_bound(part);
    return next == medians_.begin() ? next->second : std::prev(next)->second;
  }

private:
  std::map<step_t, double> medians_;
};

/// Whether laws of one half of the trials predict the other half at least twice
/// as well as medians.
bool predicts(const std::vector<placed_point>& xs) {
  double of_law = 0;
  double of_median = 0;
  for (const std::size_t half : {0, 1}) {
    std::vector<law_point> known;
    for (const auto& x : xs)
      if (x.trial % 2 == half)
        known.push_back(x.what);
    const auto law = fit_schedule_law(known);
    if (!law)
      return false;
    const part_medians medians{xs, half};
    for (const auto& x : xs) {
      if (x.trial % 2 == half)
        continue;
      of_law += error_of(law->loss(x.what.rates), x.what.loss);
      of_median += error_of(medians.at(x.part), x.what.loss);
    }
  }
  return of_law < of_median / 2;
}

} // namespace

schedule_mean::schedule_mean(const search_space& space,
                             const sequences& defaults, step_t max_steps,
                             std::uint64_t seed)
  : max_steps_(max_steps) {
  for (const auto name : names) {
    name_ = name;
    if (const auto found = defaults.find(name_); found != defaults.end())
      fallback_ = found->second;
    for (std::uint64_t i = 0; i < sampled_schedules; ++i) {
      const auto values = space.sample(seed, i);
      const auto* rates = rates_of(values.sequences);
      if (rates == nullptr || !changes(*rates))
        continue;
      const auto path = read_rates(*rates, max_steps_);
      if (path && path->sum > 0)
        return;
    }
    fallback_.reset();
  }
  name_.clear();
}

const sequence* schedule_mean::rates_of(const sequences& values) const {
  const auto found = values.find(name_);
  if (found != values.end())
    return &found->second;
  return fallback_ ? &*fallback_ : nullptr;
}

/// Returns the part of the training that a state lies in.
step_t schedule_mean::part_of(step_t at) const {
  return static_cast<step_t>(static_cast<double>(at)
                             / static_cast<double>(max_steps_) * parts);
}

void schedule_mean::on_result(trial_no trial, step_t at, double loss,
                              std::size_t time) {
  if (!has_schedule() || !std::isfinite(loss))
    return;
  auto& last = last_[trial];
  if (part_of(at) <= part_of(last))
    return;
  last = at;
  points_.push_back({trial, at, loss, time});
}

void schedule_mean::lengthen(step_t max_steps) {
  max_steps_ = max_steps;
  law_.reset();
}

void schedule_mean::fit(std::size_t time, const std::vector<trial_no>& trials,
                        const std::function<sequences(trial_no)>& values) {
  law_.reset();
  std::vector<std::pair<std::uint64_t, std::size_t>> taken; // by address
  std::set<std::pair<step_t, double>> seen;
  for (std::size_t i = 0; i < points_.size() && points_[i].time < time; ++i) {
    const auto& x = points_[i];
    // Of trials that share their training one counts.
    if (!std::binary_search(trials.begin(), trials.end(), x.trial)
        || !seen.emplace(x.at, x.loss).second)
      continue;
    counter_rng address{{x.trial, x.at}, "loss"};
    taken.emplace_back(address.next(), i);
  }
  if (taken.size() > fitted_max) {
    std::nth_element(taken.begin(), taken.begin() + fitted_max, taken.end());
    taken.resize(fitted_max);
  }
  std::sort(taken.begin(), taken.end(),
            [](const auto& x, const auto& y) { return x.second < y.second; });
  std::map<trial_no, sequences> known;
  std::vector<placed_point> found;
  for (const auto& [address, i] : taken) {
    const auto& x = points_[i];
    const auto [of, is_new] = known.try_emplace(x.trial);
    if (is_new)
      of->second = values(x.trial);
    const auto* rates = rates_of(of->second);
    auto path = rates != nullptr ? read_rates(*rates, x.at) : std::nullopt;
    if (!path) // a word, or a trial of no such rate
      return;
    const auto place =
      std::lower_bound(trials.begin(), trials.end(), x.trial) - trials.begin();
    found.push_back({{std::move(*path), x.loss},
                     static_cast<std::size_t>(place),
                     part_of(x.at)});
  }
  if (found.empty() || !predicts(found))
    return;
  std::vector<law_point> all;
  all.reserve(found.size());
  for (auto& x : found)
    all.push_back(std::move(x.what));
  law_ = fit_schedule_law(all);
}

double schedule_mean::at(const sequences& values, step_t at) const {
  if (!law_)
    return 0;
  const auto* rates = rates_of(values);
  const auto path = rates != nullptr ? read_rates(*rates, at) : std::nullopt;
  return path ? law_->loss(*path) : law_->limit;
}

} // namespace hippo
