#include "hippo/service/merge/settings_table.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace hippo {

void settings_table::add(const settings& chosen) {
  const auto i = index_of(chosen);
  if (i == distinct_.size())
    distinct_.push_back({chosen});
  by_study_.add(i);
  check_invariants();
}

const settings_table::settings&
settings_table::choose(
  const std::vector<study_no>& waiting,
  const std::function<bool(const settings&)>& is_spent) const {
  assert(!waiting.empty());
  const auto rank = [&](study_no x) {
    return std::tuple{is_spent && is_spent(of(x)),
                      distinct_[by_study_[x]].failed, x};
  };
  return of(*std::min_element(
    waiting.begin(), waiting.end(),
    [&](study_no x, study_no y) { return rank(x) < rank(y); }));
}

bool settings_table::is_of_any(const settings& chosen,
                               const std::vector<study_no>& studies) const {
  const auto i = index_of(chosen);
  return std::any_of(studies.begin(), studies.end(),
                     [&](study_no y) { return by_study_[y] == i; });
}

void settings_table::note_failure(const settings& chosen) {
  distinct_.at(index_of(chosen)).failed = ++failures_;
}

void settings_table::note_success(const settings& chosen) {
  distinct_.at(index_of(chosen)).failed = 0;
}

std::size_t settings_table::index_of(const settings& chosen) const {
  const auto i =
    std::find_if(distinct_.begin(), distinct_.end(),
                 [&](const entry& y) { return y.values == chosen; });
  return static_cast<std::size_t>(i - distinct_.begin());
}

void settings_table::check_invariants() const {
#ifndef NDEBUG
  assert(distinct_.size() <= by_study_.size());
  for (std::size_t i = 0; i < distinct_.size(); ++i) {
    assert(index_of(distinct_[i].values) == i);
    assert(distinct_[i].failed <= failures_);
  }
  for (auto x : by_study_)
    assert(x < distinct_.size());
#endif
}

} // namespace hippo
