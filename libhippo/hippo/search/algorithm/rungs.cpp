#include "hippo/search/algorithm/rungs.hpp"

#include <cassert>

namespace hippo {

std::vector<step_t> rung_steps(step_t min, step_t max, std::uint64_t eta) {
  assert(min > 0 && min <= max && eta >= 2);
  std::vector<step_t> rungs;
  for (auto at = min; at < max; at *= eta) {
    rungs.push_back(at);
    if (at > max / eta) // the next one is beyond `max`, or overflows
      break;
  }
  rungs.push_back(max);
  return rungs;
}

} // namespace hippo
