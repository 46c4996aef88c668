#include "hippo/sequence/family/exponential.hpp"

#include <cmath>

namespace hippo::family {

std::vector<piece> exponential(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto gamma = in["gamma"].ratio();
  const auto every = in["every"].steps_or(1, 1);
  return decay(in, initial, gamma, every);
}

std::vector<piece> decay(const argument& in, double initial, double gamma,
                         step_t every) {
  std::vector<piece> result{{0, decayed(in, initial, gamma, 0)}};
  if (gamma == 1 || initial == 0)
    return result;
  if (every == 1 && gamma != 0) {
    auto& shape = result.front().shape;
    shape.kind = form_kind::exponential;
    shape.a = {initial, gamma, 0, 0};
    return result;
  }
  auto last = initial;
  for (step_t n = 1; n * every < in.steps_left(); ++n) {
    const auto shape = decayed(in, initial, gamma, n);
    const auto value = shape.a[0];
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
    result.push_back({n * every, shape});
    last = value;
  }
  return result;
}

form decayed(const argument& in, double initial, double gamma,
             std::uint64_t times) {
  if (in["initial"].is_whole() && in["gamma"].is_whole())
    return form::whole(whole_power(initial, gamma, times));
  return form::constant(initial * std::pow(gamma, static_cast<double>(times)));
}

} // namespace hippo::family
