#include "hippo/forecast/preview/first_rung.hpp"

#include <algorithm>

#include "hippo/forecast/machines/costs.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/report/text.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/space/own_workload.hpp"

namespace hippo {

first_rung first_rung_of(const accepted_study& study,
                         const workload_descriptor& workload) {
  const auto& spec = study.spec();
  tuner decisions{spec, study.search(), trial_defaults{workload}};
  const auto asked = decisions.start().asked;
  search_plan plan;
  const auto no = plan.add_study({1, {std::max<step_t>(spec.max_steps, 1)}});
  const bool shares = may_share(spec.workload);
  first_rung result;
  for (const auto& [trial, to] : asked) {
    const auto strand = shares ? 0 : ++result.trials;
    plan.cover(plan.add_trial(no, decisions.segments(trial), strand), to);
  }
  result.trials = asked.size();
  // Trainings with different seeds share nothing.
  result.steps = plan.figures().unique_steps * spec.repeats.seeds;
  return result;
}

std::optional<diagnostic> note_of_cost(const accepted_study& study,
                                       const workload_descriptor& workload,
                                       double step_seconds, double price) {
  const auto& budget = study.spec().budget.cost;
  if (!budget || step_seconds <= 0 || price <= 0)
    return std::nullopt;
  const auto rung = first_rung_of(study, workload);
  const auto cost
    = cost_of(price, static_cast<double>(rung.steps) * step_seconds);
  if (cost <= *budget)
    return std::nullopt;
  return locate(study.spec(), "budget.cost",
                "is spent before the first rung is done, which costs about "
                  + fixed(cost, 2) + ": " + std::to_string(rung.steps)
                  + " steps of " + std::to_string(rung.trials)
                  + " trials, after merging, on trainers of "
                  + significant(price, 6) + " an hour");
}

} // namespace hippo
