#include "hippo/search/algorithm/pbt.hpp"

#include <algorithm>

#include "hippo/search/surrogate/counter_rng.hpp"

namespace hippo {

std::vector<step_t> interval_steps(step_t interval, step_t max) {
  std::vector<step_t> result;
  for (auto at = interval; at < max; at += interval)
    result.push_back(at);
  result.push_back(max);
  return result;
}

pbt::pbt(std::uint64_t size, step_t max, step_t interval,
         std::uint64_t replaced, direction better, std::uint64_t seed)
  : size_(size), max_(max), interval_(interval), replaced_(replaced),
    seed_(seed), trials_(size, better), end_(std::min(interval, max)) {}

std::vector<step_t> pbt::rungs() const {
  return interval_steps(interval_, max_);
}

std::vector<action> pbt::open(std::uint64_t trials) {
  return trials_.open(trials, end_);
}

std::vector<action> pbt::on_result(trial_no trial, step_t at, double value) {
  // What a fork has in common with its parent lies before `end_`.
  if (done_ || at != end_ || !trials_.report(trial, value))
    return {};
  return proceed();
}

std::vector<action> pbt::on_failure(trial_no trial) {
  if (!trials_.remove(trial) || done_)
    return {};
  failed_in_[trial] = end_;
  return proceed();
}

bool pbt::take_back(trial_no trial) {
  // Who failed in a generation that has ended was replaced.
  const auto in = failed_in_.extract(trial);
  if (!in || in.mapped() != end_ || (done_ && trials_.reported() > 0))
    return false;
  trials_.train(trial);
  done_ = false;
  return true;
}

std::vector<action> pbt::proceed() {
  std::vector<action> actions;
  if (!trials_.is_complete())
    return actions;
  if (end_ == max_ || trials_.reported() == 0) {
    done_ = true;
    return actions;
  }
  const auto ranking = trials_.take_ranking();
  std::vector<trial_no> parents; // the best
  for (const auto& x : ranking)
    if (parents.size() < replaced_ && !x.is_nan)
      parents.push_back(x.trial);
  const auto missing = size_ - ranking.size();
  const auto worst =
    parents.empty() || missing >= replaced_ ? 0 : replaced_ - missing;
  const auto kept = ranking.size() - worst;
  begin_ = end_;
  end_ = max_ - begin_ > interval_ ? begin_ + interval_ : max_;
  for (std::size_t i = 0; i < kept; ++i) {
    trials_.train(ranking[i].trial);
    actions.emplace_back(advance{ranking[i].trial, end_});
  }
  for (std::size_t i = kept; i < ranking.size(); ++i) {
    trials_.remove(ranking[i].trial);
    actions.emplace_back(prune{ranking[i].trial});
    fork_from(parents, actions);
  }
  if (!parents.empty())
    for (std::uint64_t i = 0; i < missing; ++i)
      fork_from(parents, actions);
  return actions;
}

void pbt::fork_from(const std::vector<trial_no>& parents,
                    std::vector<action>& out) {
  const auto trial = trials_.add();
  counter_rng draws{{seed_, trial}, "parent"};
  out.emplace_back(fork{trial, parents[draws.below(parents.size())], begin_});
  out.emplace_back(advance{trial, end_});
}

} // namespace hippo
