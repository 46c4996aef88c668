#include "hippo/service/merge/share_ledger.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace hippo {

namespace {

/// What rounding may make of sums of parts.
constexpr double rounding = 1e-6;

} // namespace

void share_ledger::add_study(double weight, std::optional<double> seconds,
                             std::optional<double> cost) {
  assert(weight > 0 && std::isfinite(weight));
  shares_.add(weight);
  const auto x = books_.add({});
  if (seconds)
    budgets_.push_back({x, study_limit::device_time, *seconds});
  if (cost)
    budgets_.push_back({x, study_limit::cost, *cost});
}

std::vector<spent_study> share_ledger::take_spent() {
  std::vector<spent_study> result;
  std::erase_if(budgets_, [&](const budget& x) {
    const auto had = x.what == study_limit::cost
                       ? books_[x.study].cost
                       : shares_.seconds(number_of(x.study));
    if (had < x.most)
      return false;
    auto& known = books_[x.study];
    result.push_back({x.study, x.what, known.raises});
    known.is_due = true;
    spent_.push_back(x);
    return true;
  });
  return result;
}

void share_ledger::raise(study_no study, double seconds, double cost) {
  assert(seconds >= 0 && cost >= 0);
  ++books_[study].raises;
  for (const auto& [what, more] : {std::pair{study_limit::device_time, seconds},
                                   {study_limit::cost, cost}}) {
    if (more == 0)
      continue;
    const auto is_raised = [study, what = what](const budget& x) {
      return x.study == study && x.what == what;
    };
    auto known = std::find_if(budgets_.begin(), budgets_.end(), is_raised);
    if (known == budgets_.end()) {
      const auto had = std::find_if(spent_.begin(), spent_.end(), is_raised);
      assert(had != spent_.end());
      known = budgets_.insert(budgets_.end(), *had);
      spent_.erase(had);
    }
    known->most += more;
  }
}

std::vector<served_study> share_ledger::take_served(double least) {
  std::vector<served_study> result;
  for (auto x : books_.ids()) {
    auto& known = books_[x];
    const auto had = shares_.seconds(number_of(x));
    const auto more = had - known.taken_seconds;
    if (more <= 0 || (more < least && !known.is_due))
      continue;
    known.is_due = false;
    known.taken_seconds = had;
    result.push_back(
      {x, more, known.cost - std::exchange(known.taken_cost, known.cost)});
  }
  return result;
}

void share_ledger::set_weight(study_no study, double weight) {
  assert(number_of(study) < shares_.size());
  assert(weight > 0 && std::isfinite(weight));
  shares_.set_weight(number_of(study), weight);
}

void share_ledger::set_waiting(study_no study, bool waiting) {
  assert(number_of(study) < shares_.size());
  shares_.set_waiting(number_of(study), waiting);
}

void share_ledger::advance(moment now) {
  if (now <= advanced_to_)
    return;
  const auto seconds = seconds_between(advanced_to_, now);
  shares_.advance(seconds);
  for (auto x : books_.ids())
    books_[x].cost += seconds * books_[x].rate;
  advanced_to_ = now;
}

void share_ledger::begin(lease_id lease_number, trainer_id trainer,
                         const std::vector<study_no>& studies) {
  assert(leases_.count(lease_number) == 0);
  shares_.pass_turns();
  constexpr double hour = 3600;
  const auto price = prices_.find(trainer);
  auto& lease = leases_[lease_number];
  lease.trainer = trainer;
  lease.price = price == prices_.end() ? 0 : price->second / hour;
  by_trainer_[trainer].push_back(lease_number);
  serve(lease_number, studies);
  divide(trainer);
  check_invariants();
}

void share_ledger::serve(lease_id lease_number,
                         const std::vector<study_no>& studies) {
  assert(leases_.count(lease_number) > 0);
  if (studies.empty())
    return;
  auto& lease = leases_.at(lease_number);
  take_back(lease);
  double sum = 0;
  for (auto study : studies)
    sum += shares_.weight(number_of(study));
  assert(sum > 0);
  for (auto study : studies) {
    const auto part = lease.part * shares_.weight(number_of(study)) / sum;
    lease.beneficiaries.emplace_back(study, part);
    hold(lease, study, part);
  }
}

void share_ledger::charge(lease_id lease_number, double seconds) {
  assert(leases_.count(lease_number) > 0);
  const auto& lease = leases_.at(lease_number);
  for (const auto& [study, part] : lease.beneficiaries)
    shares_.charge(number_of(study), seconds * part / lease.part);
}

void share_ledger::end(lease_id lease_number) {
  auto lease = leases_.extract(lease_number);
  assert(lease);
  const auto trainer = lease.mapped().trainer;
  take_back(lease.mapped());
  auto& others = by_trainer_.at(trainer);
  std::erase(others, lease_number);
  if (others.empty())
    by_trainer_.erase(trainer);
  else
    divide(trainer);
  check_invariants();
}

std::vector<study_no> share_ledger::beneficiaries(lease_id lease) const {
  assert(leases_.count(lease) > 0);
  std::vector<study_no> result;
  for (const auto& [study, part] : leases_.at(lease).beneficiaries)
    result.push_back(study);
  return result;
}

fair_shares share_ledger::projected_without(lease_id lease) const {
  assert(leases_.count(lease) > 0);
  auto result = shares_;
  for (const auto& [study, part] : leases_.at(lease).beneficiaries) {
    result.set_waiting(number_of(study), true);
    result.hold(number_of(study), -part);
  }
  return result;
}

void share_ledger::divide(trainer_id trainer) {
  const auto& leases = by_trainer_.at(trainer);
  assert(!leases.empty());
  const auto part = 1 / static_cast<double>(leases.size());
  for (auto id : leases) {
    auto& lease = leases_.at(id);
    for (auto& [study, held] : lease.beneficiaries) {
      const auto now = held / lease.part * part;
      hold(lease, study, now - held);
      held = now;
    }
    lease.part = part;
  }
}

void share_ledger::take_back(entry& place) {
  for (const auto& [study, part] : std::exchange(place.beneficiaries, {}))
    hold(place, study, -part);
}

void share_ledger::hold(const entry& place, study_no study, double part) {
  shares_.hold(number_of(study), part);
  auto& rate = books_[study].rate;
  rate += part * place.price;
  if (shares_.devices(number_of(study)) < rounding)
    rate = 0; // of what rounding leaves nothing is to be paid
}

void share_ledger::check_invariants() const {
#ifndef NDEBUG
  assert(books_.size() == shares_.size());
  for (auto x : books_.ids()) {
    assert(books_[x].taken_seconds <= shares_.seconds(number_of(x)) + rounding);
    assert(books_[x].taken_cost <= books_[x].cost + rounding);
  }
  // A full check is O(leases): of many leases a part of the calls makes it.
  constexpr std::size_t leases_checked_max = 64;
  if (leases_.size() > leases_checked_max)
    return;
  std::vector<double> held(shares_.size());
  std::vector<double> rates(shares_.size());
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
        rates[number_of(study)] += part * lease.price;
        own += part;
      }
      assert(lease.beneficiaries.empty()
             || std::abs(own - lease.part) < rounding);
    }
    assert(std::abs(parts - 1) < rounding);
    listed += leases.size();
  }
  assert(listed == leases_.size());
  for (auto x : books_.ids()) {
    const auto i = number_of(x);
    assert(std::abs(held[i] - shares_.devices(i)) < rounding);
    assert(std::abs(rates[i] - books_[x].rate) < rounding);
  }
#endif
}

} // namespace hippo
