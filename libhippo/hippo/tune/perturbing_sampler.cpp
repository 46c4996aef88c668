#include "hippo/tune/perturbing_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "hippo/tune/addressed_draws.hpp"

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

/// Multiplies the value of a continuous range, and keeps it there.
std::uint64_t scaled(const space_leaf& leaf, std::uint64_t decision,
                     double factor) {
  constexpr auto end = static_cast<double>(space_leaf::high_end);
  const auto share = static_cast<double>(decision) / end;
  const auto low = leaf.low(), high = leaf.high();
  const auto moved
    = leaf.is_logarithmic()
        ? share + std::log(factor) / std::log(high / low)
        : ((low + (high - low) * share) * factor - low) / (high - low);
  return static_cast<std::uint64_t>(
    std::llround(std::clamp(moved, 0.0, 1.0) * end));
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

perturbing_sampler::perturbing_sampler(search_space space, std::uint64_t seed,
                                       bool shuffled, double resample)
  : space_(std::move(space)),
    seed_(seed),
    resample_(resample),
    order_(space_, seed, shuffled) {}

trial_parameters perturbing_sampler::draw(trial_no trial) {
  auto& x = members_[trial];
  x.taken.clear();
  auto result = decide(order_(trial), x.taken);
  x.sequences = result.sequences;
  return result;
}

trial_parameters perturbing_sampler::branch(const fork& x) {
  const auto& parent = members_.at(x.from);
  decisions taken;
  std::vector<std::string> changeable; // leaves
  const auto perturb = [&](const space_leaf& leaf) {
    const auto before = parent.taken.find(leaf.path());
    if (before == parent.taken.end()) { // comes with another alternative
      addressed_draws draws{{seed_, x.trial}, leaf.path()};
      return draws.decision(leaf.ways());
    }
    if (leaf.ways() != 1 && !leaf.brings())
      changeable.push_back(leaf.path());
    return perturbed(leaf, before->second, x.trial);
  };
  auto values = decide(perturb, taken);
  if (taken == parent.taken && !changeable.empty()) {
    addressed_draws draws{{seed_, x.trial}, "change"};
    const auto changed = changeable[draws.below(changeable.size())];
    const auto change_one = [&](const space_leaf& leaf) {
      const auto before = parent.taken.find(leaf.path());
      if (before == parent.taken.end())
        return draws.decision(leaf.ways());
      const auto ways = leaf.ways();
      if (leaf.path() != changed)
        return before->second;
      return ways == 0 ? draws.decision(0)
                       : (before->second + 1 + draws.below(ways - 1)) % ways;
    };
    taken.clear();
    values = decide(change_one, taken);
  }
  for (auto& [name, after] : values.sequences) {
    const auto before = parent.sequences.find(name);
    if (before != parent.sequences.end())
      after = spliced(before->second, after, x.at);
  }
  values.shown["forked"] = {{"from", x.from}, {"at", x.at}};
  members_[x.trial] = {std::move(taken), values.sequences};
  return values;
}

trial_parameters perturbing_sampler::decide(const leaf_decider& pick,
                                            decisions& taken) const {
  return space_.decide([&](const space_leaf& leaf) {
    return taken[leaf.path()] = pick(leaf);
  });
}

std::uint64_t perturbing_sampler::perturbed(const space_leaf& leaf,
                                            std::uint64_t decision,
                                            trial_no trial) const {
  const auto ways = leaf.ways();
  if (ways == 1 || leaf.brings())
    return decision;
  addressed_draws draws{{seed_, trial}, leaf.path()};
  if (draws.unit() < resample_)
    return draws.decision(leaf.ways());
  const bool up = draws.below(2) == 1;
  if (ways == 0)
    return scaled(leaf, decision, up ? grow : shrink);
  if (!leaf.is_choice() || leaf.is_ordered_choice())
    return neighbour(decision, ways, up);
  return decision;
}

} // namespace hippo
