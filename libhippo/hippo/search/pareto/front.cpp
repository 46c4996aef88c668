#include "hippo/search/pareto/front.hpp"

#include <algorithm>
#include <utility>

#include "hippo/search/pareto/dominance.hpp"
#include "hippo/search/pareto/hypervolume.hpp"

namespace hippo {

namespace {

auto place_of(const front_point& x) {
  return std::pair{x.trial, x.step};
}

} // namespace

bool front::add(trial_no trial, step_t step, const outcome& ended,
                bool is_first) {
  if (is_first && !ended.is_nan) {
    volume_.reset();
    if (reference_.empty())
      reference_ = ended.values;
    for (std::size_t k = 0; k < reference_.size(); ++k)
      reference_[k] = std::max(reference_[k], ended.values[k]);
  }
  if (!ended.is_feasible())
    return false;
  front_point point{trial, step, ended.values};
  for (const auto& y : points_)
    if (dominates(y.values, ended.values)
        || (y.values == ended.values && place_of(y) <= place_of(point)))
      return false;
  std::erase_if(points_, [&](const front_point& y) {
    return y.values == ended.values || dominates(ended.values, y.values);
  });
  points_.insert(std::lower_bound(points_.begin(), points_.end(), point,
                                  [](const auto& a, const auto& b) {
                                    return place_of(a) < place_of(b);
                                  }),
                 std::move(point));
  ++changes_;
  volume_.reset();
  return true;
}

void front::clear() {
  points_.clear();
  reference_.clear();
  volume_.reset();
  ++changes_;
}

std::optional<double> front::volume() const {
  if (reference_.empty())
    return std::nullopt;
  if (!volume_) {
    std::vector<losses> values;
    for (const auto& x : points_)
      values.push_back(x.values);
    volume_ = hypervolume(values, reference_);
  }
  return volume_;
}

} // namespace hippo
