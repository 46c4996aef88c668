#include "gateway/connection_slots.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

std::optional<connection_slots::number>
connection_slots::oldest_silent() const {
  const auto most = std::ranges::max_element(
    parties_, {}, [](const auto& x) { return x.second.silent; });
  if (most == parties_.end() || most->second.silent == 0)
    return std::nullopt;
  for (const auto& [no, x] : all_)
    if (!x.is_spare && !x.has_greeted && x.party == most->first)
      return no;
  assert(false);
  return std::nullopt;
}

std::optional<connection_slots::number>
connection_slots::taken_from_the_largest(const std::string& party) const {
  const auto largest = std::ranges::max_element(
    parties_, {}, [](const auto& x) { return x.second.all; });
  if (largest == parties_.end())
    return std::nullopt;
  const auto own = parties_.find(party);
  const auto has = own == parties_.end() ? 0 : own->second.all;
  const bool is_less = has + 1 < largest->second.all;
  const auto& from = is_less ? largest->first : party;
  std::optional<number> idle, youngest;
  for (const auto& [no, x] : all_) {
    if (x.is_spare || x.party != from)
      continue;
    youngest = no;
    if (!x.is_busy && (!idle || x.moved < all_.at(*idle).moved))
      idle = no;
  }
  if (is_less)
    return idle ? idle : youngest;
  if (idle && now_ - all_.at(*idle).moved >= limits_.idle_beats)
    return idle;
  return std::nullopt;
}

connection_slots::decision connection_slots::open(number who,
                                                  const std::string& party) {
  assert(all_.empty() || who > all_.rbegin()->first);
  decision result;
  if (size() >= limits_.most) {
    result.let_go = oldest_silent();
    if (!result.let_go)
      result.let_go = taken_from_the_largest(party);
    result.is_spare = !result.let_go;
  }
  if (result.is_spare && spare_ >= limits_.spare)
    for (const auto& [no, x] : all_)
      if (x.is_spare) {
        result.let_go = no;
        break;
      }
  if (result.let_go)
    remove(all_.find(*result.let_go));
  all_.emplace(who, slot{party, result.is_spare, false, false, now_});
  if (result.is_spare) {
    ++spare_;
  } else {
    auto& of_party = parties_[party];
    ++of_party.all;
    ++of_party.silent;
  }
  check_invariants();
  return result;
}

void connection_slots::note_greeted(number who) {
  const auto i = all_.find(who);
  if (i == all_.end() || i->second.has_greeted)
    return;
  i->second.has_greeted = true;
  i->second.moved = now_;
  if (!i->second.is_spare)
    --parties_.at(i->second.party).silent;
  check_invariants();
}

void connection_slots::note_party(number who, const std::string& party) {
  const auto i = all_.find(who);
  if (i == all_.end() || i->second.party == party)
    return;
  auto moved = i->second;
  remove(i);
  moved.party = party;
  if (moved.is_spare) {
    ++spare_;
  } else {
    auto& to = parties_[party];
    ++to.all;
    to.silent += moved.has_greeted ? 0 : 1;
  }
  all_.emplace(who, std::move(moved));
  check_invariants();
}

void connection_slots::note_busy(number who, bool yes) {
  if (const auto i = all_.find(who); i != all_.end()) {
    i->second.is_busy = yes;
    i->second.moved = now_;
  }
}

void connection_slots::note_moved(number who) {
  if (const auto i = all_.find(who); i != all_.end())
    i->second.moved = now_;
}

void connection_slots::close(number who) {
  if (const auto i = all_.find(who); i != all_.end())
    remove(i);
  check_invariants();
}

void connection_slots::remove(std::map<number, slot>::iterator position) {
  if (position->second.is_spare) {
    --spare_;
  } else {
    const auto of = parties_.find(position->second.party);
    --of->second.all;
    of->second.silent -= position->second.has_greeted ? 0 : 1;
    if (of->second.all == 0)
      parties_.erase(of);
  }
  all_.erase(position);
}

void connection_slots::check_invariants() const {
#ifndef NDEBUG
  assert(size() <= limits_.most && spare_ <= limits_.spare);
  std::size_t all = 0;
  for (const auto& [name, x] : parties_) {
    assert(x.all > 0 && x.silent <= x.all);
    all += x.all;
  }
  assert(all == size());
#endif
}

} // namespace hippo
