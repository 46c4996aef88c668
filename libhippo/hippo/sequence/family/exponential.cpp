#include "hippo/sequence/family/exponential.hpp"

#include <cmath>

#include "hippo/core/number.hpp"

namespace hippo::family {

std::vector<piece> exponential(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto gamma = in["gamma"].ratio();
  const auto every = in["every"].steps_or(1, 1);
  return decay(in, initial, gamma, every);
}

std::vector<piece> decay(const argument& in, double initial, double gamma,
                         step_t every) {
  std::vector<piece> result{{0, form::constant(initial)}};
  if (gamma == 1 || initial == 0)
    return result;
  if (every == 1 && gamma != 0) {
    auto& shape = result.front().shape;
    shape.kind = form_kind::exponential;
    shape.a = {initial, gamma, 0, 0};
    return result;
  }
  double last = initial;
  for (step_t n = 1; n * every < in.steps_left(); ++n) {
    const auto value =
      canonical(initial * std::pow(gamma, static_cast<double>(n)));
    if (value == 0 && last == 0)
      break; // nothing is left
    if (!std::isfinite(last))
      break; // more than a number can hold
    if (value == last)
      continue; // the ratio is too near to 1 for the digits kept
    if (result.size() == piece_limit) {
      in.error("has more than " + std::to_string(piece_limit)
               + " plateaus; a decay at every step has no such limit");
      break;
    }
    result.push_back({n * every, form::constant(value)});
    last = value;
  }
  return result;
}

} // namespace hippo::family
