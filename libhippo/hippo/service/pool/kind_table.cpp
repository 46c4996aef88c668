#include "hippo/service/pool/kind_table.hpp"

#include <cassert>

namespace hippo {

void kind_table::add(const std::string& kind, std::uint64_t memory_bytes) {
  auto& x = all_[kind];
  ++x.trainers;
  x.memory_bytes = memory_bytes;
}

void kind_table::remove(const std::string& kind) {
  auto& x = all_.at(kind);
  assert(x.trainers > 0);
  --x.trainers;
}

void kind_table::note_interruption(const std::string& kind) {
  ++all_.at(kind).interruptions;
}

void kind_table::advance(double seconds) {
  for (auto& [kind, x] : all_)
    x.seconds += seconds * static_cast<double>(x.trainers);
}

void kind_table::keep_only(const std::set<std::string>& kinds) {
  std::erase_if(all_, [&](const auto& kvp) {
    assert(kinds.contains(kvp.first) || kvp.second.trainers == 0);
    return !kinds.contains(kvp.first);
  });
}

std::set<std::string> kind_table::there() const {
  std::set<std::string> result;
  for (const auto& [kind, x] : all_)
    if (x.trainers > 0)
      result.insert(kind);
  return result;
}

double
kind_table::seconds_between_interruptions(const std::string& kind) const {
  const auto i = all_.find(kind);
  return i == all_.end() || i->second.interruptions == 0
           ? 0
           : i->second.seconds / static_cast<double>(i->second.interruptions);
}

} // namespace hippo
