#include "gateway/live_study.hpp"

#include <algorithm>
#include <utility>

#include "waiting_facts.hpp"

namespace hippo {

namespace {

/// The kind of machine that most of these trainers are on; null: it is not
/// known.
const trainers_cost* kind_of_most(const std::set<trainer_id>& trainers,
                                  const pool_status& pool) {
  const trainers_cost* result = nullptr;
  std::ptrdiff_t most = 0;
  if (pool.costs)
    for (const auto& kind : *pool.costs) {
      const auto n = std::ranges::count_if(pool.trainers, [&](const auto& x) {
        return x.machine == kind.kind
               && trainers.contains(trainer_id{x.number});
      });
      if (n > most) {
        result = &kind;
        most = n;
      }
    }
  return result;
}

/// Says how many machines more, of the kind that most of its trainers are on,
/// would bring a study to its end in time; empty: none are needed, or no number
/// would do.
std::string needed_for(const study_forecast& x, double deadline_left,
                       const pool_status& pool) {
  constexpr std::size_t trainers_max = 100'000;
  const auto now = x.at_hand();
  const auto is_in_time = [&](std::size_t n) {
    const auto seconds = x.seconds(n);
    return !seconds || *seconds <= deadline_left;
  };
  if (now == 0 || is_in_time(now) || !is_in_time(trainers_max))
    return {};
  auto few = now, enough = trainers_max; // more never take longer
  while (enough - few > 1) {
    const auto middle = few + (enough - few) / 2;
    (is_in_time(middle) ? enough : few) = middle;
  }
  const auto* kind = kind_of_most(x.trainers, pool);
  const auto more = enough - now;
  if (kind == nullptr)
    return std::to_string(more) + " more trainer" + (more == 1 ? "" : "s");
  const auto machines = (more + kind->on_each - 1) / kind->on_each;
  return std::to_string(machines) + " more " + kind->kind;
}

} // namespace

void look_ahead(live_view& view) {
  std::map<std::string, const merger_status*> plans;
  for (const auto& [key, place] : view.merger_of)
    plans.emplace(key, &view.mergers[place]);
  view.ahead = forecasts_of(view.studies, plans, view.pool.trainers);
}

study_view live_view_of(archived_study study, const live_view& live) {
  auto result = std::move(study.view);
  const auto& row = study.row;
  if (has_ended(row.state))
    return result;
  const auto running = live.studies.find(row.id);
  if (running == live.studies.end()) {
    if (const auto absent = live.absent.find(row.id);
        absent != live.absent.end())
      result.waiting = absent->second;
    else if (const auto told = live.told.find(row.id); told != live.told.end())
      result.waiting = told->second;
    return result;
  }
  result.active_seconds = running->second.view.active_seconds;
  const auto plan = live.merger_of.find(result.workload);
  result.waiting = waiting_for(waiting_facts_of(
    row.state, row.reason, running->second.caught_up, result.workload,
    live.pool, live.journal,
    plan == live.merger_of.end() ? nullptr : &live.mergers[plan->second]));
  result.deadline_seconds_left = running->second.view.deadline_seconds_left;
  const auto found = live.ahead.find(row.id);
  if (found == live.ahead.end())
    return result;
  const auto& ahead = found->second;
  result.seconds_left = ahead.seconds(ahead.at_hand());
  if (result.deadline_seconds_left)
    result.needed = needed_for(ahead, *result.deadline_seconds_left, live.pool);
  return result;
}

described_study described(archived_study study, const live_view& live) {
  auto text = std::move(study.row.text);
  return {live_view_of(std::move(study), live), std::move(text)};
}

} // namespace hippo
