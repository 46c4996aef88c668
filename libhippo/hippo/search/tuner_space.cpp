// How a study takes another space.

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/space/new_space.hpp"

namespace hippo {

namespace {

/// The most spaces of a study: each keeps what has drawn its trials.
constexpr std::size_t spaces_max = 100;

/// About how much a sampler takes for a trial that it is told of, in bytes.
constexpr std::uint64_t tried_bytes = 256;

std::uint64_t combinations_of(const std::vector<tried_trial>& trials) {
  std::set<leaf_decisions> all;
  for (const auto& x : trials)
    all.insert(x.values);
  return all.size();
}

trial_parameters values_of(const search_space& space,
                           const leaf_decisions& decisions) {
  auto next = decisions.begin();
  return space.decide([&](const space_leaf&) { return *next++; });
}

} // namespace

const sampler& tuner::sampler_of(trial_no trial) const {
  const auto i = std::ranges::upper_bound(eras_, trial, {}, &era::end);
  return i == eras_.end() ? *sampler_ : *i->drawer;
}

void tuner::remind(trial_no trial) {
  if (auto known = restored_.extract(trial))
    sampler_->restore(trial, std::move(known.mapped()));
}

std::uint64_t tuner::own_trials() const {
  return trials() - era_begin_ - given_ + tried_before_;
}

std::vector<search_space> tuner::spaces() const {
  std::vector<search_space> result;
  for (const auto& x : eras_)
    result.push_back(x.space);
  result.push_back(space_);
  return result;
}

std::vector<trial_no> tuner::given_next() const {
  std::vector<trial_no> result;
  // They come next, one after the other.
  for (trial_no trial = added_.size(); trial < trials(); ++trial) {
    if (!is_given(trial))
      break;
    result.push_back(trial);
  }
  return result;
}

std::optional<error> tuner::refusal_of_space() const {
  if (eras_.size() + 1 >= spaces_max)
    return error{errc::invalid_argument,
                 "the study has had " + std::to_string(spaces_max)
                   + " spaces, and takes no more: submit a new study; steps "
                     "that are known are not trained again"};
  if (algorithm_->can_grow() || client())
    return std::nullopt;
  return error{errc::invalid_argument,
               "algorithm " + algorithm_name_
                 + " plans all of its trials at once, and takes no other space "
                   "while it runs: submit a new study; steps that are known "
                   "are not trained again"};
}

space_plan tuner::plan_space(
  study_spec changed, std::optional<std::uint64_t> whole,
  const std::vector<trial_no>& fresh,
  std::map<std::string, nlohmann::ordered_json> defaults) const {
  space_plan result;
  result.changed = std::move(changed);
  result.defaults = std::move(defaults);
  const auto& space = result.changed.space;
  const bool is_driven = static_cast<bool>(client());
  const trial_no next = added_.size();
  for (trial_no trial = 0; trial < next; ++trial) {
    if (!is_added(trial) || withdrawn_.contains(trial))
      continue;
    if (!is_driven && std::ranges::binary_search(fresh, trial)
        && !is_given(trial))
      result.withdrawn.push_back(trial);
    else if (auto values =
               decisions_for(space, parameters(trial).shown, result.defaults))
      result.tried.push_back({trial, std::move(*values)});
  }
  for (const auto& x : told_)
    if (auto values = decisions_for(space, values_of(space_, x.values).shown,
                                    result.defaults))
      result.past.push_back({std::move(*values), x.step, x.measured});
  result.trials = trials();
  if (is_driven)
    return result;
  const auto given = given_next().size();
  const auto size = space.size();
  const auto known = size ? combinations_of(result.tried) : result.tried.size();
  auto further = whole ? *whole - std::min<std::uint64_t>(known, *whole)
                       : result.withdrawn.size() + trials() - next - given;
  if (size)
    further = std::min(further, *size - std::min<std::uint64_t>(known, *size));
  result.trials = std::min(next + given + further, max_trials);
  // The algorithm knows of those that are open: they cannot be fewer.
  const auto opened = window_.opened();
  for (auto trial = result.trials; trial < opened; ++trial)
    result.withdrawn.push_back(trial);
  result.trials = std::max(result.trials, opened);
  return result;
}

void tuner::give_again(sampler& following, const space_plan& plan) {
  for (const auto trial : given_next()) {
    leaf_decisions values;
    if (!own_.contains(trial)) {
      auto before = values_of(space_, *sampler_->given(trial));
      if (auto now =
            decisions_for(plan.changed.space, before.shown, plan.defaults))
        values = std::move(*now);
      else
        own_.emplace(trial, own_trial{std::move(before), "given"});
    }
    following.give(trial, std::move(values));
    ++given_;
  }
}

turn tuner::set_space(const space_plan& plan, const search_settings& search,
                      const std::vector<trial_history>& histories) {
  assert(!refusal_of_space());
  const auto& space = plan.changed.space;
  const trial_no next = added_.size();
  auto following = make_sampler(
    plan.changed, search, {work_.get(), defaults_.values(), outcomes_.get()});
  following->follow(next, plan.tried);
  for (const auto& marks : lengthenings_)
    following->lengthen(space, marks);
  given_ = 0;
  give_again(*following, plan);
  for (const auto& x : histories) {
    for (const auto& result : x.results)
      following->on_result(x.trial, result.at, result.value);
    if (x.has_failed)
      following->on_failure(x.trial);
    if (x.is_removed)
      following->on_removal(x.trial);
  }
  eras_.push_back({next, std::exchange(space_, space),
                   std::exchange(sampler_, std::move(following))});
  era_begin_ = next;
  held_bytes_ += plan.tried.size() * tried_bytes;
  tried_before_ = combinations_of(plan.tried);
  past_.clear();
  told_.clear();
  learn(plan.past);
  turn out;
  // Trials that are on their way part where they did.
  auto branches = likely_branches();
  branches.insert(branches.end(), when_.branches.begin(), when_.branches.end());
  std::ranges::sort(branches);
  const auto repeated = std::ranges::unique(branches);
  branches.erase(repeated.begin(), repeated.end());
  if (branches != when_.branches) {
    when_.branches = std::move(branches);
    reroute_all(out);
  }
  if (client())
    return out;
  out.withdrawn = plan.withdrawn;
  for (const auto trial : plan.withdrawn) {
    withdrawn_.insert(trial);
    window_.settle(trial);
  }
  window_.resize(plan.trials);
  carry_out(algorithm_->withdraw(plan.withdrawn, plan.trials), out);
  open(out);
  return out;
}

} // namespace hippo
