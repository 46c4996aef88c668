#include "hippo/sequence/family/linear.hpp"

#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

std::vector<piece> linear(const argument& in) {
  const auto from = in["from"].initial();
  const auto to = in["to"].number();
  const auto horizon = in["horizon"].steps(1);
  auto result = ramp(from, to, horizon);
  result.push_back({horizon, form::constant(to)});
  return result;
}

} // namespace hippo::family
