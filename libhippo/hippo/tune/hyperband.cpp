#include "hippo/tune/hyperband.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <set>
#include <utility>

#include "hippo/tune/rungs.hpp"

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
                     const std::vector<hyperband_bracket>& round,
                     std::uint64_t eta, direction better, bool in_turn)
  : trials_(trials), in_turn_(in_turn) {
  std::set<step_t> rungs;
  for (trial_no first = 0; first < trials;) {
    const auto& next = round[brackets_.size() % round.size()];
    assert(next.trials > 0);
    const auto size = std::min(next.trials, trials - first);
    brackets_.push_back({first, {size, next.rungs, eta, better}});
    rungs.insert(next.rungs.begin(), next.rungs.end());
    first += size;
  }
  rungs_.assign(rungs.begin(), rungs.end());
}

std::vector<action> hyperband::start() {
  std::vector<action> out;
  started_ = true;
  proceed(out);
  return out;
}

std::vector<action> hyperband::on_result(trial_no trial, step_t at,
                                         double value) {
  const auto index = bracket_of(trial);
  if (index >= next_) // not started: the trial cannot have been trained
    return {};
  auto& [first, halving] = brackets_[index];
  const bool was_done = halving.done();
  return take(index, was_done, halving.on_result(trial - first, at, value));
}

std::vector<action> hyperband::on_failure(trial_no trial) {
  const auto index = bracket_of(trial);
  auto& [first, halving] = brackets_[index];
  const bool was_done = halving.done();
  return take(index, was_done, halving.on_failure(trial - first));
}

std::size_t hyperband::bracket_of(trial_no trial) const {
  const auto after = std::upper_bound(
    brackets_.begin(), brackets_.end(), trial,
    [](trial_no x, const bracket& y) { return x < y.first; });
  return static_cast<std::size_t>(after - brackets_.begin()) - 1;
}

std::vector<action> hyperband::take(std::size_t index, bool was_done,
                                    std::vector<action> actions) {
  for (auto& x : actions)
    std::visit([&](auto& y) { y.trial += brackets_[index].first; }, x);
  if (!was_done && brackets_[index].halving.done()) {
    ++ended_;
    if (started_)
      proceed(actions);
  }
  return actions;
}

void hyperband::proceed(std::vector<action>& out) {
  // In turn, one is started once all before it have ended. One whose trials
  // were all cancelled before has ended without a start.
  while (next_ < brackets_.size()) {
    if (in_turn_ && next_ > 0 && !brackets_[next_ - 1].halving.done())
      return;
    const auto index = next_++;
    auto actions = brackets_[index].halving.start();
    for (auto& x : actions)
      std::visit([&](auto& y) { y.trial += brackets_[index].first; }, x);
    out.insert(out.end(), actions.begin(), actions.end());
  }
}

} // namespace hippo
