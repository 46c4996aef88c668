#include "run_report.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "hippo/core/ratio.hpp"

namespace hippo {

namespace {

/// Numbers of stages are unique in their merger only.
constexpr std::uint64_t stages_per_merger = 1ull << 40;

/// Finds the stage in which a node reaches a state.
class stage_finder {
public:
  explicit stage_finder(const std::vector<overview_stage>& stages) {
    for (const auto& x : stages)
      by_end_[{x.node, x.end}] = x.id;
  }

  /// Returns 0 for a state that no trial asked for.
  [[nodiscard]] std::uint64_t find(node_id node, step_t at) const {
    const auto i = by_end_.lower_bound({node, at});
    return i == by_end_.end() || i->first.first != node ? 0 : i->second;
  }

private:
  std::map<std::pair<node_id, step_t>, std::uint64_t> by_end_;
};

void add_stages(run_record& result, const merger_overview& x,
                std::uint64_t first,
                const std::vector<std::size_t>& study_index) {
  for (const auto& s : x.stages) {
    stage_record y;
    y.id = first + s.id;
    y.parent = s.parent == 0 ? 0 : first + s.parent;
    y.begin = s.begin;
    y.end = s.end;
    y.config = s.config;
    y.trials = s.trials;
    y.workload = x.workload_key;
    for (auto no : s.studies)
      y.studies.push_back(study_index[no]);
    result.stages.push_back(std::move(y));
  }
}

/// What the stages of a merger's tree took: all together, and on the longest
/// way down.
struct tree_seconds {
  double all = 0;
  double longest = 0;
};

/// Adds up training and evaluation by stage. What was trained again after a
/// failure counts once, as the shorter of the two.
tree_seconds seconds_of(const merger_overview& x, const stage_finder& stages) {
  std::map<std::tuple<node_id, step_t, step_t>, double> stretches;
  for (const auto& busy : x.timeline) {
    const auto seconds = busy.train + busy.evaluate;
    const auto [i, added]
      = stretches.try_emplace({busy.stage, busy.from, busy.to}, seconds);
    if (!added)
      i->second = std::min(i->second, seconds);
  }
  std::map<std::uint64_t, double> by_stage;
  for (const auto& [where, seconds] : stretches)
    by_stage[stages.find(std::get<0>(where), std::get<2>(where))] += seconds;
  by_stage.erase(0); // trained in passing
  tree_seconds result;
  std::map<std::uint64_t, double> end_of{{0, 0}};
  for (const auto& stage : x.stages) { // parents first
    const auto i = by_stage.find(stage.id);
    const auto seconds = i == by_stage.end() ? 0 : i->second;
    const auto end = end_of[stage.id] = end_of[stage.parent] + seconds;
    result.all += seconds;
    result.longest = std::max(result.longest, end);
  }
  return result;
}

} // namespace

run_record make_run_record(std::vector<reported_study> studies,
                           const std::vector<merger_overview>& mergers,
                           const pool_status& pool, double wall_seconds) {
  run_record result;
  std::vector<std::vector<std::size_t>> study_index(mergers.size());
  for (std::size_t i = 0; i < mergers.size(); ++i)
    study_index[i].resize(mergers[i].trials.size());
  std::uint64_t sum_of_studies = 0;
  for (auto& x : studies) {
    const auto& merger = mergers[x.merger];
    study_index[x.merger][x.no] = result.studies.size();
    x.record.unique_steps = merger.status.by_study[x.no].unique_steps;
    sum_of_studies += x.record.unique_steps;
    x.record.device_seconds = merger.study_seconds[x.no];
    const auto& known = merger.trials[x.no];
    for (auto& trial : x.record.trials)
      if (trial.id < known.size())
        trial.shared_steps
          = std::min(trial.steps, known[trial.id].shared_steps);
    result.studies.push_back(std::move(x.record));
  }
  tree_seconds work;
  bool all_seen = true;
  for (std::size_t i = 0; i < mergers.size(); ++i) {
    const auto& x = mergers[i];
    result.asked_steps += x.status.figures.asked_steps;
    result.unique_steps += x.status.figures.unique_steps;
    result.trained_steps += x.status.trained_steps;
    result.reused_steps += x.status.reused_steps;
    result.device_seconds += x.busy_seconds;
    result.load_seconds += x.load_seconds;
    result.train_seconds += x.train_seconds;
    result.evaluate_seconds += x.evaluate_seconds;
    result.save_seconds += x.save_seconds;
    result.dispatch_seconds += x.dispatch_seconds;
    result.saved_device_seconds += x.status.saved_seconds;
    const auto first = i * stages_per_merger;
    add_stages(result, x, first, study_index[i]);
    const stage_finder stages{x.stages};
    const auto [all, longest] = seconds_of(x, stages);
    work.all += all / x.lanes; // that many stages at a time
    work.longest = std::max(work.longest, longest);
    all_seen = all_seen && x.status.reused_steps == 0 && x.timeline_is_whole;
    for (auto busy : x.timeline) {
      busy.stage = first + stages.find(busy.stage, busy.to);
      result.timeline.push_back(busy);
    }
  }
  result.merge_rate = ratio(result.asked_steps, result.unique_steps);
  result.k_wise_merge_rate = ratio(sum_of_studies, result.unique_steps);
  result.wall_seconds = wall_seconds;
  result.trainers = pool.trainers;
  if (all_seen && !pool.trainers.empty())
    result.lower_bound_seconds = std::max(
      work.longest,
      work.all / static_cast<double>(pool.trainers.size()));
  result.idle_seconds
    = std::max(0.0, wall_seconds * static_cast<double>(pool.trainers.size())
                      - result.device_seconds);
  return result;
}

std::optional<error> find_hopeless(const run_record& x) {
  for (const auto& study : x.studies)
    if (!study.trials.empty()
        && std::all_of(study.trials.begin(), study.trials.end(),
                       [](const auto& y) {
                         return y.state == trial_state::failed;
                       }))
      return error{errc::training_failed,
                   "every trial of study '" + study.name + "' failed"};
  return std::nullopt;
}

} // namespace hippo
