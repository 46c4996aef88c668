#include "hippo/sequence/family/cyclic.hpp"

#include <cmath>
#include <string>

#include "hippo/base/number.hpp"
#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

namespace {

/// The fading ramp over `[begin, begin + length)`.
piece fading(double low, double high, double gamma, step_t begin,
             step_t length, bool rises) {
  form shape;
  shape.kind = form_kind::fading_ramp;
  const auto first = static_cast<double>(begin);
  const auto last = static_cast<double>(begin + length);
  shape.a = {low, high, gamma, rises ? first : last, rises ? last : first};
  return {begin, shape};
}

} // namespace

std::vector<piece> cyclic(const argument& in) {
  const auto low = in["low"].initial();
  const auto high = in["high"].number();
  const auto up = in["up"].steps(1);
  const auto down = in["down"].steps_or(up, 1);
  const auto mode = in["mode"].word_or(
    "triangular", {"triangular", "triangular2", "exp_range"});
  double gamma = 1;
  if (mode == "exp_range")
    gamma = in["gamma"].ratio();
  else if (in["gamma"].given())
    in["gamma"].error("is only for the mode exp_range, found it with "
                      + mode);
  std::vector<piece> result{{0, form::constant(low)}};
  if (low == high || gamma == 0)
    return result;
  double peak = high;
  step_t begin = 0;
  for (std::uint64_t n = 0; begin < in.steps_left(); ++n) {
    if (result.size() >= piece_limit) {
      in.error("has more than " + std::to_string(piece_limit) + " ramps");
      break;
    }
    if (gamma != 1) {
      result.push_back(fading(low, high, gamma, begin, up, true));
      result.push_back(fading(low, high, gamma, begin + up, down, false));
    } else {
      if (mode == "triangular2")
        peak = canonical(low + std::ldexp(high - low, -static_cast<int>(n)));
      append(result, ramp(low, peak, up), begin);
      append(result, ramp(peak, low, down), begin + up);
      if (peak == low)
        break; // nothing is left
    }
    begin += up + down;
  }
  return result;
}

} // namespace hippo::family
