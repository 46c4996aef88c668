#include "hippo/service/merge/other_steps.hpp"

#include <algorithm>
#include <iterator>

#include "hippo/plan/schedule/step_profiles.hpp"

namespace hippo {

std::vector<step_profile>
step_profiles_of_others(const std::vector<workload_timings>& all,
                        const std::string& key,
                        const std::vector<workload_descriptor>& workloads) {
  std::vector<step_profile> result;
  for (auto x = all.rbegin(); x != all.rend(); ++x) {
    if (x->workload_key == key)
      continue;
    const auto known = std::ranges::find(workloads,
                                         workload_name_of(x->workload_key),
                                         &workload_descriptor::name);
    if (known == workloads.end())
      continue;
    std::ranges::move(step_profiles_of(x->workload_key, speed_names_of(*known),
                                       x->timings),
                      std::back_inserter(result));
    if (result.size() >= other_steps_max)
      break;
  }
  result.resize(std::min(result.size(), other_steps_max));
  return result;
}

} // namespace hippo
