#include "hippo/search/pareto/selection.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "hippo/search/pareto/dominance.hpp"
#include "hippo/search/pareto/hypervolume.hpp"

namespace hippo {

namespace {

/// The places of each level.
std::vector<std::vector<std::size_t>>
by_level(const std::vector<outcome>& x) {
  std::vector<std::vector<std::size_t>> result;
  const auto levels = levels_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (result.size() <= levels[i])
      result.resize(levels[i] + 1);
    result[levels[i]].push_back(i);
  }
  return result;
}

std::vector<losses> values_of(const std::vector<outcome>& x,
                              const std::vector<std::size_t>& places) {
  std::vector<losses> result;
  for (const auto i : places)
    result.push_back(x[i].values);
  return result;
}

} // namespace

std::vector<std::size_t> levels_of(const std::vector<outcome>& outcomes) {
  std::vector<std::size_t> feasible, result(outcomes.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].is_feasible())
      feasible.push_back(i);
  const auto ranks = non_domination_ranks(values_of(outcomes, feasible));
  std::size_t next = 0;
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    result[feasible[i]] = ranks[i];
    next = std::max(next, ranks[i] + 1);
  }
  std::map<std::pair<bool, double>, std::vector<std::size_t>> others;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (!outcomes[i].is_feasible())
      others[{outcomes[i].is_nan,
              outcomes[i].is_nan ? 0 : outcomes[i].violation}]
        .push_back(i);
  for (const auto& [kind, places] : others) {
    for (const auto i : places)
      result[i] = next;
    ++next;
  }
  return result;
}

std::vector<std::size_t> select_best(const std::vector<outcome>& outcomes,
                                     std::size_t count) {
  std::vector<std::size_t> result;
  for (const auto& level : by_level(outcomes)) {
    const auto left = std::min(count, outcomes.size()) - result.size();
    if (level.size() <= left) {
      result.insert(result.end(), level.begin(), level.end());
      continue;
    }
    if (!outcomes[level.front()].is_feasible()) { // as they come
      result.insert(result.end(), level.begin(),
                    level.begin() + static_cast<std::ptrdiff_t>(left));
      break;
    }
    const auto values = values_of(outcomes, level);
    for (const auto i : most_hypervolume(values, left,
                                         reference_beyond(values)))
      result.push_back(level[i]);
    break;
  }
  return result;
}

std::vector<survivor> select_survivors(const std::vector<outcome>& outcomes,
                                       std::size_t count) {
  std::vector<survivor> result;
  const auto levels = by_level(outcomes);
  for (std::size_t number = 0; number < levels.size() && result.size() < count;
       ++number) {
    const auto& level = levels[number];
    std::vector<double> distances(level.size(), 0);
    if (outcomes[level.front()].is_feasible())
      distances = crowding_distances(values_of(outcomes, level));
    std::vector<survivor> members;
    for (std::size_t i = 0; i < level.size(); ++i)
      members.push_back({level[i], number, distances[i]});
    std::stable_sort(members.begin(), members.end(),
                     [](const survivor& a, const survivor& b) {
                       return a.distance > b.distance;
                     });
    members.resize(std::min(members.size(), count - result.size()));
    result.insert(result.end(), members.begin(), members.end());
  }
  return result;
}

} // namespace hippo
