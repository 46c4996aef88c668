#include "hippo/model/measuring.hpp"

#include <algorithm>

namespace hippo {

bool measuring::covers(step_t at) const {
  return at > 0 && at <= rungs.back()
         && (at % every == 0
             || std::binary_search(rungs.begin(), rungs.end(), at));
}

bool measuring::keeps(step_t at) const {
  return parts_anywhere || std::binary_search(rungs.begin(), rungs.end(), at);
}

step_t measuring::next(step_t at) const {
  const auto rung = std::upper_bound(rungs.begin(), rungs.end(), at);
  if (rung == rungs.end())
    return 0;
  return std::min(*rung, (at / every + 1) * every);
}

} // namespace hippo
