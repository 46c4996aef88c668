#include "hippo/search/sampler/freeze_thaw_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hippo/base/portable_math.hpp"

namespace hippo {

namespace {

constexpr std::size_t judged_max = 12; ///< trials at rest

constexpr std::uint64_t decisions_of_proposal = 6;

/// In units of the results' deviation.
constexpr double least_gain = 0.01;

} // namespace

std::optional<learning_sampler::proposal>
freeze_thaw_sampler::propose(trial_no trial) {
  const auto known = foreseen_.find(trial);
  return known != foreseen_.end() ? std::optional{known->second}
                                  : gp_sampler::propose(trial);
}

void freeze_thaw_sampler::on_drawn(trial_no trial) {
  foreseen_.erase(trial);
  gp_sampler::on_drawn(trial);
}

gp_points freeze_thaw_sampler::pending_points() {
  auto result = gp_sampler::pending_points();
  auto column = static_cast<std::size_t>(result.size());
  result.at.conservativeResize(
    Eigen::NoChange,
    static_cast<Eigen::Index>(column + going_.size() + foreseen_.size()));
  for (const auto& x : going_)
    set_point(result, column++, features_of(x.trial), x.at);
  for (const auto& [trial, x] : foreseen_)
    set_point(result, column++, features_of(values_of(x.taken)),
              options().marks.front());
  return result;
}

void freeze_thaw_sampler::foresee(trial_no fresh, const knowledge& from) {
  if (foreseen_.contains(fresh))
    return;
  age_ = 0;
  if (auto made = propose(fresh, from))
    foreseen_.emplace(fresh, std::move(*made));
}

freeze_thaw_sampler::contest
freeze_thaw_sampler::gather(const std::vector<placed_trial>& resting,
                            std::optional<trial_no> fresh,
                            const knowledge& from) {
  const auto last = options().marks.back();
  contest result{{}, {}, empty_points(judged_max + 1)};
  const auto add = [&](trial_no trial, step_t work,
                       const std::vector<double>& features) {
    set_point(result.points, result.trials.size(), features, last);
    result.trials.push_back(trial);
    result.work.push_back(work);
  };
  if (const auto made = fresh ? foreseen_.find(*fresh) : foreseen_.end();
      made != foreseen_.end()) {
    const auto values = values_of(made->second.taken);
    add(*fresh, untrained(values, last), features_of(values));
  }
  for (const auto& expected : from.ranking) {
    const auto trial = expected.trial;
    const auto place =
      std::ranges::lower_bound(resting, trial, {}, &placed_trial::trial);
    if (result.trials.size() > judged_max || place == resting.end()
        || place->trial != trial)
      continue;
    add(trial, untrained(trial, place->at, last), features_of(trial));
  }
  result.points.at.conservativeResize(
    Eigen::NoChange, static_cast<Eigen::Index>(result.trials.size()));
  return result;
}

bool freeze_thaw_sampler::has_ended(const knowledge& from) const {
  const auto last = options().marks.size() - 1;
  return std::ranges::any_of(from.table.all, [last](const response& x) {
    return x.of->mark == last && !std::isnan(x.of->value);
  });
}

std::optional<trial_no>
freeze_thaw_sampler::next(const std::vector<placed_trial>& resting,
                          const std::vector<placed_trial>& going,
                          std::optional<trial_no> fresh) {
  going_ = going;
  std::erase_if(going_, [&](const placed_trial& x) {
    return taken(x.trial) == nullptr; // its values are none of this space
  });
  if (fresh && ++age_ > decisions_of_proposal)
    foreseen_.erase(*fresh);
  if (fresh && (resting.empty() || given(*fresh)))
    return fresh;
  auto own =
    fresh ? foreseen_.extract(*fresh) : decltype(foreseen_)::node_type{};
  const auto known = know();
  if (own)
    foreseen_.insert(std::move(own));
  if (!known)
    return trial_states::first_of(resting, fresh);
  if (fresh)
    foresee(*fresh, *known);
  const auto all = gather(resting, fresh, *known);
  const auto expected = known->values.predict(all.points);
  const auto success = known->success.log_of(all.points);
  const auto kept = known->limits.log_of(all.points);
  std::optional<trial_no> result;
  auto most = -std::numeric_limits<double>::infinity(), gain = most;
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const auto improvement =
      known->log_gain(expected.means[at], expected.variances[at]) + success[at]
      + kept[at];
    const auto score =
      improvement - portable_log(static_cast<double>(all.work[i]) + 1);
    gain = std::max(gain, improvement);
    if (score > most) {
      most = score;
      result = all.trials[i];
    }
  }
  if (!fresh && has_ended(*known) && gain < portable_log(least_gain))
    return std::nullopt;
  return result ? result : trial_states::first_of(resting, fresh);
}

} // namespace hippo
