#include "hippo/search/algorithm/median_stopping.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/algorithm/rungs.hpp"

namespace hippo {

namespace {

/// As `numpy.median`. REQUIRES: `xs` is not empty.
double median_of(split_ranking& xs) {
  xs.split(xs.size() / 2);
  const auto upper = xs.rest().begin()->loss;
  return xs.size() % 2 == 1 ? upper : (xs.best().rbegin()->loss + upper) / 2;
}

} // namespace

median_stopping::median_stopping(std::uint64_t trials, step_t max, step_t grace,
                                 std::uint64_t min_others, direction better,
                                 std::optional<std::uint64_t> concurrent)
  : most_(trials), max_(max), grace_(grace), min_others_(min_others),
    better_(better), limit_(concurrent) {}

std::vector<action> median_stopping::open(std::uint64_t trials) {
  trials_.resize(trials);
  return fill();
}

std::vector<action> median_stopping::on_result(trial_no trial, step_t at,
                                               double value) {
  auto& x = trials_[trial];
  if (!x.training || (!x.totals.empty() && at <= x.totals.back().at))
    return {};
  const auto loss = better_ == direction::minimize ? value : -value;
  if (loss < x.best) // a NaN is not
    x.best = loss;
  bool stops = false;
  if (at >= grace_ && at < max_) {
    auto& others = means_at(at); // the trial itself is not among them yet
    stops = others.size() >= min_others_ && x.best > median_of(others);
  }
  const auto before = x.totals.empty() ? total{} : x.totals.back();
  x.totals.push_back({at, before.sum + loss, before.count + 1});
  add_to_means(trial);
  furthest_ = std::max(furthest_, at);
  std::vector<action> actions;
  if (!stops && at < max_) {
    // Sent there before trials were longer, and perhaps no farther since.
    if (std::binary_search(passed_.begin(), passed_.end(), at))
      actions.emplace_back(advance{trial, max_});
    return actions;
  }
  if (stops)
    actions.emplace_back(prune{trial});
  x.finished = !stops;
  x.training = false;
  x.ended = true;
  limit_.leave();
  const auto more = fill();
  actions.insert(actions.end(), more.begin(), more.end());
  return actions;
}

std::vector<action> median_stopping::on_failure(trial_no trial) {
  auto& x = trials_[trial];
  x.ended = true;
  std::erase(resting_, trial);
  if (!x.training)
    return {};
  x.training = false;
  limit_.leave();
  return fill();
}

std::vector<action>
median_stopping::withdraw(const std::vector<trial_no>& withdrawn,
                          std::uint64_t trials) {
  for (const auto trial : withdrawn) {
    auto& x = trials_[trial];
    if (std::exchange(x.training, false))
      limit_.leave();
    x.ended = true;
    if (trial >= next_)
      withdrawn_.insert(trial);
  }
  most_ = trials;
  return fill();
}

bool median_stopping::take_back(trial_no trial) {
  trials_[trial].training = true;
  trials_[trial].ended = false;
  limit_.enter();
  return true;
}

std::vector<trial_no> median_stopping::lengthen(step_t max) {
  passed_.push_back(std::exchange(max_, max));
  std::vector<trial_no> result;
  for (trial_no trial = 0; trial < trials_.size(); ++trial)
    if (auto& x = trials_[trial]; std::exchange(x.finished, false)) {
      x.ended = false;
      result.push_back(trial);
    }
  resting_.insert(resting_.end(), result.begin(), result.end());
  return result;
}

std::vector<action> median_stopping::go_on() {
  std::vector<action> actions;
  for (trial_no trial = 0; trial < trials_.size(); ++trial)
    if (trials_[trial].training)
      actions.emplace_back(advance{trial, max_});
  const auto more = fill();
  actions.insert(actions.end(), more.begin(), more.end());
  return actions;
}

expected_work median_stopping::to_come() const {
  const auto further = passed_.empty() ? 0 : max_ - passed_.back();
  const auto fresh = most_ - next_ - withdrawn_.size();
  return {fresh * max_ + resting_.size() * further, fresh > 0 ? max_
                                                    : !resting_.empty()
                                                      ? further
                                                      : 0};
}

split_ranking& median_stopping::means_at(step_t at) {
  const auto [found, is_new] = means_.try_emplace(at);
  if (!is_new || at > furthest_)
    return found->second;
  // Some trials have measured beyond this step, but not here.
  for (trial_no trial = 0; trial < trials_.size(); ++trial) {
    const auto& totals = trials_[trial].totals;
    if (totals.empty() || totals.back().at < at)
      continue;
    const auto after = std::upper_bound(
      totals.begin(), totals.end(), at,
      [](step_t step, const total& x) { return step < x.at; });
    if (after != totals.begin() && std::isfinite(std::prev(after)->mean()))
      found->second.insert({false, std::prev(after)->mean(), trial});
  }
  return found->second;
}

void median_stopping::add_to_means(trial_no trial) {
  const auto& totals = trials_[trial].totals;
  const auto& latest = totals.back();
  const auto* before = totals.size() > 1 ? &totals[totals.size() - 2] : nullptr;
  auto at = before != nullptr ? means_.upper_bound(before->at) : means_.begin();
  for (; at != means_.end() && at->first <= latest.at; ++at) {
    const auto* up_to = at->first == latest.at ? &latest : before;
    if (up_to != nullptr && std::isfinite(up_to->mean()))
      at->second.insert({false, up_to->mean(), trial});
  }
}

std::vector<action> median_stopping::fill() {
  std::vector<action> actions;
  for (; limit_.has_room() && !resting_.empty(); resting_.pop_front()) {
    trials_[resting_.front()].training = true;
    limit_.enter();
    actions.emplace_back(advance{resting_.front(), max_});
  }
  while (limit_.has_room() && next_ < trials_.size()) {
    const auto trial = next_++;
    withdrawn_.erase(trial);
    if (trials_[trial].ended) // cancelled before its turn
      continue;
    trials_[trial].training = true;
    limit_.enter();
    actions.emplace_back(advance{trial, max_});
  }
  return actions;
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option median_grace{.name = "grace",
                              .low = 1,
                              .high_text = "`max`",
                              .fallback_text = "a tenth of `max`, rounded up",
                              .meaning = "no trial is pruned before that step"};

constexpr option median_min_others{
  .name = "min_others",
  .low = 1,
  .high = max_trials,
  .fallback = 3.0,
  .meaning = "the number of other trials that must have reached the step"};

constexpr option median_options[]{median_grace,      median_min_others,
                                  max_option,        sampler_option,
                                  concurrent_option, prefer_shared_option};

std::shared_ptr<algorithm_settings> read_median(algorithm_reader& from) {
  auto result = std::make_shared<median_settings>();
  result->max = result->first = from.read_max();
  from.read_lengths(*result);
  result->concurrent = from.read_concurrent();
  from.read_sampling();
  result->grace =
    from.whole(median_grace, 1, result->max, (result->max - 1) / 10 + 1);
  result->min_others = from.whole(median_min_others);
  result->trials = from.count_trials();
  from.warn_of_blind_start(result->concurrent);
  return result;
}

} // namespace

std::unique_ptr<algorithm> median_settings::make(const study_spec& study,
                                                 const trial_states*,
                                                 const trial_outcomes*) const {
  return std::make_unique<median_stopping>(
    trials, max, grace, min_others, study.objective.direction, concurrent);
}

std::vector<step_t> median_settings::marks() const {
  return rung_steps(grace, max, mark_eta);
}

const algorithm_type median_type{
  .name = "median",
  .meaning = "ends trials that are worse than the median of the others",
  .options = median_options,
  .for_several_goals = full_training_or_halving,
  .read = read_median};

} // namespace hippo
