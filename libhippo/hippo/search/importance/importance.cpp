#include "hippo/search/importance/importance.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "hippo/search/importance/ped_anova.hpp"
#include "hippo/search/importance/trial_parameters.hpp"

namespace hippo {

study_importance importance_of(const std::vector<compared_trial>& trials,
                               direction better) {
  assert(trials.size() >= importance_trials_min);
  std::vector<nlohmann::ordered_json> params;
  std::vector<double> losses;
  for (const auto& x : trials) {
    params.push_back(x.params);
    losses.push_back(better == direction::minimize ? x.value : -x.value);
  }
  auto apart = take_apart(params);
  std::vector<std::string> names;
  std::vector<varied_parameter> varied;
  for (auto& [name, x] : apart.varied) {
    names.push_back(name);
    varied.push_back(std::move(x));
  }
  const auto found = ped_anova(varied, losses, importance_quantile);
  double sum = 0;
  for (const auto x : found)
    sum += x;
  study_importance result;
  result.trials = trials.size();
  result.best = best_trials(losses, importance_quantile);
  result.left_out = std::move(apart.left_out);
  // A hyper-parameter varies if a part of it does.
  const auto top = [](const std::string& x) {
    return x.substr(0, x.find_first_of(".["));
  };
  std::set<std::string> vary;
  for (const auto& x : names)
    vary.insert(top(x));
  for (const auto& x : result.left_out)
    vary.insert(top(x));
  for (const auto& x : apart.constant)
    if (vary.insert(top(x)).second)
      result.constant.push_back(top(x));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& values = varied[i].values;
    const auto having
      = std::count_if(values.begin(), values.end(), [](const auto& x) {
          return x.domain != parameter_value::none;
        });
    result.parameters.push_back({names[i], found[i],
                                 sum > 0 ? found[i] / sum : 0,
                                 static_cast<std::size_t>(having)});
  }
  std::stable_sort(result.parameters.begin(), result.parameters.end(),
                   [](const auto& x, const auto& y) {
                     return x.importance > y.importance;
                   });
  return result;
}

std::optional<step_t>
step_to_compare(const std::map<step_t, std::size_t>& measured) {
  std::size_t most = 0;
  for (const auto& [step, trials] : measured)
    most = std::max(most, trials);
  std::optional<step_t> result;
  for (const auto& [step, trials] : measured)
    if (trials > 0 && trials * 10 >= most * 9)
      result = step;
  return result;
}

} // namespace hippo
