#include "hippo/plan/search_plan.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>
#include <utility>

// Which trials wait for which states, until they have their measurements or
// are told why they cannot have them.

namespace hippo {

void search_plan::ask(trial_id id, step_t to) {
  auto& trial = trials_[id];
  assert(measuring_of(id).covers(to));
  if (trial.ended || to <= trial.asked_to)
    return;
  cover(id, to);
  go_on(id);
}

void search_plan::go_on(trial_id id) {
  auto& trial = trials_[id];
  if (trial.ended)
    return;
  trial.suspended = false;
  trial.order = ++requests_;
  wait_further(id);
  flush(id);
}

void search_plan::wait_further(trial_id id) {
  auto& trial = trials_[id];
  const auto passed = passages(id, trial.asked_to);
  const auto failed = failure_before(id, trial.asked_to);
  const auto& study = studies_[trial.study];
  const auto& when = measuring_of(id);
  std::uint64_t ahead = 0;
  auto i = passed.begin();
  for (auto t = when.next(trial.delivered_to); t != 0 && t <= trial.asked_to;
       t = when.next(t)) {
    if (failed && t >= failed->at)
      return; // it fails once it has been told what comes before
    if (++ahead > limits_.near
        && (ahead > limits_.far || study.wants >= limits_.total))
      return;
    if (t <= trial.waits_to)
      continue;
    while (i->end < t)
      ++i;
    auto& x = nodes_[i->node];
    const bool is_known = x.results.count(t) != 0;
    if (!is_known && divergence(id, i->node, t) != nullptr)
      return; // likewise
    trial.waits_to = t;
    if (is_known)
      continue;
    add_waiter(x.wants[t], id, trial.order);
    x.goal = std::max(x.goal, when.rungs.back());
    changed_.insert(i->node);
  }
}

bool search_plan::holds(node_id failed, trial_id trial) const {
  return !failure_holds_ || failure_holds_(failed, study_of(trial));
}

bool search_plan::divergence_holds(node_id at, const error& why,
                                   trial_id trial) const {
  return why.code == errc::diverged || holds(at, trial);
}

bool search_plan::waits_for(trial_id id, step_t at) const {
  const auto& trial = trials_[id];
  return trial.delivered_to < at && at <= trial.waits_to;
}

std::optional<trial_failure> search_plan::failure_before(trial_id id,
                                                         step_t to) {
  for (const auto& [at, end] : passages(id, to)) {
    auto* x = nodes_[at].troubles.get();
    if (x == nullptr || !x->failed_at || *x->failed_at > end)
      continue;
    if (holds(at, id))
      return trial_failure{id, *x->failed_at, x->failure};
    x->failed_at.reset();
  }
  return std::nullopt;
}

const error* search_plan::divergence(trial_id id, node_id at, step_t step) {
  auto* const x = nodes_[at].troubles.get();
  const auto* const why = nodes_[at].divergence_at(step);
  if (why == nullptr || divergence_holds(at, *why, id))
    return why;
  x->diverged.erase(step);
  return nullptr;
}

void search_plan::stop_waiting(trial_id id, step_t to) {
  auto& trial = trials_[id];
  const auto& when = measuring_of(id);
  for (auto t = when.next(std::max(to, trial.delivered_to));
       t != 0 && t <= trial.waits_to; t = when.next(t)) {
    const auto at = node_at(id, t);
    auto& wants = nodes_[at].wants;
    const auto i = wants.find(t);
    if (i == wants.end())
      continue;
    remove_waiter(i->second, trial.study);
    if (i->second.live.empty())
      wants.erase(i);
    changed_.insert(at);
  }
  trial.waits_to = std::min(trial.waits_to, to);
}

void search_plan::drop(trial_id id) {
  stop_waiting(id, 0);
  trials_[id].ended = true;
}

bool search_plan::is_running(node_id at, step_t state) const {
  const auto& xs = nodes_[at].running;
  return std::any_of(xs.begin(), xs.end(), [&](const auto& r) {
    return (r.reached < state && state <= r.to)
           || (r.from == state && r.to == state); // it measures that alone
  });
}

step_t search_plan::suspend(trial_id id) {
  auto& trial = trials_[id];
  trial.suspended = true;
  const auto& when = measuring_of(id);
  step_t kept = 0;
  for (auto t = when.next(trial.delivered_to); t != 0 && t <= trial.waits_to;
       t = when.next(t)) {
    const auto at = node_at(id, t);
    if (nodes_[at].wants.count(t) > 0 && !is_running(at, t))
      break;
    kept = t;
  }
  stop_waiting(id, kept);
  return kept;
}

void search_plan::add_waiter(want& want, trial_id trial, std::uint64_t order) {
  if (want.live.empty())
    want.order = order;
  want.waiters.push_back(trial);
  const auto study = study_of(trial);
  const auto i = std::find_if(want.live.begin(), want.live.end(),
                              [&](const auto& y) { return y.first == study; });
  if (i != want.live.end()) {
    ++i->second;
    return;
  }
  want.live.emplace_back(study, 1);
  ++studies_[study].wants;
}

void search_plan::remove_waiter(want& want, study_no study) {
  const auto i = std::find_if(want.live.begin(), want.live.end(),
                              [&](const auto& y) { return y.first == study; });
  if (--i->second > 0)
    return;
  want.live.erase(i);
  --studies_[study].wants;
}

void search_plan::flush(trial_id id) {
  const auto& trial = trials_[id];
  for (;;) {
    deliver(id);
    if (trial.ended || trial.suspended || trial.delivered_to == trial.asked_to
        || waits_for(id, measuring_of(id).next(trial.delivered_to)))
      return;
    wait_further(id);
  }
}

void search_plan::deliver(trial_id id) {
  auto& trial = trials_[id];
  if (trial.ended)
    return;
  const auto& when = measuring_of(id);
  for (;;) {
    const auto t = when.next(trial.delivered_to);
    if (t == 0 || t > trial.asked_to)
      return;
    const auto at = node_at(id, t);
    const auto& results = nodes_[at].results;
    const auto i = results.find(t);
    if (i == results.end()) {
      auto why = failure_before(id, t);
      if (const auto* diverged = divergence(id, at, t);
          !why && diverged != nullptr)
        why = trial_failure{id, t, *diverged};
      if (why) {
        failures_.push_back(std::move(*why));
        drop(id);
      }
      return;
    }
    const auto shared = credit(id, trial.delivered_to, t);
    shared_steps_ += shared;
    studies_[trial.study].figures.shared_steps += shared;
    deliveries_.push_back(
      {id, at, t, i->second.unpack(nodes_.names()), shared});
    trial.delivered_to = t;
  }
}

void search_plan::answer(node_id at, step_t step) {
  auto& wants = nodes_[at].wants;
  const auto i = wants.find(step);
  if (i == wants.end())
    return;
  const auto answered = std::move(i->second);
  wants.erase(i);
  for (const auto& kvp : answered.live)
    --studies_[kvp.first].wants;
  for (auto trial : answered.waiters)
    flush(trial);
}

bool search_plan::diverge(node_id at, step_t step, const error& reason) {
  auto& x = nodes_[at];
  if (x.results.count(step) > 0)
    return true; // what came first counts
  if (!troubles_of(at).diverged.emplace(step, reason).second)
    return false;
  if (may_pass(reason.code))
    passing_failures_.insert(at);
  const auto i = x.wants.find(step);
  if (i == x.wants.end())
    return true;
  const auto waiters = i->second.waiters;
  for (auto trial : waiters)
    if (waits_for(trial, step) && divergence_holds(at, reason, trial))
      give_up_from(trial, step);
  if (x.wants.count(step) > 0)
    x.troubles->diverged.erase(step); // for those it is to be found out
  return true;
}

void search_plan::fail(node_id at, step_t from, const error& reason) {
  assert(from > 0);
  auto& known = troubles_of(at);
  if (!known.failed_at || from < *known.failed_at) {
    known.failed_at = from;
    known.failure = reason;
    if (may_pass(reason.code))
      passing_failures_.insert(at);
  }
  std::set<trial_id> lost;
  const auto collect = [&](const plan_node& y, step_t first) {
    for (auto i = y.wants.lower_bound(first); i != y.wants.end(); ++i)
      for (auto trial : i->second.waiters)
        if (!trials_[trial].ended && holds(at, trial))
          lost.insert(trial);
  };
  std::vector<node_id> below;
  const auto descend = [&](const plan_node& y, step_t first) {
    collect(y, first);
    for (auto i = y.first_child; i != root_node; i = nodes_[i].next_sibling)
      if (nodes_[i].begin >= first)
        below.push_back(i);
  };
  descend(nodes_[at], from);
  while (!below.empty()) {
    const auto id = below.back();
    below.pop_back();
    descend(nodes_[id], 0);
  }
  for (auto trial : lost)
    give_up_from(trial, from);
}

void search_plan::give_up_from(trial_id trial, step_t from) {
  stop_waiting(trial, from - 1);
  deliver(trial);
}

void search_plan::forget_passing_failures() {
  for (auto id : std::exchange(passing_failures_, {})) {
    auto& x = troubles_of(id);
    if (may_pass(x.failure.code))
      x.failed_at.reset();
    std::erase_if(x.diverged,
                  [](const auto& kvp) { return may_pass(kvp.second.code); });
  }
}

void search_plan::retry(trial_id id) {
  auto& trial = trials_[id];
  assert(trial.waits_to == 0);
  for (const auto& [at, end] : passages(id, trial.asked_to)) {
    auto* x = nodes_[at].troubles.get();
    if (x == nullptr)
      continue;
    x->diverged.erase(x->diverged.begin(), x->diverged.upper_bound(end));
    if (x->failed_at && *x->failed_at <= end)
      x->failed_at.reset();
  }
  trial.ended = false;
  trial.suspended = true; // until it goes on
}

void search_plan::check_invariants() const {
#ifndef NDEBUG
  // It is called after each event, of which a long trial has many.
  constexpr std::uint64_t checked_wants_max = 256;
  std::uint64_t wanted = 0;
  for (auto study : id_range(study_no{}, studies_.size()))
    wanted += studies_[study].wants;
  if (wanted > checked_wants_max)
    return;
  using place = std::tuple<node_id, step_t, study_no>;
  std::map<place, std::uint32_t> waiting;
  for (auto id : id_range(trial_id{}, trials_.size())) {
    const auto& trial = trials_[id];
    assert(trial.delivered_to <= trial.asked_to);
    const auto& when = measuring_of(id);
    const auto next = when.next(trial.delivered_to);
    assert(!trial.ended || !waits_for(id, next));
    assert(trial.ended || trial.suspended || next == 0 || next > trial.asked_to
           || waits_for(id, next));
    for (auto t = next; t != 0 && waits_for(id, t); t = when.next(t)) {
      const auto at = node_at(id, t);
      const auto& x = nodes_[at];
      if (x.results.count(t) == 0)
        ++waiting[{at, t, trial.study}];
      else
        assert(t != next); // or it would have been told
    }
  }
  std::map<study_no, std::uint64_t> wants;
  for (const auto& [where, trials] : waiting) {
    const auto& [at, t, study] = where;
    const auto& x = nodes_[at];
    assert(x.wants.count(t) > 0 && x.divergence_at(t) == nullptr);
    assert(std::ranges::count(x.wants.at(t).live, std::pair{study, trials})
           == 1);
    ++wants[study];
  }
  for (auto study : id_range(study_no{}, studies_.size()))
    assert(studies_[study].wants == wants[study]);
#endif
}

} // namespace hippo
