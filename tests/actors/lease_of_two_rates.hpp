#pragma once

#include <algorithm>

#include "hippo/model/lease.hpp"

namespace hippo::test {

/// Returns a lease over some steps that saves at its end, without a number, a
/// workload or a place. @param first the rate up to step 4
/// @param second the rate from there on
inline lease lease_of_two_rates(step_t begin, step_t end, double first,
                                double second) {
  lease result;
  if (begin < 4)
    result.stages = {{node_id{1},
                      begin,
                      std::min<step_t>(end, 4),
                      {{"lr", form::constant(first)}}}};
  if (end > 4)
    result.stages.push_back({node_id{2},
                             std::max<step_t>(begin, 4),
                             end,
                             {{"lr", form::constant(second)}}});
  result.stops = {{end, true, true}};
  return result;
}

} // namespace hippo::test
