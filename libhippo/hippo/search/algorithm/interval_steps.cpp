#include "hippo/search/algorithm/interval_steps.hpp"

#include <cassert>

namespace hippo {

std::vector<step_t> interval_steps(step_t interval, step_t max) {
  std::vector<step_t> result;
  for (auto at = interval; at < max; at += interval)
    result.push_back(at);
  result.push_back(max);
  return result;
}

step_t read_interval(algorithm_reader& from, step_t max, step_t fallback) {
  const auto least = (max - 1) / max_interval_rungs + 1;
  return from.whole(interval_option, least, max, fallback);
}

} // namespace hippo
