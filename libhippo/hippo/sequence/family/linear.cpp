#include "hippo/sequence/family/linear.hpp"

namespace hippo::family {

std::vector<piece> linear(const argument& in) {
  const auto from = in["from"].initial();
  const auto to = in["to"].number();
  const auto horizon = in["horizon"].steps(1);
  auto result = curve(form_kind::polynomial, from, to, horizon);
  result.push_back({horizon, form::constant(to)});
  return result;
}

std::vector<piece> curve(form_kind kind, double from, double to,
                         step_t horizon) {
  if (horizon == 0)
    return {};
  if (from == to)
    return {{0, form::constant(from)}};
  form shape;
  shape.kind = kind;
  shape.a = {from, to, static_cast<double>(horizon), 0};
  if (kind == form_kind::polynomial)
    shape.a[3] = 1;
  if (horizon > 2)
    return {{0, shape}};
  std::vector<piece> result;
  for (step_t t = 0; t < horizon; ++t)
    result.push_back({t, form::constant(std::get<double>(shape.at(t)))});
  return result;
}

} // namespace hippo::family
