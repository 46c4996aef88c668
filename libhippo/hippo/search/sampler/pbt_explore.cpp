#include "hippo/search/sampler/pbt_explore.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "hippo/search/surrogate/counter_rng.hpp"

namespace hippo {

namespace {

constexpr double shrink = 0.8;
constexpr double grow = 1.2;

/// Moves to one of the neighbours. REQUIRES: there are at least two ways.
std::uint64_t neighbour(std::uint64_t decision, std::uint64_t ways, bool up) {
  if (decision == 0)
    return 1;
  if (decision == ways - 1)
    return decision - 1;
  return up ? decision + 1 : decision - 1;
}

} // namespace

sequence spliced(const sequence& before, const sequence& after, step_t at) {
  if (at == 0)
    return after;
  std::vector<piece> pieces;
  for (const auto& x : before.pieces())
    if (x.begin < at)
      pieces.push_back(x);
  pieces.push_back({at, after.form_at(at)});
  for (const auto& x : after.pieces())
    if (x.begin > at)
      pieces.push_back(x);
  return sequence{std::move(pieces)};
}

pbt_explore::pbt_explore(search_space space, std::uint64_t seed, bool shuffled,
                         double resample,
                         std::map<std::string, search_space> own_spaces)
  : space_(std::move(space)), seed_(seed), resample_(resample),
    own_spaces_(std::move(own_spaces)), order_(space_, seed, shuffled) {}

trial_parameters pbt_explore::draw(trial_no trial) {
  auto& x = members_[trial];
  x.taken.clear();
  auto result = decide(order_(trial), x.taken);
  x.sequences = result.sequences;
  if (!own_spaces_.empty())
    x.values = result.shown;
  return result;
}

trial_parameters pbt_explore::branch(const fork& fork) {
  const auto& parent = members_.at(fork.from);
  member made;
  trial_parameters values;
  if (own_spaces_.empty()) {
    const auto taken =
      changed([this](const leaf_decider& pick) { space_.walk(pick); },
              parent.taken, fork.trial);
    values =
      decide([&](const space_leaf& leaf) { return taken.at(leaf.path()); },
             made.taken);
  } else {
    made.taken = parent.taken;
    values = changed_alone(parent, fork.trial, made.changed);
    made.values = values.shown;
  }
  for (auto& [name, after] : values.sequences) {
    const auto before = parent.sequences.find(name);
    if (before != parent.sequences.end())
      after = spliced(before->second, after, fork.at);
  }
  values.shown["forked"] = {{"from", fork.from}, {"at", fork.at}};
  made.sequences = values.sequences;
  members_[fork.trial] = std::move(made);
  return values;
}

pbt_explore::decisions pbt_explore::changed(const walker& walk,
                                            const decisions& before,
                                            trial_no trial) const {
  decisions taken;
  std::vector<std::string> changeable; // leaves
  walk([&](const space_leaf& leaf) {
    auto& decision = taken[leaf.path()];
    const auto known = before.find(leaf.path());
    if (known == before.end()) { // comes with another alternative
      counter_rng draws{{seed_, trial}, leaf.path()};
      return decision = draws.decision(leaf.ways());
    }
    if (leaf.ways() != 1 && !leaf.brings())
      changeable.push_back(leaf.path());
    return decision = perturbed(leaf, known->second, trial);
  });
  if (taken != before || changeable.empty())
    return taken;
  counter_rng draws{{seed_, trial}, "change"};
  const auto other = changeable[draws.below(changeable.size())];
  taken.clear();
  walk([&](const space_leaf& leaf) {
    auto& decision = taken[leaf.path()];
    const auto known = before.find(leaf.path());
    const auto ways = leaf.ways();
    if (known == before.end())
      return decision = draws.decision(ways);
    if (leaf.path() != other)
      return decision = known->second;
    return decision = ways == 0
                        ? draws.decision(0)
                        : (known->second + 1 + draws.below(ways - 1)) % ways;
  });
  return taken;
}

trial_parameters pbt_explore::changed_alone(const member& parent,
                                            trial_no trial,
                                            decisions& changed_to) const {
  changed_to = changed(
    [&](const leaf_decider& pick) {
      for (const auto& [name, space] : own_spaces_)
        if (parent.values.contains(name))
          space.walk(pick);
    },
    parent.changed.empty() ? nearest(parent.values) : parent.changed, trial);
  auto given = nlohmann::ordered_json::object();
  for (const auto& [name, space] : own_spaces_)
    if (parent.values.contains(name))
      given.update(space
                     .decide([&](const space_leaf& leaf) {
                       return changed_to.at(leaf.path());
                     })
                     .shown);
  return space_.decide(
    [&](const space_leaf& leaf) { return parent.taken.at(leaf.path()); },
    given);
}

pbt_explore::decisions
pbt_explore::nearest(const nlohmann::ordered_json& values) const {
  decisions result;
  for (const auto& [name, space] : own_spaces_) {
    const auto value = values.find(name);
    if (value == values.end() || space.leaves() != 1)
      continue;
    std::optional<std::uint64_t> found;
    std::string path;
    const auto made = space.decide([&](const space_leaf& leaf) {
      path = leaf.path();
      found = leaf.nearest(*value);
      return found.value_or(0);
    });
    if (found && !made.shown.at(name).is_structured())
      result[path] = *found;
  }
  return result;
}

trial_parameters pbt_explore::decide(const leaf_decider& pick,
                                     decisions& taken) const {
  return space_.decide(
    [&](const space_leaf& leaf) { return taken[leaf.path()] = pick(leaf); });
}

std::uint64_t pbt_explore::perturbed(const space_leaf& leaf,
                                     std::uint64_t decision,
                                     trial_no trial) const {
  const auto ways = leaf.ways();
  if (ways == 1 || leaf.brings())
    return decision;
  counter_rng draws{{seed_, trial}, leaf.path()};
  if (draws.unit() < resample_)
    return draws.decision(leaf.ways());
  const bool up = draws.below(2) == 1;
  if (ways == 0)
    return leaf.scaled(decision, up ? grow : shrink);
  if (!leaf.is_choice() || leaf.is_ordered_choice())
    return neighbour(decision, ways, up);
  return decision;
}

} // namespace hippo
