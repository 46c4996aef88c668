#include "hippo/search/sampler/mark_levels.hpp"

#include <algorithm>

namespace hippo {

namespace {

/// The weight of the level that trials had at their mark before.
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
  std::vector<double> kept, all;
  for (auto& [values, gains] : results_) {
    const auto median = !values.empty() ? quantile(values, 0.5)
                        : kept.empty()  ? 0
                                        : kept.back();
    std::vector<double> own;
    for (const auto& x : gains)
      own.push_back(kept[x.mark] + x.value);
    kept.push_back(own.empty() ? median : quantile(own, 0.5));
    all.push_back(median + gain_share * (kept.back() - median));
  }
  return all;
}

} // namespace hippo
