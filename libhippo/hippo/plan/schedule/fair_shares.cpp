#include "hippo/plan/schedule/fair_shares.hpp"

#include <algorithm>
#include <cassert>

namespace hippo {

namespace {

/// What is left of parts of devices that were added and taken away.
constexpr double rounding = 1e-6;

} // namespace

bool fair_shares::entry::active() const {
  return waiting || devices > rounding;
}

fair_shares::party fair_shares::add(double weight) {
  assert(weight > 0);
  entry x;
  x.weight = weight;
  parties_.push_back(x);
  return parties_.size() - 1;
}

void fair_shares::remove(party peer) {
  assert(parties_[peer].devices < rounding);
  parties_.erase(parties_.begin() + static_cast<std::ptrdiff_t>(peer));
}

void fair_shares::set_weight(party peer, double weight) {
  assert(weight > 0);
  parties_[peer].weight = weight;
}

/// Where who begins to take part now does: at the least of those who do. If
/// nobody does, all that was is past, and even the farthest begins anew.
double fair_shares::virtual_time_now() const {
  std::optional<double> least;
  double greatest = 0;
  for (const auto& x : parties_) {
    greatest = std::max(greatest, x.virtual_time);
    if (x.active())
      least = std::min(least.value_or(x.virtual_time), x.virtual_time);
  }
  return least.value_or(greatest);
}

void fair_shares::set_waiting(party peer, bool waiting) {
  auto& changed = parties_[peer];
  if (waiting && !changed.active()) {
    changed.virtual_time = std::max(changed.virtual_time, virtual_time_now());
    changed.is_new = true;
  }
  changed.waiting = waiting;
}

void fair_shares::hold(party peer, double devices) {
  parties_[peer].devices += devices;
}

void fair_shares::charge(party peer, double seconds) {
  assert(seconds >= 0);
  parties_[peer].virtual_time += seconds / parties_[peer].weight;
}

void fair_shares::pass_turns() {
  const auto first = next();
  if (!first)
    return;
  for (auto& x : parties_)
    if (!x.waiting)
      x.virtual_time = std::max(x.virtual_time, parties_[*first].virtual_time);
}

void fair_shares::advance(double seconds) {
  for (auto& x : parties_) {
    const auto had = seconds * x.devices;
    x.seconds += had;
    x.is_new = x.is_new && had <= 0;
    x.virtual_time += had / x.weight;
  }
}

std::optional<fair_shares::party> fair_shares::next() const {
  std::optional<party> result;
  for (party i = 0; i < parties_.size(); ++i)
    if (parties_[i].waiting
        && (!result || parties_[i].turn() < parties_[*result].turn()))
      result = i;
  return result;
}

double fair_shares::lag(party peer, party other) const {
  return (parties_[other].turn() - parties_[peer].turn())
         * parties_[peer].weight;
}

} // namespace hippo
