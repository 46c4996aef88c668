#include "hippo/sequence/family/cosine.hpp"

#include "hippo/sequence/family/linear.hpp"

namespace hippo::family {

std::vector<piece> cosine(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto end = in["end"].number_or(0);
  const auto horizon = in["horizon"].steps(1);
  auto result = curve(form_kind::cosine, initial, end, horizon);
  result.push_back({horizon, form::constant(end)});
  return result;
}

} // namespace hippo::family
