#include "hippo/search/pareto/hypervolume.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <utility>

namespace hippo {

namespace {

/// The area below a reference point that points of two values dominate.
class staircase {
public:
  staircase(double reference_x, double reference_y)
    : reference_x_(reference_x), reference_y_(reference_y) {}

  [[nodiscard]] double area() const { return area_; }

  /// O(log n), and for each point that the new one dominates.
  void add(double x, double y) {
    if (!(x < reference_x_ && y < reference_y_))
      return;
    auto next = steps_.upper_bound(x);
    if (next != steps_.begin() && std::prev(next)->second <= y)
      return; // dominated
    auto above = next == steps_.begin() ? reference_y_
                                        : std::prev(next)->second;
    // Of x, the step before holds too much if it is at x itself.
    if (next != steps_.begin() && std::prev(next)->first == x) {
      --next;
      above = next == steps_.begin() ? reference_y_ : std::prev(next)->second;
    }
    // What is there already, from x on, between y and `above`.
    double there = 0, from = x, height = above;
    while (next != steps_.end() && next->second >= y) {
      there += (next->first - from) * (above - height);
      from = next->first;
      height = next->second;
      next = steps_.erase(next);
    }
    const auto end = next == steps_.end() ? reference_x_ : next->first;
    there += (end - from) * (above - height);
    area_ += (end - x) * (above - y) - there;
    steps_.emplace(x, y);
  }

private:
  double reference_x_, reference_y_;
  double area_ = 0;
  std::map<double, double> steps_; ///< x grows, y falls
};

using points = std::vector<const losses*>;

bool is_below(const losses& x, const losses& reference) {
  for (std::size_t k = 0; k < reference.size(); ++k)
    if (!(x[k] < reference[k]))
      return false;
  return true;
}

void sort_by(points& x, std::size_t k) {
  std::stable_sort(x.begin(), x.end(), [k](const losses* a, const losses* b) {
    return (*a)[k] < (*b)[k];
  });
}

/// The volume of the first `count` values. REQUIRES: all are below.
double volume_of(points x, std::size_t count, const losses& reference) {
  if (x.empty())
    return 0;
  if (count == 1) {
    sort_by(x, 0);
    return reference[0] - x.front()->front();
  }
  const auto last = count - 1;
  sort_by(x, last);
  const auto slice_end = [&](std::size_t i) {
    return i + 1 < x.size() ? (*x[i + 1])[last] : reference[last];
  };
  double result = 0;
  if (count <= 3) {
    staircase below{reference[0], reference[1]};
    if (count == 2) {
      for (const auto* point : x)
        below.add((*point)[0], (*point)[1]);
      return below.area();
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      below.add((*x[i])[0], (*x[i])[1]);
      result += below.area() * (slice_end(i) - (*x[i])[last]);
    }
    return result;
  }
  points below; // none of which dominates another in the values before
  const auto covers = [last](const losses& a, const losses& b) {
    return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(last),
                      b.begin(), [](double p, double q) { return p <= q; });
  };
  double area = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto& point = *x[i];
    if (std::none_of(below.begin(), below.end(),
                     [&](const losses* y) { return covers(*y, point); })) {
      std::erase_if(below, [&](const losses* y) { return covers(point, *y); });
      below.push_back(&point);
      area = volume_of(below, last, reference);
    }
    result += area * (slice_end(i) - point[last]);
  }
  return result;
}

points all_below(const std::vector<losses>& x, const losses& reference) {
  points result;
  for (const auto& point : x)
    if (is_below(point, reference))
      result.push_back(&point);
  return result;
}

double with_one(points chosen, const losses& x, const losses& reference) {
  if (is_below(x, reference))
    chosen.push_back(&x);
  return volume_of(std::move(chosen), reference.size(), reference);
}

} // namespace

double hypervolume(const std::vector<losses>& set, const losses& reference) {
  assert(!reference.empty());
  return volume_of(all_below(set, reference), reference.size(), reference);
}

std::vector<double> hypervolume_contributions(const std::vector<losses>& set,
                                              const losses& reference) {
  const auto whole = hypervolume(set, reference);
  std::vector<double> result;
  for (const auto& point : set) {
    auto others = all_below(set, reference);
    std::erase(others, &point);
    const auto without
      = volume_of(std::move(others), reference.size(), reference);
    result.push_back(std::max(0.0, whole - without));
  }
  return result;
}

std::vector<std::size_t> most_hypervolume(const std::vector<losses>& set,
                                          std::size_t count,
                                          const losses& reference) {
  std::vector<std::size_t> result;
  std::vector<double> at_most; // what each adds: it was that once
  for (const auto& point : set)
    at_most.push_back(with_one({}, point, reference));
  std::vector<bool> taken(set.size());
  points chosen;
  double volume = 0;
  while (result.size() < std::min(count, set.size())) {
    // The greatest bound first, until one is known to be beyond all bounds.
    std::vector<bool> is_known(set.size());
    std::size_t best = 0;
    while (true) {
      best = set.size();
      for (std::size_t i = 0; i < set.size(); ++i)
        if (!taken[i] && (best == set.size() || at_most[i] > at_most[best]))
          best = i;
      if (is_known[best])
        break;
      at_most[best] = std::min(at_most[best],
                               with_one(chosen, set[best], reference) - volume);
      is_known[best] = true;
    }
    taken[best] = true;
    result.push_back(best);
    if (is_below(set[best], reference))
      chosen.push_back(&set[best]);
    volume = volume_of(chosen, reference.size(), reference);
  }
  return result;
}

losses reference_beyond(const std::vector<losses>& set) {
  constexpr double least = 1e-12; // beyond a worst value of 0
  auto result = set.front();
  for (const auto& point : set)
    for (std::size_t k = 0; k < point.size(); ++k)
      result[k] = std::max(result[k], point[k]);
  for (auto& value : result)
    value = value == 0 ? least : std::max(1.1 * value, 0.9 * value);
  return result;
}

} // namespace hippo
