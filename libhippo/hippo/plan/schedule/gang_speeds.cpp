#include "hippo/plan/schedule/gang_speeds.hpp"

#include <bit>
#include <cassert>

namespace hippo {

namespace {

/// The weight that older measurements keep when a new one arrives.
constexpr double kept_share = 0.9;

} // namespace

void gang_speeds::learn(const std::string& kind, const std::string& speed_key,
                        unsigned members, double speedup) {
  assert(members > 1 && std::has_single_bit(members));
  assert(speedup > 0);
  for (auto* known :
       {&by_key_[{kind, speed_key}][members], &by_kind_[kind][members]}) {
    known->total = known->total * kept_share + speedup;
    known->weight = known->weight * kept_share + 1;
  }
}

double gang_speeds::at(const std::string& kind, const std::string& speed_key,
                       unsigned members) const {
  assert(std::has_single_bit(members));
  const auto key = by_key_.find({kind, speed_key});
  const auto all = by_kind_.find(kind);
  double above = 1; // what more members than were measured make it
  for (; members > 1; members /= 2, above *= doubling) {
    if (key != by_key_.end())
      if (const auto i = key->second.find(members); i != key->second.end())
        return above * i->second.total / i->second.weight;
    if (all != by_kind_.end())
      if (const auto i = all->second.find(members); i != all->second.end())
        return above * i->second.total / i->second.weight;
  }
  return above;
}

} // namespace hippo
