#include "hippo/search/trial_outcomes.hpp"

#include <algorithm>

#include "hippo/model/slack.hpp"
#include "hippo/search/pareto/dominance.hpp"

namespace hippo {

void trial_outcomes::add(trial_no trial, step_t step, const metrics& measured) {
  const auto [found, is_new] = known_[step].try_emplace(trial);
  if (!is_new)
    return;
  found->second = {outcome_of(measured, wanted_),
                   slacks_of(measured, wanted_.constraints)};
  ++count_;
}

const outcome& trial_outcomes::at(trial_no trial, step_t step) const {
  return known_.at(step).at(trial).worth;
}

const std::vector<double>& trial_outcomes::slacks(trial_no trial,
                                                  step_t step) const {
  return known_.at(step).at(trial).slacks;
}

std::vector<outcome>
trial_outcomes::of(const std::vector<trial_no>& trials, step_t step) const {
  std::vector<outcome> result;
  result.reserve(trials.size());
  for (const auto trial : trials)
    result.push_back(at(trial, step));
  return result;
}

void trial_outcomes::rank(std::vector<standing>& trials, step_t step,
                          trial_no first) const {
  std::sort(trials.begin(), trials.end(),
            [](const standing& a, const standing& b) {
              return a.trial < b.trial;
            });
  std::vector<trial_no> numbers;
  for (const auto& x : trials)
    numbers.push_back(first + x.trial);
  std::vector<standing> result;
  for (const auto i : best_first(of(numbers, step)))
    result.push_back(
      {false, static_cast<double>(result.size()), trials[i].trial});
  trials = std::move(result);
}

std::vector<trial_no> trial_outcomes::best_of(std::vector<trial_no> trials,
                                              step_t step,
                                              std::size_t count) const {
  std::sort(trials.begin(), trials.end());
  std::vector<trial_no> result;
  for (const auto i : select_best(of(trials, step), count))
    result.push_back(trials[i]);
  return result;
}

std::vector<survivor>
trial_outcomes::survivors_of(std::vector<trial_no> trials, step_t step,
                             std::size_t count) const {
  std::sort(trials.begin(), trials.end());
  auto result = select_survivors(of(trials, step), count);
  for (auto& x : result)
    x.place = trials[x.place];
  return result;
}

std::uint64_t trial_outcomes::memory_bytes() const {
  constexpr std::uint64_t node_bytes = 48; // of a hash table, and of losses
  return count_
         * (sizeof(entry) + node_bytes
            + (wanted_.metrics.size() + constraints()) * sizeof(double));
}

} // namespace hippo
