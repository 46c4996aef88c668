#include "hippo/search/algorithm/hyperband.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <set>
#include <utility>

#include "hippo/search/algorithm/rungs.hpp"

namespace hippo {

std::vector<hyperband_bracket> hyperband_brackets(step_t min, step_t max,
                                                  std::uint64_t eta) {
  const auto rungs = rung_steps(min, max, eta);
  std::vector<std::uint64_t> powers{1}; // eta^s for s = 0, ..., s_max
  for (auto at = min; at <= max / eta; at *= eta)
    powers.push_back(powers.back() * eta);
  const auto count = powers.size(); // s_max + 1
  std::vector<hyperband_bracket> result;
  for (auto s = count; s-- > 0;)
    result.push_back(
      {(count * powers[s] + s) / (s + 1),
       {rungs.begin() + static_cast<std::ptrdiff_t>(count - 1 - s),
        rungs.end()}});
  return result;
}

hyperband::hyperband(std::uint64_t trials,
                     std::vector<hyperband_bracket> round, bool in_turn,
                     make_rule rule)
  : trials_(trials),
    round_(std::move(round)),
    in_turn_(in_turn),
    rule_(std::move(rule)) {}

std::vector<step_t> hyperband::rungs() const {
  std::set<step_t> result;
  std::uint64_t before = 0; // trials
  for (const auto& x : round_) {
    if (before >= trials_)
      break;
    result.insert(x.rungs.begin(), x.rungs.end());
    before += x.trials;
  }
  return {result.begin(), result.end()};
}

std::vector<action> hyperband::open(std::uint64_t trials) {
  while (opened_ < trials) {
    if (brackets_.empty() || opened_ == end_of(brackets_.back())) {
      const auto& next = round_[brackets_.size() % round_.size()];
      assert(next.trials > 0);
      const auto size = std::min(next.trials, trials_ - opened_);
      brackets_.push_back({opened_, rule_(size, next.rungs, opened_)});
    }
    auto& last = brackets_.back();
    opened_ = std::min(trials, end_of(last));
    for (auto& x : numbered(last, last.race->open(opened_ - last.first)))
      held_.push_back(x);
  }
  std::vector<action> out;
  proceed(out);
  return out;
}

std::vector<action> hyperband::on_result(trial_no trial, step_t at,
                                         double value) {
  const auto index = bracket_of(trial);
  if (!has_begun(index)) // so the trial cannot have been trained
    return {};
  auto& [first, race] = brackets_[index];
  const bool was_done = race->done();
  return take(index, was_done, race->on_result(trial - first, at, value));
}

std::vector<action> hyperband::on_failure(trial_no trial) {
  std::erase_if(held_, [&](const action& x) {
    return std::get<advance>(x).trial == trial;
  });
  const auto index = bracket_of(trial);
  auto& [first, race] = brackets_[index];
  const bool was_done = race->done();
  return take(index, was_done, race->on_failure(trial - first));
}

bool hyperband::take_back(trial_no trial) {
  auto& [first, race] = brackets_[bracket_of(trial)];
  const bool was_done = race->done();
  if (!race->take_back(trial - first))
    return false;
  ended_ -= was_done;
  return true;
}

std::size_t hyperband::bracket_of(trial_no trial) const {
  const auto after = std::upper_bound(
    brackets_.begin(), brackets_.end(), trial,
    [](trial_no x, const bracket& y) { return x < y.first; });
  return static_cast<std::size_t>(after - brackets_.begin()) - 1;
}

std::vector<action> hyperband::numbered(const bracket& x,
                                        std::vector<action> actions) {
  for (auto& y : actions)
    std::visit([&x](auto& z) { z.trial += x.first; }, y);
  return actions;
}

std::vector<action> hyperband::take(std::size_t index, bool was_done,
                                    std::vector<action> actions) {
  const auto& x = brackets_[index];
  auto out = numbered(x, std::move(actions));
  if (!was_done && x.race->done()) {
    ++ended_;
    proceed(out);
  }
  return out;
}

expected_work hyperband::to_come() const {
  expected_work result;
  const auto add = [&](const expected_work& x) {
    result.steps += x.steps;
    result.longest = in_turn_ ? result.longest + x.longest
                              : std::max(result.longest, x.longest);
  };
  for (const auto& x : brackets_)
    add(x.race->to_come());
  for (const auto& x : held_) { // of the trials that are open
    const auto& go = std::get<advance>(x);
    result.steps += go.to;
  }
  auto index = brackets_.size();
  for (auto trials = brackets_.empty() ? 0 : end_of(brackets_.back());
       trials < trials_; ++index) {
    const auto& next = round_[index % round_.size()];
    const auto size = std::min(next.trials, trials_ - trials);
    auto whole = rule_(size, next.rungs, trials)->to_come();
    whole.longest += next.rungs.front();
    add(whole);
    trials += size;
  }
  return result;
}

void hyperband::proceed(std::vector<action>& out) {
  while (turn_ < brackets_.size() && brackets_[turn_].race->done())
    ++turn_;
  const auto first_held
    = std::find_if(held_.begin(), held_.end(), [this](const action& x) {
        return !has_begun(bracket_of(std::get<advance>(x).trial));
      });
  out.insert(out.end(), held_.begin(), first_held);
  held_.erase(held_.begin(), first_held);
}

} // namespace hippo
