#include "waiting_facts.hpp"

#include <algorithm>

namespace hippo {

waiting_facts waiting_facts_of(study_phase state, const std::string& reason,
                               double caught_up, const std::string& key,
                               const pool_status& pool,
                               const journal_status& journal,
                               const merger_status* plan) {
  waiting_facts result;
  result.state = state;
  result.reason = reason;
  result.caught_up = caught_up;
  result.trouble = journal.trouble;
  for (const auto& x : pool.trainers) {
    if (!x.is_there())
      continue;
    ++result.trainers;
    if (!x.held_up.empty()) {
      ++result.held_up;
      if (result.hold_up.empty())
        result.hold_up = "trainer " + std::to_string(x.number) + " (" + x.name
                         + ") " + x.held_up;
      continue;
    }
    if (x.sick.empty())
      continue;
    ++result.sick;
    if (result.illness.empty())
      result.illness = "trainer " + std::to_string(x.number) + " (" + x.name
                       + ") " + x.sick;
  }
  const auto stuck
    = std::ranges::find(pool.stuck, key, &pool_status::stuck_workload::key);
  if (stuck != pool.stuck.end())
    result.stuck = stuck->why;
  if (plan != nullptr)
    result.hindered =
      plan->hindered.empty() ? plan->short_of_time : plan->hindered;
  return result;
}

} // namespace hippo
