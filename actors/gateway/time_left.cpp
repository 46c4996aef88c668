#include "gateway/time_left.hpp"

#include <algorithm>
#include <set>

#include "hippo/core/ratio.hpp"
#include "hippo/report/run_figures.hpp"

namespace hippo {

std::optional<double> time_left(const study_status& study,
                                const merger_status& plan, std::size_t idle) {
  work_left left;
  left.waiting_steps = study.waiting_steps;
  left.steps_to_come = study.to_come.steps;
  left.longest_to_come = study.to_come.longest;
  left.step_seconds = plan.step_seconds;
  left.unique_share
    = 1 / ratio(plan.figures.asked_steps, plan.figures.unique_steps);
  std::set<trainer_id> trainers;
  for (const auto& x : plan.running)
    if (std::ranges::find(x.studies, study.id) != x.studies.end()) {
      trainers.insert(x.trainer);
      left.running = std::max(left.running, x.to - std::min(x.at, x.to));
    }
  if (study.seconds_max)
    left.seconds_max = std::max(0.0, *study.seconds_max - study.active_seconds);
  // Who has none now may have had no turn yet: idle ones say nothing then.
  return seconds_left({left}, trainers.empty() ? 0 : trainers.size() + idle);
}

std::size_t idle_trainers(const std::vector<trainer_record>& all,
                          const std::vector<merger_status>& plans) {
  std::set<std::uint64_t> idle;
  for (const auto& x : all)
    if (x.lost.empty() && !x.left)
      idle.insert(x.number);
  for (const auto& plan : plans)
    for (const auto& x : plan.running)
      idle.erase(number_of(x.trainer));
  return idle.size();
}

} // namespace hippo
