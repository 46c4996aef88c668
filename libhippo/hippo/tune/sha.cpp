#include "hippo/tune/sha.hpp"

#include <algorithm>
#include <utility>

namespace hippo {

sha::sha(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
         direction better)
  : rungs_(std::move(rungs)),
    eta_(eta),
    trials_(trials, better),
    entered_(trials) {}

std::vector<action> sha::open(std::uint64_t trials) {
  return trials_.open(trials, rungs_[0]);
}

std::vector<action> sha::on_result(trial_no trial, step_t at, double value) {
  if (done() || at != rungs_[rung_] || !trials_.report(trial, value))
    return {};
  return proceed();
}

std::vector<action> sha::on_failure(trial_no trial) {
  if (!trials_.remove(trial) || done())
    return {};
  return proceed();
}

std::vector<action> sha::proceed() {
  std::vector<action> actions;
  if (!trials_.is_complete())
    return actions;
  if (++rung_ == rungs_.size())
    return actions;
  const auto ranking = trials_.take_ranking();
  const auto kept = std::min<std::uint64_t>(
    std::max<std::uint64_t>(1, entered_ / eta_), ranking.size());
  std::vector<trial_no> others;
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const auto trial = ranking[i].trial;
    if (i >= kept) {
      others.push_back(trial);
      continue;
    }
    trials_.train(trial); // best first: it is the likeliest to go far
    actions.emplace_back(advance{trial, rungs_[rung_]});
  }
  std::sort(others.begin(), others.end());
  for (auto trial : others) {
    trials_.remove(trial);
    actions.emplace_back(prune{trial});
  }
  entered_ = kept;
  if (kept == 0) // all failed
    rung_ = rungs_.size();
  return actions;
}

} // namespace hippo
