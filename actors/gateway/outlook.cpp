#include "gateway/outlook.hpp"

#include <algorithm>

#include "hippo/core/ratio.hpp"

namespace hippo {

outlook outlook_of(const study_status& study, const merger_status& plan,
                   std::size_t idle) {
  outlook result;
  result.idle = idle;
  auto& left = result.left;
  left.waiting_steps = study.waiting_steps;
  left.steps_to_come = study.to_come.steps;
  left.longest_to_come = study.to_come.longest;
  left.step_seconds = plan.step_seconds;
  left.unique_share
    = 1 / ratio(plan.figures.asked_steps, plan.figures.unique_steps);
  for (const auto& x : plan.running)
    if (std::ranges::find(x.studies, study.id) != x.studies.end()) {
      result.trainers.insert(x.trainer);
      left.running = std::max(left.running, x.to - std::min(x.at, x.to));
    }
  if (study.seconds_max)
    left.seconds_max = std::max(0.0, *study.seconds_max - study.active_seconds);
  return result;
}

std::size_t idle_trainers(const std::vector<trainer_record>& all,
                          const std::vector<merger_status>& plans) {
  std::set<std::uint64_t> idle;
  for (const auto& x : all)
    if (x.is_there())
      idle.insert(x.number);
  for (const auto& plan : plans)
    for (const auto& x : plan.running)
      idle.erase(number_of(x.trainer));
  return idle.size();
}

} // namespace hippo
