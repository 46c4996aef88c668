#include "study_waits.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "waiting_facts.hpp"

namespace hippo {

void study_waits::look(service& actors,
                     const std::function<void(std::string)>& say) {
  const auto known = actors.status();
  const auto pool
    = actors.ask<pool_status>(actors.pool(), status_atom::value);
  if (!pool)
    return; // it ends, or is busy
  const auto any_trainer
    = std::ranges::any_of(pool->trainers, &trainer_record::is_there);
  stuck_ = any_trainer && !pool->stuck.empty() ? pool->stuck.front().why
                                               : std::string{};
  std::map<std::string, merger_status> plans;
  for (const auto& x : known.mergers)
    if (auto status
        = actors.ask<merger_status>(x.handle, status_atom::value))
      plans.emplace(x.workload_key, std::move(*status));
  const auto journal
    = actors.ask<journal_status>(actors.journal(), status_atom::value);
  std::map<std::string, std::string> waits; // by name
  waiting_board::notes board;
  std::string paused;
  bool any_goes_on = false;
  for (const auto& x : known.studies) {
    const auto status = actors.ask<study_status>(x.handle, status_atom::value);
    if (x.ended || !status || has_ended(status->state))
      continue;
    if (status->state == study_phase::paused)
      paused = "study " + status->view.name + " has paused: "
               + status->view.reason;
    else
      any_goes_on = true;
    const auto plan = plans.find(x.workload_key);
    auto why = waiting_for(waiting_facts_of(
      status->state, status->view.reason, status->caught_up, x.workload_key,
      *pool,
      journal ? *journal : journal_status{},
      plan == plans.end() ? nullptr : &plan->second));
    if (!why.empty())
      board.emplace(x.id, why);
    waits[status->view.name] = std::move(why);
  }
  board_.tell(board);
  paused_ = any_goes_on ? std::string{} : std::move(paused);
  for (auto& x : notes_.note(waits, std::chrono::steady_clock::now()))
    say(std::move(x));
}

study_progress study_waits::progress_of(const study_status& study) const {
  study_progress result{study.view, study.front};
  result.study.waiting = shown(study.view.name);
  return result;
}

} // namespace hippo
