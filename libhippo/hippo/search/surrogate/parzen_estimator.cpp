#include "hippo/search/surrogate/parzen_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "hippo/search/surrogate/normal.hpp"

namespace hippo {

namespace {

/// In widths of a kernel: beyond, it adds nothing that shows beside the kernel
/// of the whole range.
constexpr double reach = 8;

/// The density of the standard normal distribution.
double normal(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

} // namespace

parzen_estimator::parzen_estimator(const space_leaf& leaf,
                                   const std::vector<std::uint64_t>& taken)
  : ways_(leaf.ways()) {
  if (!leaf.is_choice()) {
    place_kernels(taken);
    return;
  }
  counts_.assign(ways_, 1);
  for (auto x : taken)
    ++counts_[x];
  total_ = ways_ + taken.size();
}

void parzen_estimator::place_kernels(const std::vector<std::uint64_t>& taken) {
  if (ways_ > 0)
    margin_ = 0.5 / static_cast<double>(ways_ - 1);
  constexpr std::size_t whole = 0; // the kernel of the whole range
  std::vector<std::pair<double, std::size_t>> middles{{0.5, whole}};
  for (auto x : taken)
    middles.emplace_back(share_of(x), middles.size());
  std::sort(middles.begin(), middles.end());
  const auto n = middles.size();
  const auto narrowest = 1 / std::min(100.0, 1 + static_cast<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const auto middle = middles[i].first;
    const auto left = i > 0 ? middle - middles[i - 1].first : 0;
    const auto right = i + 1 < n ? middles[i + 1].first - middle : 0;
    const auto width = middles[i].second == whole
                         ? 1
                         : std::clamp(std::max(left, right), narrowest, 1.0);
    kernels_.push_back({middle, width,
                        normal_below((1 + margin_ - middle) / width)
                          - normal_below((-margin_ - middle) / width)});
  }
}

double parzen_estimator::share_of(std::uint64_t decision) const {
  const auto end = ways_ == 0 ? space_leaf::high_end : ways_ - 1;
  return static_cast<double>(decision) / static_cast<double>(end);
}

double parzen_estimator::log_of(std::uint64_t decision) {
  if (!counts_.empty())
    return std::log(static_cast<double>(counts_[decision])
                    / static_cast<double>(total_));
  if (ways_ == 0) // hardly any decision comes twice
    return log_of_share(share_of(decision));
  const auto [found, is_new] = known_.try_emplace(decision);
  if (is_new)
    found->second = log_of_share(share_of(decision));
  return found->second;
}

double parzen_estimator::log_of_share(double value) const {
  double sum = 0;
  for (const auto& k : kernels_) {
    const auto z = (value - k.middle) / k.width;
    const auto margin = margin_ / k.width;
    if (std::abs(z) > reach + margin)
      continue;
    sum += (ways_ > 0 ? normal_below(z + margin) - normal_below(z - margin)
                      : normal(z) / k.width)
           / k.inside;
  }
  return std::log(sum / static_cast<double>(kernels_.size()));
}

std::uint64_t parzen_estimator::draw(counter_rng& draws) const {
  if (!counts_.empty()) {
    auto n = draws.below(total_);
    for (std::uint64_t i = 0;; ++i) {
      if (n < counts_[i])
        return i;
      n -= counts_[i];
    }
  }
  const auto& k = kernels_[draws.below(kernels_.size())];
  double x = k.middle;
  for (int i = 0; i < normal_draws_max; ++i) {
    // Box and Muller's method; 1 - unit() is above 0.
    x = k.middle
        + k.width * std::sqrt(-2 * std::log(1 - draws.unit()))
            * std::cos(2 * std::numbers::pi * draws.unit());
    if (x >= -margin_ && x <= 1 + margin_)
      break;
  }
  const auto end = ways_ == 0 ? space_leaf::high_end : ways_ - 1;
  return static_cast<std::uint64_t>(
    std::llround(std::clamp(x, 0.0, 1.0) * static_cast<double>(end)));
}

} // namespace hippo
