#include "hippo/service/pool/pool_core.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

// Which merger a trainer goes to.

namespace hippo {

namespace {

/// What a merger gains by a kind that it is assigned to, others by 1: more than
/// any `advantage_gain_min`.
constexpr double assigned_gain = 2;

} // namespace

double
pool_core::seconds_between_interruptions(const std::string& kind) const {
  const auto i = kinds_.find(kind);
  return i == kinds_.end() || i->second.interruptions == 0
           ? 0
           : i->second.seconds / static_cast<double>(i->second.interruptions);
}

bool pool_core::could_use(const trainer_entry& x, std::size_t place) const {
  const auto merger = mergers_[place].id;
  return is_of_use(x, merger) && !x.is_resting(merger, shared_until_);
}

/// The merger that a trainer goes to, by shares as they are or will be: the one
/// whose turn it is, or one that gains more by the trainer's kind and is not
/// too far ahead of it.
std::optional<std::size_t>
pool_core::next_for(const trainer_entry& x, const fair_shares& shares) const {
  auto turns = shares;
  auto first = turns.next();
  for (; first && !could_use(x, *first); first = turns.next())
    turns.set_waiting(*first, false);
  if (!first || preferences_.empty())
    return first;
  const auto gain = [&](std::size_t place) {
    return preferences_.gains[place].at(x.record.device);
  };
  auto best = *first;
  const auto slack = preferences_.slack * shares.weight(*first);
  for (std::size_t i = 0; i < mergers_.size(); ++i)
    if (turns.waits(i) && shares.lag(*first, i) <= slack && could_use(x, i)
        && (gain(i) > gain(best)
            || (gain(i) == gain(best) && shares.lag(i, best) > 0)))
      best = i;
  return gain(best) > gain(*first) * advantage_gain_min ? best : first;
}

/// The kinds that are there, the weakest first: by how fast mergers train on
/// them, as far as they have told, then by memory.
std::vector<std::string> pool_core::kinds_by_strength() const {
  std::set<std::string> there;
  for (const auto& [kind, x] : kinds_)
    if (x.trainers > 0)
      there.insert(kind);
  std::vector<std::tuple<double, std::uint64_t, std::string>> all;
  for (const auto& kind : there) {
    double sum = 0;
    for (const auto& x : mergers_)
      sum += advantage(x.facts.speeds, kind, there);
    all.emplace_back(sum, kinds_.at(kind).memory_bytes, kind);
  }
  std::sort(all.begin(), all.end());
  std::vector<std::string> result;
  result.reserve(all.size());
  for (auto& x : all)
    result.push_back(std::move(std::get<2>(x)));
  return result;
}

/// By place, the kinds that a merger is assigned to by its complexity.
std::vector<std::set<std::string>> pool_core::assigned_kinds() const {
  std::vector<std::set<std::string>> result(mergers_.size());
  std::vector<std::size_t> places;
  std::vector<double> complexities;
  for (std::size_t i = 0; i < mergers_.size(); ++i)
    if (shares_.waits(i) || shares_.devices(i) > 0) {
      places.push_back(i);
      complexities.push_back(mergers_[i].facts.complexity);
    }
  const auto kinds = kinds_by_strength();
  if (places.empty() || kinds.empty())
    return result;
  const auto assigned = assign_in_order(places.size(), kinds.size());
  // The pool knows no results: nothing is more uncertain than another.
  const auto order = in_order(products_of_ranks(
    complexities, std::vector<double>(complexities.size(), 1)));
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const auto kind : assigned[i])
      result[places[order[i]]].insert(kinds[kind]);
  return result;
}

/// By place and kind, what a merger gains by a trainer of it.
std::vector<std::map<std::string, double>> pool_core::gains() const {
  std::set<std::string> there;
  for (const auto& [kind, x] : kinds_)
    if (x.trainers > 0)
      there.insert(kind);
  const bool by_speed = options_.placement == placement_rule::advantage;
  const auto assigned
    = by_speed ? std::vector<std::set<std::string>>(mergers_.size())
               : assigned_kinds();
  std::vector<std::map<std::string, double>> result(mergers_.size());
  for (std::size_t i = 0; i < mergers_.size(); ++i)
    for (const auto& [kind, x] : kinds_)
      result[i][kind] = by_speed
                          ? advantage(mergers_[i].facts.speeds, kind, there)
                        : assigned[i].count(kind) > 0 ? assigned_gain
                                                      : 1;
  return result;
}

/// Follows what mergers gain by kinds. There is nothing to choose, and all is
/// as the shares have it, unless there are several kinds and one merger gains
/// more by one of them than another does.
void pool_core::note_preferences() {
  preferences_ = {};
  const auto several = std::count_if(kinds_.begin(), kinds_.end(),
                                     [](const auto& x) {
                                       return x.second.trainers > 0;
                                     })
                       > 1;
  if (!several || options_.placement == placement_rule::fair)
    return;
  std::size_t trainers = 0;
  double weights = 0;
  auto all = gains();
  bool differ = false;
  for (const auto& [kind, x] : kinds_) {
    if (x.trainers == 0)
      continue;
    trainers += x.trainers;
    std::optional<double> least;
    double greatest = 0;
    for (std::size_t i = 0; i < mergers_.size(); ++i)
      if (shares_.waits(i) || shares_.devices(i) > 0) {
        least = std::min(least.value_or(all[i][kind]), all[i][kind]);
        greatest = std::max(greatest, all[i][kind]);
      }
    differ = differ || greatest > least.value_or(0) * advantage_gain_min;
  }
  if (!differ)
    return;
  for (std::size_t i = 0; i < mergers_.size(); ++i)
    if (shares_.waits(i) || shares_.devices(i) > 0)
      weights += shares_.weight(i);
  preferences_.gains = std::move(all);
  preferences_.slack = quanta_behind_in_pool_max * fair_shares::quantum_seconds
                       * static_cast<double>(trainers) / weights;
}

} // namespace hippo
