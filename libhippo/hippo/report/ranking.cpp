#include "hippo/report/ranking.hpp"

#include <cmath>
#include <map>

#include "hippo/base/length_name.hpp"
#include "hippo/base/trial_result.hpp"

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

std::optional<step_t> length_in(const nlohmann::ordered_json& params) {
  if (!params.is_object() || !params.contains(length_name)
      || !params.at(length_name).is_number_unsigned())
    return std::nullopt;
  return params.at(length_name).get<step_t>();
}

std::vector<trial_best> best_of_each_length(const std::vector<trial_best>& all,
                                            direction way) {
  std::map<step_t, trial_best> best;
  for (const auto& x : all) {
    const auto [known, is_new] = best.emplace(x.length, x);
    if (!is_new && better(x.best.value, known->second.best.value, way))
      known->second = x;
  }
  std::vector<trial_best> result;
  for (const auto& [length, x] : best)
    result.push_back(x);
  return result;
}

std::vector<trial_best> best_of_each_length(const study_record& study) {
  std::vector<trial_best> all;
  if (!study.wanted.metrics.empty() && study.wanted.metrics.size() > 1)
    return all;
  for (const auto& x : study.trials)
    if (const auto length = length_in(x.params))
      if (const auto best = best_of(x, study))
        all.push_back({x.id, *length, *best});
  return best_of_each_length(all, study.direction);
}

} // namespace hippo
