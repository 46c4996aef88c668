#include "run_report.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "hippo/report/run_figures.hpp"

namespace hippo {

namespace {

/// Numbers of stages are unique in their merger only.
constexpr std::uint64_t stages_per_merger = 1ull << 40;

} // namespace

run_record make_run_record(std::vector<reported_study> studies,
                           const std::vector<merger_overview>& mergers,
                           const pool_status& pool, double wall_seconds) {
  run_record result;
  std::vector<by_id<study_no, std::size_t>> study_index(mergers.size());
  for (std::size_t i = 0; i < mergers.size(); ++i)
    study_index[i].resize(mergers[i].study_seconds.size());
  std::uint64_t unique_steps_of_studies = 0;
  for (auto& x : studies) {
    const auto& merger = mergers[x.merger];
    if (x.no) {
      study_index[x.merger][*x.no] = result.studies.size();
      const auto& figures = merger.status.by_study[*x.no];
      x.record.delivered_steps = figures.delivered_steps;
      x.record.unique_steps = figures.unique_delivered_steps;
      x.record.shared_steps = figures.shared_steps;
      unique_steps_of_studies += x.record.unique_steps;
      x.record.device_seconds = merger.study_seconds[*x.no];
      if (pool.costs)
        x.record.cost = merger.study_costs[*x.no];
    }
    result.studies.push_back(std::move(x.record));
  }
  lower_bound bound;
  bool all_seen = true;
  for (std::size_t i = 0; i < mergers.size(); ++i) {
    const auto& x = mergers[i];
    result.asked_steps += x.status.figures.asked_steps;
    result.delivered_steps += x.status.figures.delivered_steps;
    result.unique_steps += x.status.figures.unique_delivered_steps;
    result.shared_steps += x.status.figures.shared_steps;
    result.trained_steps += x.status.trained_steps;
    result.reused_steps += x.status.reused_steps;
    result.device_seconds += x.busy_seconds;
    result.load_seconds += x.load_seconds;
    result.train_seconds += x.train_seconds;
    result.wait_seconds += x.wait_seconds;
    result.evaluate_seconds += x.evaluate_seconds;
    result.save_seconds += x.save_seconds;
    result.dispatch_seconds += x.dispatch_seconds;
    result.alone_device_seconds += x.status.alone_seconds;
    result.saved_device_seconds += x.status.saved_seconds;
    const auto first = i * stages_per_merger;
    auto records
      = stage_records(x.stages, x.workload_key, first, study_index[i]);
    std::move(records.begin(), records.end(),
              std::back_inserter(result.stages));
    bound.add(seconds_of(x.stages, x.timeline), x.lanes, x.trainers);
    all_seen = all_seen && x.status.reused_steps == 0 && x.timeline_is_whole;
    const stage_finder stages{x.stages};
    for (auto busy : x.timeline) {
      busy.stage = first + stages.find(node_id{busy.stage}, busy.to);
      result.timeline.push_back(busy);
    }
  }
  const auto rates = rates_of(result.delivered_steps, result.unique_steps,
                              unique_steps_of_studies);
  result.merge_rate = rates.merge_rate;
  result.k_wise_merge_rate = rates.k_wise_merge_rate;
  result.wall_seconds = wall_seconds;
  result.trainers = pool.trainers;
  result.costs = pool.costs;
  if (all_seen)
    result.lower_bound_seconds = bound.seconds(pool.trainers.size());
  result.idle_seconds = idle_seconds(wall_seconds, pool.trainers.size(),
                                     result.device_seconds);
  return result;
}

} // namespace hippo
