#include "hippo/search/algorithm/sub_sampling.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace hippo {

void observed_rewards::add(double reward) {
  const bool is_good = std::isfinite(reward);
  sums_.push_back(sums_.back() + (is_good ? reward : 0));
  bad_.push_back(bad_.back() + (is_good ? 0 : 1));
}

double observed_rewards::mean_of(std::uint64_t begin, std::uint64_t end) const {
  assert(begin < end && end <= size());
  if (bad_[end] > bad_[begin])
    return -std::numeric_limits<double>::infinity();
  return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
}

double observed_rewards::least_mean(std::uint64_t length) const {
  auto result = mean_of(0, length);
  for (std::uint64_t begin = 1; begin + length <= size(); ++begin)
    result = std::min(result, mean_of(begin, begin + length));
  return result;
}

sub_sampling::sub_sampling(std::uint64_t trials, std::vector<step_t> rungs,
                           direction better)
  : trials_(trials),
    rungs_(std::move(rungs)),
    better_(better),
    awaited_(trials) {
  assert(!rungs_.empty());
}

std::vector<action> sub_sampling::open(std::uint64_t trials) {
  std::vector<action> result;
  for (auto trial = arms_.size(); trial < trials; ++trial)
    result.emplace_back(advance{trial, rungs_[0]});
  arms_.resize(trials);
  return result;
}

std::vector<action> sub_sampling::on_result(trial_no trial, step_t at,
                                            double value) {
  auto& x = arms_[trial];
  if (!x.is_training || at <= x.measured_at)
    return {};
  x.measured_at = at;
  x.rewards.add(better_ == direction::maximize ? value : -value);
  if (at != rungs_[x.rung])
    return {};
  x.is_training = false;
  --awaited_;
  return proceed();
}

std::vector<action> sub_sampling::on_failure(trial_no trial) {
  auto& x = arms_[trial];
  if (std::exchange(x.is_out, true))
    return {};
  if (!std::exchange(x.is_training, false))
    return {};
  failed_in_[trial] = round_;
  --awaited_;
  return proceed();
}

bool sub_sampling::take_back(trial_no trial) {
  // Who was awaited in a round that has ended is late for it.
  const auto in = failed_in_.extract(trial);
  if (!in || in.mapped() != round_)
    return false;
  auto& x = arms_[trial];
  x.is_out = false;
  x.is_training = true;
  ++awaited_;
  done_ = false;
  return true;
}

std::vector<action> sub_sampling::proceed() {
  std::vector<action> result;
  if (awaited_ > 0)
    return result;
  leader_ = find_leader();
  if (!leader_) { // all have failed: those of this round may be taken back
    done_ = true;
    return result;
  }
  ++round_;
  const auto& leader = arms_[*leader_];
  for (auto trial : better_than(leader))
    go_on(trial, result);
  if (result.empty() && leader.rung + 1 < rungs_.size())
    go_on(*leader_, result);
  if (!result.empty())
    return result;
  done_ = true;
  for (trial_no trial = 0; trial < arms_.size(); ++trial)
    if (const auto& x = arms_[trial];
        !x.is_out && x.rung + 1 < rungs_.size())
      result.emplace_back(prune{trial});
  return result;
}

std::optional<trial_no> sub_sampling::find_leader() const {
  std::optional<trial_no> result;
  const auto leads = [this](trial_no x, trial_no y) {
    const auto& a = arms_[x].rewards;
    const auto& b = arms_[y].rewards;
    if (a.size() != b.size())
      return a.size() > b.size();
    if (a.mean() != b.mean())
      return a.mean() > b.mean();
    return leader_ == x;
  };
  for (trial_no trial = 0; trial < arms_.size(); ++trial)
    if (!arms_[trial].is_out && (!result || leads(trial, *result)))
      result = trial;
  return result;
}

std::vector<trial_no> sub_sampling::better_than(const arm& leader) const {
  std::uint64_t observations = 0;
  for (const auto& x : arms_)
    observations += x.rewards.size();
  const auto enough = std::sqrt(std::log(static_cast<double>(observations)));
  std::map<std::uint64_t, double> bars; ///< by the number of observations
  std::vector<trial_no> result;
  for (trial_no trial = 0; trial < arms_.size(); ++trial) {
    const auto& x = arms_[trial];
    const auto own = x.rewards.size();
    if (x.is_out || own >= leader.rewards.size()
        || x.rung + 1 == rungs_.size())
      continue;
    if (static_cast<double>(own) >= enough) {
      const auto [bar, is_new] = bars.try_emplace(own, 0);
      if (is_new)
        bar->second = leader.rewards.least_mean(own);
      if (x.rewards.mean() < bar->second)
        continue;
    }
    result.push_back(trial);
  }
  return result;
}

void sub_sampling::go_on(trial_no trial, std::vector<action>& out) {
  auto& x = arms_[trial];
  assert(!x.is_out && !x.is_training);
  ++x.rung;
  x.is_training = true;
  ++awaited_;
  out.emplace_back(advance{trial, rungs_[x.rung]});
}

expected_work sub_sampling::to_come() const {
  expected_work result;
  if (done_)
    return result;
  result.steps = (trials_ - arms_.size()) * rungs_[0];
  std::vector<std::uint64_t> on_rung(rungs_.size(), 0);
  on_rung[0] = trials_ - arms_.size();
  for (const auto& x : arms_)
    if (!x.is_out)
      ++on_rung[x.rung];
  std::uint64_t trials = 0; // that go on from a rung
  for (std::size_t i = 0; i + 1 < rungs_.size(); ++i) {
    trials = (trials + on_rung[i]) / 2;
    if (trials == 0 && on_rung[i + 1] == 0)
      trials = 1;
    const auto hop = rungs_[i + 1] - rungs_[i];
    result.steps += trials * hop;
    if (trials > 0)
      result.longest += hop;
  }
  return result;
}

} // namespace hippo
