#include "hippo/search/surrogate/belief.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hippo/search/surrogate/normal.hpp"

namespace hippo {

namespace {

/// Draws from the standard normal distribution (Box and Muller, 1958).
double normal_draw(counter_rng& draws) {
  const auto radius = std::sqrt(-2 * std::log(1 - draws.unit()));
  return radius * std::cos(2 * std::numbers::pi * draws.unit());
}

} // namespace

belief::belief(const space_leaf& leaf, const prior_belief& what)
  : ways_(leaf.ways()), is_choice_(leaf.is_choice()), mode_(what.mode) {
  if (is_choice_) {
    factor_ = 1 + 2 * what.strength;
    return;
  }
  deviation_ = 1 / (2 * what.strength);
  const auto middle = share_of(mode_);
  mass_ = normal_below((1 - middle) / deviation_)
          - normal_below(-middle / deviation_);
}

std::uint64_t belief::last() const {
  return ways_ == 0 ? space_leaf::high_end : ways_ - 1;
}

double belief::share_of(std::uint64_t decision) const {
  return last() == 0
           ? 0
           : static_cast<double>(decision) / static_cast<double>(last());
}

double belief::log_of(std::uint64_t decision) const {
  if (is_choice_) {
    const auto ways = static_cast<double>(ways_);
    return std::log((decision == mode_ ? factor_ : 1) * ways
                    / (factor_ + ways - 1));
  }
  const auto z = (share_of(decision) - share_of(mode_)) / deviation_;
  return -z * z / 2
         - std::log(deviation_ * mass_ * std::sqrt(2 * std::numbers::pi));
}

std::uint64_t belief::draw(counter_rng& draws) const {
  if (is_choice_) {
    const auto ways = static_cast<double>(ways_);
    if (draws.unit() * (factor_ + ways - 1) < factor_ || ways_ == 1)
      return mode_;
    const auto other = draws.below(ways_ - 1);
    return other < mode_ ? other : other + 1;
  }
  for (int i = 0; i < normal_draws_max; ++i) {
    const auto share = share_of(mode_) + deviation_ * normal_draw(draws);
    if (share >= 0 && share <= 1)
      return static_cast<std::uint64_t>(
        std::llround(share * static_cast<double>(last())));
  }
  return mode_;
}

} // namespace hippo
