#include "hippo/service/pool/need_table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

void need_table::add(merger_number merger, workload_need need) {
  std::erase_if(all_, [&](const auto& x) { return x.need.key == need.key; });
  all_.push_back({merger, std::move(need)});
}

void need_table::remove(merger_number merger) {
  std::erase_if(all_, [&](const auto& x) { return x.merger == merger; });
}

void need_table::rest(merger_number merger, moment until) {
  for (auto& x : all_)
    if (x.merger == merger)
      x.rests_until = until;
}

moment need_table::rests_until(merger_number merger) const {
  const auto i = std::ranges::find(all_, merger, &entry::merger);
  return i == all_.end() ? moment{} : i->rests_until;
}

const workload_need* need_table::find(merger_number merger) const {
  const auto i = std::find_if(all_.begin(), all_.end(), [&](const auto& x) {
    return x.merger == merger;
  });
  return i == all_.end() ? nullptr : &i->need;
}

std::optional<merger_number>
need_table::merger_of(const std::string& workload_key) const {
  const auto i = std::find_if(all_.begin(), all_.end(), [&](const auto& x) {
    return x.need.key == workload_key;
  });
  if (i == all_.end())
    return std::nullopt;
  return i->merger;
}

void need_table::check_invariants() const {
#ifndef NDEBUG
  for (std::size_t i = 0; i < all_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      assert(all_[i].need.key != all_[j].need.key);
#endif
}

} // namespace hippo
