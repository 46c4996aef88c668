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
  std::string failing;
  bool any_goes_on = std::ranges::any_of(
    known.absent, [](const auto& x) { return x.second == being_read_text; });
  all_.clear();
  at_work_.clear();
  paused_.clear();
  for (const auto& x : known.studies) {
    all_.insert(x.id);
    if (!x.ended)
      at_work_.insert(x.id);
    const auto status = actors.ask<study_status>(x.handle, status_atom::value);
    if (x.ended || !status || has_ended(status->state))
      continue;
    if (status->state != study_phase::paused)
      any_goes_on = true;
    else if (status->view.reason.empty())
      paused_.push_back({x.id, status->view.name});
    else
      failing =
        "study " + status->view.name + " has paused: " + status->view.reason;
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
  if (any_goes_on)
    paused_.clear();
  failing_ =
    any_goes_on || !paused_.empty() ? std::string{} : std::move(failing);
  for (auto& x : notes_.note(waits, std::chrono::steady_clock::now()))
    say(std::move(x));
}

} // namespace hippo
