#include "gateway/study_forecast.hpp"

#include <algorithm>

namespace hippo {

namespace {

/// What is before a study, whoever else is there.
study_forecast forecast_of(const study_status& study,
                           const merger_status& plan) {
  study_forecast result;
  auto& left = result.left;
  left.waiting_steps = study.waiting_steps;
  left.steps_to_come = study.to_come.steps;
  left.longest_to_come = study.to_come.longest;
  left.step_seconds = plan.step_seconds;
  left.set_shares(plan.figures);
  for (const auto& x : plan.running)
    if (std::ranges::find(x.studies, study.id()) != x.studies.end()) {
      result.trainers.insert(x.trainer);
      left.running = std::max(left.running, x.to - std::min(x.at, x.to));
    }
  if (study.seconds_max)
    left.seconds_max
      = std::max(0.0, *study.seconds_max - study.view.active_seconds);
  return result;
}

} // namespace

std::map<study_id, study_forecast>
forecasts_of(const std::map<study_id, study_status>& studies,
             const std::map<std::string, const merger_status*>& plans,
             const std::vector<trainer_record>& trainers) {
  struct share {
    study_forecast* of;
    double work; ///< seconds of a trainer
    double weight;
  };
  std::map<study_id, study_forecast> result;
  std::vector<share> shares;
  for (const auto& [id, x] : studies) {
    const auto plan = plans.find(x.view.workload);
    if (x.state != study_phase::running || plan == plans.end())
      continue;
    auto& ahead = result[id] = forecast_of(x, *plan->second);
    shares.push_back({&ahead, ahead.left.trainer_seconds(), x.view.weight});
  }
  const auto there = std::ranges::count_if(
    trainers, [](const auto& x) { return x.is_there() && x.held_up.empty(); });
  for (auto& x : shares) {
    x.of->all_trainers = static_cast<std::size_t>(there);
    double done = 0; // of all of them, until it has its own
    for (const auto& y : shares)
      done += std::min(y.work, x.work * y.weight / x.weight);
    if (x.work > 0)
      x.of->crowd = done / x.work;
  }
  return result;
}

} // namespace hippo
