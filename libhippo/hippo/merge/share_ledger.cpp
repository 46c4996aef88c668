#include "hippo/merge/share_ledger.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace hippo {

namespace {

/// What rounding may make of sums of parts.
[[maybe_unused]] constexpr double rounding = 1e-6;

} // namespace

void share_ledger::add_study(double weight, std::optional<double> budget) {
  assert(weight > 0 && std::isfinite(weight));
  shares_.add(weight);
  const auto x = taken_.add(0);
  if (budget)
    budgets_.emplace(x, *budget);
}

std::vector<study_no> share_ledger::take_spent() {
  std::vector<study_no> result;
  for (const auto& [x, budget] : budgets_)
    if (shares_.seconds(number_of(x)) >= budget)
      result.push_back(x);
  for (auto x : result)
    budgets_.erase(x);
  return result;
}

std::vector<std::pair<study_no, double>>
share_ledger::take_served(double least) {
  std::vector<std::pair<study_no, double>> result;
  for (auto x : taken_.ids()) {
    const auto had = shares_.seconds(number_of(x));
    if (const auto more = had - taken_[x]; more > 0 && more >= least) {
      result.emplace_back(x, more);
      taken_[x] = had;
    }
  }
  return result;
}

void share_ledger::set_weight(study_no x, double weight) {
  assert(number_of(x) < shares_.size());
  assert(weight > 0 && std::isfinite(weight));
  shares_.set_weight(number_of(x), weight);
}

void share_ledger::set_waiting(study_no x, bool waiting) {
  assert(number_of(x) < shares_.size());
  shares_.set_waiting(number_of(x), waiting);
}

void share_ledger::advance(moment now) {
  if (now <= advanced_to_)
    return;
  shares_.advance(seconds_between(advanced_to_, now));
  advanced_to_ = now;
}

void share_ledger::begin(lease_id x, trainer_id trainer,
                         const std::vector<study_no>& studies) {
  assert(leases_.count(x) == 0);
  shares_.pass_turns();
  leases_[x].trainer = trainer;
  by_trainer_[trainer].push_back(x);
  serve(x, studies);
  divide(trainer);
  check_invariants();
}

void share_ledger::serve(lease_id x, const std::vector<study_no>& studies) {
  assert(leases_.count(x) > 0);
  if (studies.empty())
    return;
  auto& lease = leases_.at(x);
  take_back(lease);
  double sum = 0;
  for (auto study : studies)
    sum += shares_.weight(number_of(study));
  assert(sum > 0);
  for (auto study : studies) {
    const auto part = lease.part * shares_.weight(number_of(study)) / sum;
    lease.beneficiaries.emplace_back(study, part);
    shares_.hold(number_of(study), part);
  }
}

void share_ledger::charge(lease_id x, double seconds) {
  assert(leases_.count(x) > 0);
  const auto& lease = leases_.at(x);
  for (const auto& [study, part] : lease.beneficiaries)
    shares_.charge(number_of(study), seconds * part / lease.part);
}

void share_ledger::end(lease_id x) {
  auto lease = leases_.extract(x);
  assert(lease);
  const auto trainer = lease.mapped().trainer;
  take_back(lease.mapped());
  auto& others = by_trainer_.at(trainer);
  std::erase(others, x);
  if (others.empty())
    by_trainer_.erase(trainer);
  else
    divide(trainer);
  check_invariants();
}

std::vector<study_no> share_ledger::beneficiaries(lease_id x) const {
  assert(leases_.count(x) > 0);
  std::vector<study_no> result;
  for (const auto& [study, part] : leases_.at(x).beneficiaries)
    result.push_back(study);
  return result;
}

fair_shares share_ledger::projected_without(lease_id x) const {
  assert(leases_.count(x) > 0);
  auto result = shares_;
  for (const auto& [study, part] : leases_.at(x).beneficiaries) {
    result.set_waiting(number_of(study), true);
    result.hold(number_of(study), -part);
  }
  return result;
}

void share_ledger::divide(trainer_id x) {
  const auto& leases = by_trainer_.at(x);
  assert(!leases.empty());
  const auto part = 1 / static_cast<double>(leases.size());
  for (auto id : leases) {
    auto& lease = leases_.at(id);
    for (auto& [study, held] : lease.beneficiaries) {
      const auto now = held / lease.part * part;
      shares_.hold(number_of(study), now - held);
      held = now;
    }
    lease.part = part;
  }
}

void share_ledger::take_back(entry& x) {
  for (const auto& [study, part] : std::exchange(x.beneficiaries, {}))
    shares_.hold(number_of(study), -part);
}

void share_ledger::check_invariants() const {
#ifndef NDEBUG
  assert(taken_.size() == shares_.size());
  for (auto x : taken_.ids())
    assert(taken_[x] <= shares_.seconds(number_of(x)) + rounding);
  // A full check is O(leases): of many leases a part of the calls makes it.
  constexpr std::size_t leases_checked_max = 64;
  if (leases_.size() > leases_checked_max)
    return;
  std::vector<double> held(shares_.size());
  std::size_t listed = 0;
  for (const auto& [trainer, leases] : by_trainer_) {
    double parts = 0;
    for (auto id : leases) {
      const auto& lease = leases_.at(id);
      assert(lease.trainer == trainer);
      assert(lease.part > 0);
      parts += lease.part;
      double own = 0;
      for (const auto& [study, part] : lease.beneficiaries) {
        assert(number_of(study) < shares_.size());
        held[number_of(study)] += part;
        own += part;
      }
      assert(lease.beneficiaries.empty()
             || std::abs(own - lease.part) < rounding);
    }
    assert(std::abs(parts - 1) < rounding);
    listed += leases.size();
  }
  assert(listed == leases_.size());
  for (fair_shares::party x = 0; x < shares_.size(); ++x)
    assert(std::abs(held[x] - shares_.devices(x)) < rounding);
#endif
}

} // namespace hippo
