#include "hippo/train/torch/clicks/click_scores.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "hippo/base/portable_math.hpp"

namespace hippo {

namespace {

/// @complexity O(n log n)
double auc_of(std::span<const float> logits, std::span<const float> labels) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return logits[i]; });
  double clicked = 0, others = 0, pairs = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double clicked_here = 0, others_here = 0;
    for (; end < order.size() && logits[order[end]] == logits[order[begin]];
         ++end)
      ++(labels[order[end]] > 0 ? clicked_here : others_here);
    pairs += clicked_here * (others + others_here / 2);
    clicked += clicked_here;
    others += others_here;
  }
  return clicked == 0 || others == 0 ? 0.5 : pairs / (clicked * others);
}

} // namespace

click_scores click_scores_of(std::span<const float> logits,
                             std::span<const float> labels) {
  assert(logits.size() == labels.size());
  // Logits that are not finite have no order.
  if (!std::ranges::all_of(logits, [](float x) { return std::isfinite(x); }))
    return {NAN, NAN};
  double loss = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto logit = static_cast<double>(logits[i]);
    loss += std::max(logit, 0.0) - logit * static_cast<double>(labels[i])
            + portable_log(1 + portable_exp(-std::abs(logit)));
  }
  return {loss / static_cast<double>(logits.size()), auc_of(logits, labels)};
}

} // namespace hippo
