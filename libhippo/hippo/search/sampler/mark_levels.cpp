#include "hippo/search/sampler/mark_levels.hpp"

#include <algorithm>

namespace hippo {

namespace {

/// The weight of what trials were worth at their mark before.
constexpr double gain_share = 0.5;

} // namespace

double quantile(std::vector<double>& numbers, double q) {
  const auto i =
    static_cast<std::ptrdiff_t>(q * static_cast<double>(numbers.size() - 1));
  std::nth_element(numbers.begin(), numbers.begin() + i, numbers.end());
  return numbers[static_cast<std::size_t>(i)];
}

void mark_levels::add(trial_no trial, std::size_t mark, double value) {
  results_[mark].values.push_back(value);
  const auto [before, is_first] = last_.try_emplace(trial, result{mark, value});
  if (is_first)
    return;
  results_[mark].gains.push_back(
    {before->second.mark, value - before->second.value});
  before->second = {mark, value};
}

std::vector<double> mark_levels::levels() {
  std::vector<double> levels;
  for (auto& [values, gains] : results_) {
    auto level = levels.empty() ? 0 : levels.back();
    if (!values.empty())
      level = quantile(values, 0.5);
    std::vector<double> kept;
    for (const auto& x : gains)
      kept.push_back(levels[x.mark] + x.value);
    if (!kept.empty())
      level += gain_share * (quantile(kept, 0.5) - level);
    levels.push_back(level);
  }
  return levels;
}

} // namespace hippo
