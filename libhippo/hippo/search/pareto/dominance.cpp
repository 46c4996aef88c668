#include "hippo/search/pareto/dominance.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace hippo {

namespace {

/// Fronts that are filled in the order of values.
class growing_fronts {
public:
  explicit growing_fronts(const std::vector<losses>& x) : points_(x) {}

  /// Puts a point into the first front of which none dominates it.
  std::size_t place(std::size_t i) {
    const auto found = std::partition_point(
      fronts_.begin(), fronts_.end(),
      [&](const auto& front) { return has_better(front, i); });
    const auto rank = static_cast<std::size_t>(found - fronts_.begin());
    if (found == fronts_.end())
      fronts_.emplace_back();
    fronts_[rank].push_back(i);
    return rank;
  }

private:
  [[nodiscard]] bool has_better(const std::vector<std::size_t>& front,
                                std::size_t i) const {
    const auto is_better = [&](std::size_t other) {
      return dominates(points_[other], points_[i]);
    };
    // Of two values the second falls along a front: its last one decides.
    if (points_[i].size() == 2)
      return is_better(front.back());
    return std::any_of(front.rbegin(), front.rend(), is_better);
  }

  const std::vector<losses>& points_;
  std::vector<std::vector<std::size_t>> fronts_;
};

/// The distance between the least and the greatest of each value.
losses ranges_of(const std::vector<losses>& x) {
  auto least = x.front(), most = x.front();
  for (const auto& point : x)
    for (std::size_t k = 0; k < point.size(); ++k) {
      least[k] = std::min(least[k], point[k]);
      most[k] = std::max(most[k], point[k]);
    }
  for (std::size_t k = 0; k < most.size(); ++k)
    most[k] -= least[k];
  return most;
}

double squared_distance(const losses& a, const losses& b,
                        const losses& ranges) {
  double result = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (ranges[k] > 0) {
      const auto far = (a[k] - b[k]) / ranges[k];
      result += far * far;
    }
  return result;
}

/// The classes of outcomes that constraints make, and their order.
auto class_of(const outcome& x) {
  return std::pair{x.is_nan, x.is_nan ? 0.0 : x.violation};
}

/// Appends the members of one class by rank, and those of a rank by their net.
void append_by_fronts(const std::vector<outcome>& x,
                      const std::vector<std::size_t>& members,
                      std::vector<std::size_t>& out) {
  std::vector<losses> points;
  for (const auto i : members)
    points.push_back(x[i].values);
  const auto ranks = non_domination_ranks(points);
  std::map<std::size_t, std::vector<std::size_t>> fronts; // in `members`
  for (std::size_t i = 0; i < ranks.size(); ++i)
    fronts[ranks[i]].push_back(i);
  for (const auto& [rank, front] : fronts) {
    std::vector<losses> of_front;
    for (const auto i : front)
      of_front.push_back(points[i]);
    for (const auto i : epsilon_net(of_front))
      out.push_back(members[front[i]]);
  }
}

} // namespace

bool dominates(const losses& left, const losses& right) {
  bool is_better = false;
  for (std::size_t k = 0; k < left.size(); ++k) {
    if (left[k] > right[k])
      return false;
    is_better = is_better || left[k] < right[k];
  }
  return is_better;
}

bool dominates(const outcome& left, const outcome& right) {
  if (class_of(left) != class_of(right))
    return class_of(left) < class_of(right);
  return left.is_feasible() && dominates(left.values, right.values);
}

std::vector<std::size_t> non_domination_ranks(const std::vector<losses>& set) {
  std::vector<std::size_t> in_order(set.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  std::stable_sort(
    in_order.begin(), in_order.end(),
    [&](std::size_t a, std::size_t b) { return set[a] < set[b]; });
  std::vector<std::size_t> result(set.size());
  growing_fronts fronts{set};
  for (const auto i : in_order)
    result[i] = fronts.place(i);
  return result;
}

std::vector<std::size_t> epsilon_net(const std::vector<losses>& set) {
  std::vector<std::size_t> result;
  if (set.empty())
    return result;
  const auto ranges = ranges_of(set);
  constexpr double taken = -1;
  std::vector<double> distances(set.size(),
                                std::numeric_limits<double>::infinity());
  std::size_t next = 0;
  while (result.size() < set.size()) {
    result.push_back(next);
    distances[next] = taken;
    const auto last = next;
    double farthest = taken;
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (distances[i] == taken)
        continue;
      distances[i] =
        std::min(distances[i], squared_distance(set[i], set[last], ranges));
      if (distances[i] > farthest) {
        farthest = distances[i];
        next = i;
      }
    }
  }
  return result;
}

std::vector<std::size_t> best_first(const std::vector<outcome>& outcomes) {
  std::map<std::pair<bool, double>, std::vector<std::size_t>> classes;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    classes[class_of(outcomes[i])].push_back(i);
  std::vector<std::size_t> result;
  for (const auto& [kind, members] : classes) {
    if (kind.first) // NaN: there is nothing to tell them apart
      result.insert(result.end(), members.begin(), members.end());
    else
      append_by_fronts(outcomes, members, result);
  }
  return result;
}

std::vector<double> crowding_distances(const std::vector<losses>& set) {
  std::vector<double> result(set.size(), 0);
  if (set.empty())
    return result;
  const auto ranges = ranges_of(set);
  std::vector<std::size_t> in_order(set.size());
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    std::iota(in_order.begin(), in_order.end(), 0);
    std::stable_sort(
      in_order.begin(), in_order.end(),
      [&](std::size_t a, std::size_t b) { return set[a][k] < set[b][k]; });
    result[in_order.front()] = std::numeric_limits<double>::infinity();
    result[in_order.back()] = std::numeric_limits<double>::infinity();
    if (ranges[k] > 0)
      for (std::size_t i = 1; i + 1 < in_order.size(); ++i)
        result[in_order[i]] +=
          (set[in_order[i + 1]][k] - set[in_order[i - 1]][k]) / ranges[k];
  }
  return result;
}

} // namespace hippo
