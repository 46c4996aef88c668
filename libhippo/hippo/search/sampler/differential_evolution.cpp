#include "hippo/search/sampler/differential_evolution.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hippo/search/surrogate/counter_rng.hpp"

namespace hippo {

namespace {

constexpr double mutation_factor = 0.5;       ///< F
constexpr double component_probability = 0.5; ///< Cr

/// How often a cross is made anew that was tried.
constexpr std::uint64_t crosses_max = 16;

/// Where in its bin a drawn decision may lie: so far from its ends that no
/// rounding takes it out of there.
constexpr std::uint64_t parts_of_bin = 1 << 16;

std::uint64_t decision_at(const space_leaf& leaf, double coordinate) {
  const auto ways = leaf.ways();
  if (ways == 0)
    return static_cast<std::uint64_t>(
      std::llround(coordinate * static_cast<double>(space_leaf::high_end)));
  return std::min(
    static_cast<std::uint64_t>(coordinate * static_cast<double>(ways)),
    ways - 1);
}

/// Returns a coordinate that stands for a decision.
double coordinate_at(const space_leaf& leaf, std::uint64_t decision,
                     counter_rng draws) {
  const auto ways = leaf.ways();
  if (ways == 0)
    return static_cast<double>(decision)
           / static_cast<double>(space_leaf::high_end);
  const auto within = (static_cast<double>(draws.below(parts_of_bin)) + 0.5)
                      / static_cast<double>(parts_of_bin);
  return (static_cast<double>(decision) + within) / static_cast<double>(ways);
}

} // namespace

differential_evolution::differential_evolution(search_space space,
                                               std::uint64_t seed)
  : space_(std::move(space)), seed_(seed), size_(space_.size()),
    order_(space_, seed, true) {}

trial_parameters differential_evolution::draw(trial_no trial) {
  return take(trial, random(trial));
}

trial_parameters differential_evolution::cross(const hippo::cross& cross) {
  assert(cross.parents.size() == 3);
  for (std::uint64_t attempt = 0; attempt < crosses_max; ++attempt) {
    auto made = offspring(cross, attempt);
    if (was_tried(made))
      continue;
    parents_[cross.trial] = cross.parents;
    return take(cross.trial, std::move(made));
  }
  return draw(cross.trial);
}

std::optional<trial_choice>
differential_evolution::choice_of(trial_no trial) const {
  const auto found = points_.find(trial);
  if (found == points_.end())
    return std::nullopt;
  trial_choice result;
  auto next = found->second.begin();
  space_.walk([&](const space_leaf& leaf) {
    result.decisions.push_back(decision_at(leaf, (next++)->second));
    return result.decisions.back();
  });
  result.why.how = order_.given(trial) ? "given" : "startup";
  if (const auto parents = parents_.find(trial); parents != parents_.end()) {
    std::string names;
    for (const auto x : parents->second)
      names += (names.empty() ? "" : ", ") + std::to_string(x);
    result.why.how = "cross of " + names;
  }
  return result;
}

std::optional<trial_parameters>
differential_evolution::recall(trial_no trial) const {
  const auto found = points_.find(trial);
  if (found == points_.end())
    return std::nullopt;
  auto next = found->second.begin();
  return space_.decide([&](const space_leaf& leaf) {
    return decision_at(leaf, (next++)->second);
  });
}

trial_parameters differential_evolution::branch(const fork&) {
  assert(false && "no algorithm with this sampler forks");
  return {};
}

trial_parameters differential_evolution::take(trial_no trial,
                                              individual member) {
  if (size_)
    tried_.insert(std::move(member.taken));
  points_[trial] = std::move(member.place);
  return *recall(trial);
}

differential_evolution::leaf_no
differential_evolution::number_of(const space_leaf& leaf) {
  return leaves_.try_emplace(leaf.path(), static_cast<leaf_no>(leaves_.size()))
    .first->second;
}

differential_evolution::individual differential_evolution::record(
  const std::function<double(const space_leaf&, leaf_no)>& coordinate) {
  individual result;
  space_.walk([&](const space_leaf& leaf) {
    const auto number = number_of(leaf);
    const auto place = coordinate(leaf, number);
    const auto decision = decision_at(leaf, place);
    result.place.emplace_back(number, place);
    result.taken.emplace_back(number, decision);
    return decision;
  });
  return result;
}

differential_evolution::individual
differential_evolution::in_order(trial_no trial, std::uint64_t index) {
  const auto decide = order_(index);
  return record([&](const space_leaf& leaf, leaf_no) {
    return coordinate_at(leaf, decide(leaf), {{seed_, trial}, leaf.path()});
  });
}

differential_evolution::individual
differential_evolution::random(trial_no trial) {
  while (size_ && next_random_ < *size_) {
    auto result = in_order(trial, next_random_++);
    if (!was_tried(result))
      return result;
  }
  return in_order(trial, trial);
}

double differential_evolution::coordinate_of(trial_no trial,
                                             const space_leaf& leaf,
                                             leaf_no number) const {
  for (const auto& [other, coordinate] : points_.at(trial))
    if (other == number)
      return coordinate;
  return counter_rng{{seed_, trial}, leaf.path()}.unit();
}

differential_evolution::individual
differential_evolution::offspring(const hippo::cross& cross,
                                  std::uint64_t attempt) {
  const auto mutated = [&](const space_leaf& leaf, leaf_no number,
                           counter_rng& draws) {
    const auto of = [&](std::size_t i) {
      return coordinate_of(cross.parents[i], leaf, number);
    };
    const auto result = of(0) + mutation_factor * (of(1) - of(2));
    return result >= 0 && result <= 1 ? result : draws.unit();
  };
  std::vector<leaf_no> changeable;
  bool has_changed = false;
  auto result = record([&](const space_leaf& leaf, leaf_no number) {
    counter_rng draws{{seed_, cross.trial, attempt}, leaf.path()};
    if (leaf.ways() != 1)
      changeable.push_back(number);
    if (draws.unit() >= component_probability)
      return coordinate_of(cross.target, leaf, number);
    has_changed = has_changed || leaf.ways() != 1;
    return mutated(leaf, number, draws);
  });
  if (has_changed || changeable.empty())
    return result;
  counter_rng draws{{seed_, cross.trial, attempt}, "change"};
  const auto changed = changeable[draws.below(changeable.size())];
  return record([&](const space_leaf& leaf, leaf_no number) {
    return number == changed ? mutated(leaf, number, draws)
                             : coordinate_of(cross.target, leaf, number);
  });
}

} // namespace hippo
