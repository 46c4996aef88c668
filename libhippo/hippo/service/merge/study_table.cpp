#include "hippo/service/merge/study_table.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace hippo {

study_no study_table::add(const study_registration& registration) {
  assert(registration.repeats.spec.seeds > 0);
  studies_.add(entry{registration, cold_});
  const auto result = plan_.add_study(registration.when);
  assert(number_of(result) + 1 == studies_.size());
  return result;
}

template <class F>
void study_table::for_each_run(const entry& study, trial_no no, F&& function) {
  const auto seeds = study.repeats.spec.seeds;
  for (std::uint32_t i = 0; i < seeds; ++i)
    function(i, study.runs[no * seeds + i]);
}

bool study_table::has_trial(const entry& study, trial_no no) {
  const auto first = no * study.repeats.spec.seeds;
  return first < study.runs.size() && study.runs[first] != no_trial;
}

std::optional<error> study_table::check(const entry& study,
                                        const study_orders& orders) const {
  std::set<trial_no> added;
  const auto is_known = [&](trial_no no) {
    return added.count(no) > 0 || has_trial(study, no);
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
  study.has_ordered = true;
  if (orders.when)
    plan_.lengthen(no, *orders.when);
  for (const auto& y : orders.added)
    add_trial(no, y, merge);
  for (const auto& y : orders.rerouted)
    for_each_run(study, y.no, [&](std::uint32_t i, trial_id run) {
      plan_.reroute(run, with_seed(y.segments, study.repeats, i));
    });
  for (auto trial : orders.dropped) {
    for_each_run(study, trial,
                 [&](std::uint32_t, trial_id run) { plan_.drop(run); });
  }
  request(study, orders.asked);
  check_invariants();
  return std::nullopt;
}

void study_table::add_trial(study_no no, const study_orders::trial& added,
                            bool merge) {
  auto& study = studies_[no];
  const auto seeds = study.repeats.spec.seeds;
  if ((added.no + 1) * seeds > study.runs.size())
    study.runs.resize((added.no + 1) * seeds, no_trial);
  for (std::uint32_t i = 0; i < seeds; ++i) {
    const auto place = added.no * seeds + i;
    study.runs[place] =
      plan_.add_trial(no, with_seed(added.segments, study.repeats, i),
                      strand_for(study, added, i, merge), added.responsive);
    [[maybe_unused]] const auto id = number_in_study_.add(place);
    assert(study.runs[place] == id);
  }
}

/// The strand of a run: with merging off each has its own, the same after a
/// restart, but a fork is in that of the run it comes from.
std::uint64_t study_table::strand_for(const entry& study,
                                      const study_orders::trial& added,
                                      std::uint32_t index, bool merge) const {
  if (merge)
    return 0;
  const auto seeds = study.repeats.spec.seeds;
  return added.fork_of
           ? plan_.strand_of(study.runs[*added.fork_of * seeds + index])
           : number_of(study.id) * strands_per_study + added.no * seeds + index
               + 1;
}

void study_table::request(entry& study,
                          const std::vector<study_orders::request>& asked) {
  // Seed by seed: a trainer that goes on with another seed starts anew.
  for (std::uint32_t i = 0; i < study.repeats.spec.seeds; ++i)
    for (const auto& y : asked)
      request_run(study, y, i);
  if (study.paused)
    for (const auto& y : asked)
      if (!y.is_over)
        study.deferred.push_back({y.no, y.to, 0, false});
}

void study_table::request_run(const entry& study,
                              const study_orders::request& asked,
                              std::uint32_t index) {
  assert(has_trial(study, asked.no));
  const auto run = study.runs[asked.no * study.repeats.spec.seeds + index];
  if (asked.again) {
    plan_.retry(run);
    if (!study.paused) // else it goes on with the others
      plan_.go_on(run);
  }
  if (asked.known_to > 0) {
    // All that was shared is told of the first runs, up to what they have.
    const auto before = std::min(asked.known_shared, index * asked.known_to);
    plan_.recall(run, asked.known_to,
                 std::min(asked.known_shared - before, asked.known_to));
  }
  if (asked.is_over) {
    plan_.cover(run, asked.to);
    plan_.drop(run);
  } else if (!study.paused) {
    plan_.ask(run, asked.to);
  }
}

void study_table::wait_for_running_only(entry& study) {
  assert(study.paused);
  study.running.clear();
  for (auto run : study.runs)
    if (run != no_trial)
      if (const auto to = plan_.suspend(run))
        study.running[run] = to;
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
  for (auto run : study.runs)
    if (run != no_trial)
      plan_.go_on(run);
  request(study, std::exchange(study.deferred, {}));
  check_invariants();
}

void study_table::leave(study_no no) {
  assert(has(no) && !has_left(no));
  auto& study = studies_[no];
  for (auto run : study.runs)
    if (run != no_trial)
      plan_.drop(run);
  study.runs.clear();
  study.runs.shrink_to_fit();
  study.parts.clear();
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
  const auto add = [&](trial_id run, step_t at, study_input what) {
    const auto no = plan_.study_of(run);
    auto& study = studies_[no];
    if (const auto i = study.running.find(run);
        i != study.running.end()
        && (at >= i->second || std::holds_alternative<trial_failed>(what)))
      study.running.erase(i);
    ++study.sent;
    result[no].push_back(std::move(what));
  };
  for (auto& x : plan_.take_deliveries()) {
    auto& study = studies_[plan_.study_of(x.trial)];
    const auto seeds = study.repeats.spec.seeds;
    const auto place = number_in_study_[x.trial];
    trial_measured what{place / seeds, x.node, x.at, std::move(x.values),
                        x.shared};
    if (seeds > 1) {
      what.seed_no = static_cast<std::uint32_t>(place % seeds) + 1;
      take_part(study, what);
    }
    add(x.trial, x.at, std::move(what));
  }
  for (auto& x : plan_.take_failures()) {
    const auto& repeats = studies_[plan_.study_of(x.trial)].repeats;
    const auto place = number_in_study_[x.trial];
    if (!repeats.is_one())
      x.reason.message = to_text(seed_failure{
        "seed "
          + std::to_string(repeats.first_seed + place % repeats.spec.seeds),
        std::move(x.reason.message)});
    add(x.trial, x.at,
        trial_failed{place / repeats.spec.seeds, x.at, std::move(x.reason)});
  }
  for (const auto& kvp : result) {
    auto& study = studies_[kvp.first];
    if (study.has_ordered)
      study.awaited = study.sent;
  }
  for (auto& x : studies_)
    x.has_ordered = false;
  return result;
}

void study_table::take_part(entry& study, trial_measured& what) {
  const auto seeds = study.repeats.spec.seeds;
  auto& of_trial = study.parts[what.trial];
  auto& by_seed = of_trial[what.at];
  by_seed.resize(seeds);
  by_seed[what.seed_no - 1] = what.values;
  what.is_part = std::any_of(by_seed.begin(), by_seed.end(),
                             [](const metrics& x) { return x.empty(); });
  if (what.is_part)
    return;
  what.values = summarize(study.repeats, by_seed);
  of_trial.erase(what.at);
  if (of_trial.empty())
    study.parts.erase(what.trial);
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

bool study_table::any_wants_capacity() const {
  return std::any_of(studies_.begin(), studies_.end(), [](const entry& x) {
    return x.wants_capacity && !x.paused;
  });
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
    for (const auto& [no, by_step] : x.parts)
      assert(has_trial(x, no) && !by_step.empty());
    assert(!x.has_left || (!x.paused && !x.wants_capacity && x.runs.empty()));
  }
  assert(plan_.trials() == number_in_study_.size());
  assert(plan_.studies() == studies_.size());
#endif
}

} // namespace hippo
