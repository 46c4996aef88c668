#include "hippo/service/pool/kind_gains.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace hippo {

namespace {

/// The gain of a merger by a kind that it is assigned to, by others 1: above
/// any `advantage_gain_min`.
constexpr double assigned_gain = 2;

/// The kinds that are there, the weakest first: by how fast mergers train on
/// them, as far as they have told, then by memory.
std::vector<std::string> kinds_by_strength(const demand_table& demands,
                                           const kind_table& kinds) {
  const auto there = kinds.there();
  std::vector<std::tuple<double, std::uint64_t, std::string>> all;
  for (const auto& kind : there) {
    double sum = 0;
    for (std::size_t i = 0; i < demands.size(); ++i)
      sum += advantage(demands[i].facts.speeds, kind, there);
    all.emplace_back(sum, kinds.all().at(kind).memory_bytes, kind);
  }
  std::sort(all.begin(), all.end());
  std::vector<std::string> result;
  result.reserve(all.size());
  for (auto& x : all)
    result.push_back(std::move(std::get<2>(x)));
  return result;
}

/// By place, the kinds that a merger is assigned to by its complexity.
std::vector<std::set<std::string>> assigned_kinds(const demand_table& demands,
                                                  const kind_table& kinds) {
  std::vector<std::set<std::string>> result(demands.size());
  std::vector<std::size_t> places;
  std::vector<double> complexities;
  for (std::size_t i = 0; i < demands.size(); ++i)
    if (demands.takes_part(i)) {
      places.push_back(i);
      complexities.push_back(demands[i].facts.complexity);
    }
  const auto strengths = kinds_by_strength(demands, kinds);
  if (places.empty() || strengths.empty())
    return result;
  const auto assigned = assign_in_order(places.size(), strengths.size());
  // The pool knows no results: nothing is more uncertain than another.
  const auto order = in_order(products_of_ranks(
    complexities, std::vector<double>(complexities.size(), 1)));
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const auto kind : assigned[i])
      result[places[order[i]]].insert(strengths[kind]);
  return result;
}

/// By place and kind, what a merger gains by a trainer of it.
std::vector<std::map<std::string, double>> gains_of(const demand_table& demands,
                                                    const kind_table& kinds,
                                                    placement_rule rule) {
  const auto there = kinds.there();
  const bool by_speed = rule == placement_rule::advantage;
  const auto assigned = by_speed
                          ? std::vector<std::set<std::string>>(demands.size())
                          : assigned_kinds(demands, kinds);
  std::vector<std::map<std::string, double>> result(demands.size());
  for (std::size_t i = 0; i < demands.size(); ++i)
    for (const auto& [kind, x] : kinds.all())
      result[i][kind] = by_speed
                          ? advantage(demands[i].facts.speeds, kind, there)
                        : assigned[i].count(kind) > 0 ? assigned_gain
                                                      : 1;
  return result;
}

} // namespace

kind_gains::kind_gains(const demand_table& demands, const kind_table& kinds,
                       placement_rule rule) {
  const auto several =
    std::count_if(kinds.all().begin(), kinds.all().end(),
                  [](const auto& x) { return x.second.trainers > 0; })
    > 1;
  if (!several || rule == placement_rule::fair)
    return;
  std::size_t trainers = 0;
  double weights = 0;
  auto all = gains_of(demands, kinds, rule);
  bool differ = false;
  for (const auto& [kind, x] : kinds.all()) {
    if (x.trainers == 0)
      continue;
    trainers += x.trainers;
    std::optional<double> least;
    double greatest = 0;
    for (std::size_t i = 0; i < demands.size(); ++i)
      if (demands.takes_part(i)) {
        least = std::min(least.value_or(all[i][kind]), all[i][kind]);
        greatest = std::max(greatest, all[i][kind]);
      }
    differ = differ || greatest > least.value_or(0) * advantage_gain_min;
  }
  if (!differ)
    return;
  for (std::size_t i = 0; i < demands.size(); ++i)
    if (demands.takes_part(i))
      weights += demands.shares().weight(i);
  all_ = std::move(all);
  slack_ = quanta_behind_in_pool_max * fair_shares::quantum_seconds
           * static_cast<double>(trainers) / weights;
}

} // namespace hippo
