#include "hippo/service/merge/study_table.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace hippo {

study_no study_table::add(const study_registration& registration) {
  studies_.add(entry{registration.id, registration.paused, cold_});
  const auto result = plan_.add_study(registration.when);
  assert(number_of(result) + 1 == studies_.size());
  return result;
}

std::optional<error> study_table::check(const entry& study,
                                        const study_orders& orders) const {
  std::set<trial_no> added;
  const auto is_known = [&](trial_no no) {
    return added.count(no) > 0
           || (no < study.trials.size() && study.trials[no] != no_trial);
  };
  const auto unknown = [](trial_no no) {
    return error{errc::invalid_argument,
                 "there is no trial " + std::to_string(no)};
  };
  for (const auto& y : orders.added) {
    if (y.segments.empty())
      return error{errc::invalid_argument,
                   "trial " + std::to_string(y.no) + " has no values"};
    if (y.fork_of && !is_known(*y.fork_of))
      return unknown(*y.fork_of);
    if (is_known(y.no))
      return error{errc::invalid_argument,
                   "there is a trial " + std::to_string(y.no) + " already"};
    added.insert(y.no);
  }
  for (const auto& y : orders.rerouted)
    if (!is_known(y.no))
      return unknown(y.no);
  for (auto no : orders.dropped)
    if (!is_known(no))
      return unknown(no);
  for (const auto& y : orders.asked)
    if (!is_known(y.no))
      return unknown(y.no);
  if (orders.acked > study.sent)
    return error{errc::invalid_argument,
                 "it has acknowledged " + std::to_string(orders.acked) + " of "
                   + std::to_string(study.sent) + " messages"};
  return std::nullopt;
}

std::optional<error> study_table::apply(study_no no, const study_orders& orders,
                                        bool merge) {
  assert(has(no));
  auto& study = studies_[no];
  if (auto why = check(study, orders))
    return why;
  study.wants_capacity = orders.wants_capacity;
  study.acked = orders.acked;
  for (const auto& y : orders.added) {
    if (y.no >= study.trials.size())
      study.trials.resize(y.no + 1, no_trial);
    study.trials[y.no] = plan_.add_trial(
      no, y.segments, strand_for(study, y, merge), y.responsive);
    [[maybe_unused]] const auto id = number_in_study_.add(y.no);
    assert(study.trials[y.no] == id);
  }
  for (const auto& y : orders.rerouted)
    plan_.reroute(study.trials[y.no], y.segments);
  for (auto trial : orders.dropped)
    plan_.drop(study.trials[trial]);
  for (const auto& y : orders.asked)
    request(study, y);
  check_invariants();
  return std::nullopt;
}

/// The strand of a trial: with merging off each has its own, the same after a
/// restart, but a fork is in that of the trial it comes from.
std::uint64_t study_table::strand_for(const entry& study,
                                      const study_orders::trial& trial_number,
                                      bool merge) const {
  if (merge)
    return 0;
  return trial_number.fork_of
           ? plan_.strand_of(study.trials[*trial_number.fork_of])
           : number_of(study.id) * strands_per_study + trial_number.no + 1;
}

void study_table::request(entry& study, const study_orders::request& request) {
  const auto trial = study.trials[request.no];
  assert(trial != no_trial);
  if (request.again) {
    plan_.retry(trial);
    if (!study.paused) // else it goes on with the others
      plan_.go_on(trial);
  }
  if (request.known_to > 0)
    plan_.recall(trial, request.known_to, request.known_shared);
  if (request.is_over) {
    plan_.cover(trial, request.to);
    plan_.drop(trial);
  } else if (study.paused) {
    study.deferred.push_back({request.no, request.to, 0, false});
  } else {
    plan_.ask(trial, request.to);
  }
}

void study_table::wait_for_running_only(entry& study) {
  assert(study.paused);
  study.running.clear();
  for (auto trial : study.trials)
    if (trial != no_trial)
      if (const auto to = plan_.suspend(trial))
        study.running[trial] = to;
  study.is_told_quiesced = false;
}

void study_table::set_paused(study_no no, bool paused) {
  assert(has(no));
  auto& study = studies_[no];
  if (std::exchange(study.paused, paused) == paused) {
    // A study that is to stop may have been paused before, and asks once more.
    study.is_told_quiesced = false;
    return;
  }
  if (paused) {
    wait_for_running_only(study);
    return;
  }
  study.running.clear();
  for (auto trial : study.trials)
    if (trial != no_trial)
      plan_.go_on(trial);
  for (const auto& x : std::exchange(study.deferred, {}))
    request(study, x);
  check_invariants();
}

void study_table::leave(study_no no) {
  assert(has(no) && !has_left(no));
  auto& study = studies_[no];
  for (auto trial : study.trials)
    if (trial != no_trial)
      plan_.drop(trial);
  study.trials.clear();
  study.trials.shrink_to_fit();
  study.running.clear();
  study.deferred.clear();
  study.paused = study.wants_capacity = false;
  study.has_left = true;
  check_invariants();
}

void study_table::follow_ended_lease() {
  for (auto& x : studies_)
    if (x.paused && !x.running.empty())
      wait_for_running_only(x);
}

std::map<study_no, study_news> study_table::take_news() {
  std::map<study_no, study_news> result;
  const auto add = [&](trial_id trial, step_t at, study_input what) {
    const auto no = plan_.study_of(trial);
    auto& study = studies_[no];
    if (const auto i = study.running.find(trial);
        i != study.running.end()
        && (at >= i->second || std::holds_alternative<trial_failed>(what)))
      study.running.erase(i);
    ++study.sent;
    result[no].push_back(std::move(what));
  };
  for (auto& x : plan_.take_deliveries())
    add(x.trial, x.at,
        trial_measured{number_in_study_[x.trial], x.node, x.at,
                       std::move(x.values), x.shared});
  for (auto& x : plan_.take_failures())
    add(x.trial, x.at,
        trial_failed{number_in_study_[x.trial], x.at, std::move(x.reason)});
  return result;
}

std::vector<study_no> study_table::take_quiesced() {
  std::vector<study_no> result;
  for (auto i : studies_.ids()) {
    auto& x = studies_[i];
    if (x.paused && x.running.empty()
        && !std::exchange(x.is_told_quiesced, true))
      result.push_back(i);
  }
  return result;
}

bool study_table::wants_capacity(study_no study) const {
  assert(has(study));
  return studies_[study].wants_capacity && !studies_[study].paused;
}

bool study_table::is_awaiting_any() const {
  return std::any_of(studies_.begin(), studies_.end(), [](const entry& x) {
    return x.wants_capacity && !x.paused && x.acked < x.awaited;
  });
}

void study_table::await_all() {
  for (auto& x : studies_)
    x.awaited = x.sent;
}

void study_table::count_offer(study_no study) {
  assert(wants_capacity(study));
  auto& x = studies_[study];
  x.awaited = ++x.sent;
}

void study_table::check_invariants() const {
#ifndef NDEBUG
  for (const auto& x : studies_) {
    assert(x.acked <= x.sent);
    assert(x.awaited <= x.sent);
    assert(x.deferred.empty() || x.paused);
    assert(x.running.empty() || x.paused);
    assert(!x.has_left || (!x.paused && !x.wants_capacity && x.trials.empty()));
  }
  assert(plan_.trials() == number_in_study_.size());
  assert(plan_.studies() == studies_.size());
#endif
}

} // namespace hippo
