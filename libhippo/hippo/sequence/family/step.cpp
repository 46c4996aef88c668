#include "hippo/sequence/family/step.hpp"

#include "hippo/sequence/family/exponential.hpp"

namespace hippo::family {

std::vector<piece> step(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto size = in["size"].steps(1);
  const auto gamma = in["gamma"].ratio();
  return decay(in, initial, gamma, size);
}

} // namespace hippo::family
