#include "hippo/search/sampler/learning_sampler.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/search/sampler/permutation.hpp"

namespace hippo {

namespace {

/// The weight of the belief beside the worth that a model expects, once one
/// trial was drawn: piBO's beta.
constexpr double belief_weight = 10;

/// How a trial was chosen that lies where it was believed to be good.
constexpr auto believed_text = "prior";

/// As many trials, one after the other, lie in as many parts of each range.
constexpr std::uint64_t spread_trials = 5;

/// Draws for one trial that were all tried, before what is left is looked for.
constexpr std::uint64_t redraws_max = 100;

} // namespace

learning_sampler::learning_sampler(search_space space, std::uint64_t seed,
                                   step_t first, const untrained_work* work)
  : space_(std::move(space)), rounded_(space_), seed_(seed), first_(first),
    work_(work), order_(space_, seed, true) {}

void learning_sampler::believe(const std::vector<prior_belief>& prior) {
  for (const auto& x : prior)
    prior_.emplace(x.leaf, x);
}

void learning_sampler::follow(trial_no, const std::vector<tried_trial>& tried) {
  for (const auto& [trial, values] : tried) {
    entry x{combination_of(values), {}, 1};
    x.length = values_of(x.taken).length;
    enter(trial, std::move(x));
  }
}

void learning_sampler::enter(trial_no trial, entry made) {
  tried_.insert(made.taken);
  taken_[trial] = std::move(made);
  ++drawn_;
  on_drawn(trial);
}

trial_parameters learning_sampler::draw(trial_no trial) {
  entry x;
  auto known = restored_.extract(trial);
  auto before = known ? fitting(known.mapped()) : std::nullopt;
  if (before) {
    x = {std::move(*before), std::move(known.mapped().why), 1};
  } else if (const auto values = order_.given(trial)) {
    x.taken = combination_of(*values);
    x.why.how = "given";
  } else if (auto found = propose(trial)) {
    x.taken = std::move(found->taken);
    x.why.how = std::move(found->how);
    x.why.predicted = found->predicted;
  } else {
    x.why.how = "startup";
    x.taken = has_prior() ? unguided(trial, x.why.how) : random(trial);
  }
  auto result = values_of(x.taken);
  x.length = result.length;
  has_believed_ = has_believed_ || x.why.how == believed_text;
  if (!before && work_ != nullptr)
    x.why.untrained = untrained(result);
  enter(trial, std::move(x));
  return result;
}

std::optional<trial_parameters> learning_sampler::recall(trial_no trial) const {
  const auto* x = taken(trial);
  return x == nullptr ? std::nullopt : std::optional{values_of(*x)};
}

trial_parameters learning_sampler::branch(const fork&) {
  assert(false && "no algorithm with this sampler forks");
  return {};
}

void learning_sampler::lengthen(const search_space& space,
                                const std::vector<step_t>&) {
  space_ = space;
  rounded_ = rounded_leaves{space};
  order_.lengthen(space);
}

std::optional<trial_choice> learning_sampler::choice_of(trial_no trial) const {
  const auto i = taken_.find(trial);
  if (i == taken_.end())
    return std::nullopt;
  trial_choice result{i->second.why, {}};
  for (const auto& [leaf, decision] : i->second.taken)
    result.decisions.push_back(decision);
  return result;
}

void learning_sampler::restore(trial_no trial, trial_choice choice) {
  restored_.insert_or_assign(trial, std::move(choice));
}

void learning_sampler::learn(trial_no trial, const leaf_decisions& values,
                             step_t at, double value) {
  assert(trial >= past_trials_begin);
  // It is not among what was tried: it may well be trained here, too.
  if (auto [found, is_new] = taken_.try_emplace(trial); is_new) {
    auto& x = found->second;
    x.taken = combination_of(values);
    x.length = values_of(x.taken).length;
  }
  on_result(trial, at, value);
}

const learning_sampler::combination*
learning_sampler::taken(trial_no trial) const {
  const auto i = taken_.find(trial);
  return i == taken_.end() ? nullptr : &i->second.taken;
}

learning_sampler::leaf_no
learning_sampler::number_of(const space_leaf& leaf) {
  const auto found = leaves_.find(leaf.path());
  if (found != leaves_.end())
    return found->second;
  const auto number = static_cast<leaf_no>(leaves_.size());
  leaves_.emplace(leaf.path(), number);
  const auto known = prior_.find(leaf.path());
  beliefs_.push_back(known == prior_.end()
                       ? std::nullopt
                       : std::optional{belief{leaf, known->second}});
  return number;
}

leaf_decider learning_sampler::with_length(trial_no trial,
                                           leaf_decider pick) const {
  if (!has_lengths())
    return pick;
  return [pick = std::move(pick), seed = seed_,
          trial](const space_leaf& leaf) -> std::uint64_t {
    if (!leaf.is_length())
      return pick(leaf);
    counter_rng draws{{seed, trial, 0}, leaf.path()};
    return draws.decision(leaf.ways());
  };
}

step_t learning_sampler::length_for(trial_no trial) const {
  return space_.length(with_length(trial, {}));
}

learning_sampler::combination
learning_sampler::record(const leaf_decider& pick) {
  combination result;
  space_.walk([&](const space_leaf& leaf) {
    const auto decision = rounded_.standing_for(leaf, pick(leaf));
    result.emplace_back(number_of(leaf), decision);
    return decision;
  });
  return result;
}

learning_sampler::combination
learning_sampler::combination_of(const leaf_decisions& values) {
  auto next = values.begin();
  return record([&](const space_leaf&) { return *next++; });
}

trial_parameters learning_sampler::values_of(const combination& cross) const {
  auto next = cross.begin();
  return space_.decide([&](const space_leaf&) { return (next++)->second; });
}

std::optional<learning_sampler::combination>
learning_sampler::fitting(const trial_choice& choice) {
  std::size_t next = 0;
  bool fits = true;
  auto result = record([&](const space_leaf& leaf) -> std::uint64_t {
    const auto decision =
      next < choice.decisions.size() ? choice.decisions[next] : UINT64_MAX;
    ++next;
    const auto ways = leaf.ways();
    const bool is_one
      = ways == 0 ? decision <= space_leaf::high_end : decision < ways;
    fits = fits && is_one;
    return is_one ? decision : 0;
  });
  if (!fits || next != choice.decisions.size())
    return std::nullopt;
  return result;
}

learning_sampler::combination learning_sampler::spread(trial_no trial) {
  return record([&](const space_leaf& leaf) {
    counter_rng block{{seed_, trial / spread_trials}, leaf.path()};
    const permutation parts{spread_trials, block.next()};
    counter_rng within{{seed_, trial}, leaf.path()};
    const auto share
      = (static_cast<double>(parts(trial % spread_trials)) + within.unit())
        / static_cast<double>(spread_trials);
    const auto ways = leaf.ways();
    const auto most = ways == 0 ? space_leaf::high_end : ways - 1;
    return std::min(most, static_cast<std::uint64_t>(
                            share * static_cast<double>(most + 1)));
  });
}

learning_sampler::combination learning_sampler::random(trial_no trial) {
  const auto size = space_.size();
  if (!size) {
    auto result = spread(trial);
    for (std::uint64_t i = 0; i < redraws_max && was_tried(result); ++i)
      result = record([&](const space_leaf& leaf) {
        counter_rng draws{{seed_, trial, i}, leaf.path()};
        return draws.decision(leaf.ways());
      });
    if (was_tried(result))
      if (auto other = left_over())
        return *other;
    return result;
  }
  while (next_random_ < *size) {
    auto result = record(order_.at(next_random_++));
    if (!tried_.contains(result))
      return result;
  }
  return record(order_(trial)); // everything was tried
}

std::optional<learning_sampler::combination> learning_sampler::left_over() {
  // Of each leaf on the way the place of its value, and how many it has.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (;;) {
    std::size_t next = 0;
    auto result = record([&](const space_leaf& leaf) {
      const auto count = rounded_.values_of(leaf);
      if (next == places.size())
        places.emplace_back(0, count.value_or(1));
      const auto place = places[next++].first;
      return count ? rounded_.at(leaf, place) : space_leaf::high_end / 2;
    });
    if (!was_tried(result))
      return result;
    while (!places.empty() && places.back().first + 1 == places.back().second)
      places.pop_back();
    if (places.empty())
      return std::nullopt;
    ++places.back().first;
  }
}

