#include "hippo/report/record.hpp"

#include <cmath>

#include "hippo/core/trial_result.hpp"
#include "hippo/report/ranking.hpp"

namespace hippo {

std::optional<best_value> best_of(const trial_record& trial,
                                  const study_record& study) {
  std::optional<best_value> result;
  if (!has_result(trial.state))
    return result;
  const auto breaks = [&](const metrics& values) {
    return !study.wanted.constraints.empty()
           && outcome_of(values, study.wanted).violation > 0;
  };
  for (const auto& x : trial.results) {
    if (breaks(x.values))
      continue;
    const auto found = x.values.find(study.metric);
    if (found == x.values.end() || std::isnan(found->second))
      continue;
    if (!result || better(found->second, result->value, study.direction))
      result = best_value{x.step, found->second};
  }
  return result;
}

} // namespace hippo
