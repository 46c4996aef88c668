#include "hippo/sequence/family/rex.hpp"

#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

std::vector<piece> rex(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto end = in["end"].number_or(0);
  const auto horizon = in["horizon"].steps(1);
  const auto beta = in["beta"].share_or(0.5);
  std::vector<piece> result;
  if (beta == 0) {
    result = ramp(initial, end, horizon);
  } else {
    form shape;
    shape.kind = form_kind::rex;
    shape.a = {initial, end, 0, beta};
    result = curve(std::move(shape), horizon);
  }
  result.push_back({horizon, form::constant(end)});
  return result;
}

} // namespace hippo::family
