#include "hippo/service/merge/save_interval.hpp"

#include <algorithm>
#include <cmath>

namespace hippo {

double save_interval(double save_seconds, double between, double unknown) {
  if (!(save_seconds > 0) || !(between > 0))
    return unknown;
  return std::clamp(std::sqrt(2 * save_seconds * between), save_interval_min,
                    save_interval_max);
}

} // namespace hippo
