#include "hippo/sequence/family/constant.hpp"

namespace hippo::family {

std::vector<piece> constant(const argument& in) {
  return {{0, in.plateau()}};
}

} // namespace hippo::family
