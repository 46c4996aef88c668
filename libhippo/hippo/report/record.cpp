#include "hippo/report/record.hpp"

#include <cmath>

#include "hippo/report/ranking.hpp"

namespace hippo {

const char* to_string(trial_state x) noexcept {
  switch (x) {
    case trial_state::pending:
      return "PENDING";
    case trial_state::running:
      return "RUNNING";
    case trial_state::paused:
      return "PAUSED";
    case trial_state::complete:
      return "COMPLETE";
    case trial_state::pruned:
      return "PRUNED";
    case trial_state::failed:
      return "FAILED";
    case trial_state::cancelled:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

std::optional<best_value> best_of(const trial_record& trial,
                                  const study_record& study) {
  std::optional<best_value> result;
  for (const auto& x : trial.results) {
    const auto found = x.values.find(study.metric);
    if (found == x.values.end() || std::isnan(found->second))
      continue;
    if (!result || better(found->second, result->value, study.direction))
      result = best_value{x.step, found->second};
  }
  return result;
}

} // namespace hippo
