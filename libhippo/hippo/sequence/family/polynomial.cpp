#include "hippo/sequence/family/polynomial.hpp"

#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

std::vector<piece> polynomial(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto end = in["end"].number_or(0);
  const auto horizon = in["horizon"].steps(1);
  const auto power = in["power"].positive();
  std::vector<piece> result;
  if (power == 1) {
    result = ramp(initial, end, horizon);
  } else {
    form shape;
    shape.kind = form_kind::polynomial;
    shape.a = {initial, end, 0, power};
    result = curve(std::move(shape), horizon);
  }
  result.push_back({horizon, form::constant(end)});
  return result;
}

} // namespace hippo::family
