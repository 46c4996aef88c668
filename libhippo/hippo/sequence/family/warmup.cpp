#include "hippo/sequence/family/warmup.hpp"

#include "hippo/sequence/family/curve.hpp"

namespace hippo::family {

std::vector<piece> warmup(const argument& in) {
  const auto steps = in["steps"].steps(0);
  const auto from = in["from"].number();
  const auto to = in["to"].number();
  auto result = ramp(from, to, steps);
  const auto then = in["then"];
  if (!then.given()) {
    result.push_back({steps, form::constant(to)});
    return result;
  }
  then.warn_unless_reached(steps);
  for (auto& x : then.sequence_from(steps, to))
    result.push_back(std::move(x));
  return result;
}

} // namespace hippo::family