learning_sampler::combination
learning_sampler::draw_believed(trial_no trial, std::uint64_t number) {
  return record(with_length(trial, [&](const space_leaf& leaf) {
    counter_rng draws{{seed_, trial, number}, leaf.path()};
    const auto& known = beliefs_[number_of(leaf)];
    return known ? known->draw(draws) : draws.decision(leaf.ways());
  }));
}

double learning_sampler::belief_in(const combination& cross) const {
  double sum = 0;
  for (const auto& [leaf, decision] : cross)
    if (const auto& known = beliefs_[leaf])
      sum += known->log_of(decision);
  return sum * belief_weight
         / static_cast<double>(std::max<std::uint64_t>(drawn_, 1));
}

learning_sampler::combination learning_sampler::unguided(trial_no trial,
                                                         std::string& how) {
  auto result = record(with_length(trial, [&](const space_leaf& leaf) {
    const auto& known = beliefs_[number_of(leaf)];
    counter_rng draws{{seed_, trial, 0}, leaf.path()};
    return known ? known->mode() : draws.decision(leaf.ways());
  }));
  if (has_believed_ || was_tried(result)) {
    if (drawn_ % 2 == 1)
      return random(trial);
    result = draw_believed(trial, 0);
  }
  if (was_tried(result))
    return random(trial);
  how = believed_text;
  return result;
}

} // namespace hippo
