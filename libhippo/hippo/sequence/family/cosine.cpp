#include "hippo/sequence/family/cosine.hpp"

#include <algorithm>
#include <string>

#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

std::vector<piece> cosine(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto end = in["end"].number_or(0);
  const auto horizon = in["horizon"].steps(1);
  auto result = half_cosine(initial, end, horizon);
  result.push_back({horizon, form::constant(end)});
  return result;
}

std::vector<piece> cosine_restarts(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto end = in["end"].number_or(0);
  auto period = in["period"].steps(1);
  const auto multiplier = in["multiplier"].count_or(1, 1, "");
  if (period == 1 && multiplier == 1)
    return {{0, form::constant(initial)}};
  std::vector<piece> result;
  for (step_t begin = 0; begin < in.steps_left() || begin == 0;) {
    if (result.size() >= piece_limit) {
      in.error("has more than " + std::to_string(piece_limit) + " cycles");
      break;
    }
    append(result, half_cosine(initial, end, period), begin);
    begin += period;
    period = std::min(period * multiplier, step_limit);
  }
  return result;
}

} // namespace hippo::family
