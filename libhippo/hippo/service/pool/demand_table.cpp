#include "hippo/service/pool/demand_table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/service/pool/options.hpp"

namespace hippo {

void demand_table::set(pool_event::demanded event) {
  assert(event.weight > 0);
  auto place = place_of(event.merger);
  if (!place) {
    place = shares_.add(event.weight);
    all_.push_back({event.merger, 0, {}, {}, 0, {}});
    assert(*place + 1 == all_.size());
  }
  auto& known = all_[*place];
  known.wanted = event.trainers;
  known.kinds = std::move(event.kinds);
  known.facts = std::move(event.facts);
  known.helpers = event.helpers.trainers;
  known.helper_kinds = std::move(event.helpers.kinds);
  shares_.set_weight(*place, event.weight);
}

void demand_table::remove(std::size_t place) {
  shares_.remove(place);
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(place));
}

void demand_table::give(std::size_t place) {
  auto& x = all_[place];
  assert(x.wanted > 0);
  --x.wanted; // until the merger says how many are left
  shares_.hold(place, 1);
  shares_.set_waiting(place, x.wanted > 0);
}

void demand_table::give_helper(std::size_t place) {
  auto& x = all_[place];
  assert(x.helpers > 0);
  --x.helpers; // likewise
  shares_.hold(place, 1);
}

std::optional<std::size_t> demand_table::place_of(merger_number merger) const {
  const auto i = std::find_if(all_.begin(), all_.end(), [&](const auto& y) {
    return y.merger == merger;
  });
  if (i == all_.end())
    return std::nullopt;
  return static_cast<std::size_t>(i - all_.begin());
}

bool demand_table::is_contended() const {
  std::size_t holding = 0;
  for (std::size_t i = 0; i < all_.size(); ++i)
    holding += shares_.devices(i) > 0;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (shares_.waits(i) && holding > (shares_.devices(i) > 0 ? 1u : 0u))
      return true;
  return false;
}

std::uint64_t demand_table::waiting_leases() const {
  std::uint64_t result = 0;
  for (const auto& x : all_)
    result += std::min(x.wanted, waiting_leases_max);
  return result;
}

void demand_table::check_invariants() const {
#ifndef NDEBUG
  assert(shares_.size() == all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) {
    assert(shares_.weight(i) > 0);
    assert(place_of(all_[i].merger) == i);
  }
#endif
}

} // namespace hippo
