#include "hippo/report/run_figures.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <tuple>

#include "hippo/base/ratio.hpp"

namespace hippo {

stage_finder::stage_finder(const std::vector<overview_stage>& stages) {
  for (const auto& x : stages)
    by_end_[{x.node, x.end}] = x.id;
}

std::uint64_t stage_finder::find(node_id node, step_t at) const {
  const auto i = by_end_.lower_bound({node, at});
  return i == by_end_.end() || i->first.first != node ? 0 : i->second;
}

std::vector<stage_record>
stage_records(const std::vector<overview_stage>& stages,
              const std::string& workload_key, std::uint64_t first,
              const by_id<study_no, std::size_t>& study_index) {
  std::vector<stage_record> result;
  for (const auto& x : stages) {
    stage_record y;
    y.id = first + x.id;
    y.parent = x.parent == 0 ? 0 : first + x.parent;
    y.begin = x.begin;
    y.end = x.end;
    y.config = x.config;
    y.trials = x.trials;
    y.workload = workload_key;
    for (const auto no : x.studies) {
      assert(study_index.has(no));
      y.studies.push_back(study_index[no]);
    }
    result.push_back(std::move(y));
  }
  return result;
}

tree_seconds seconds_of(const std::vector<overview_stage>& stages,
                        const std::vector<busy_record>& timeline) {
  std::map<std::tuple<node_id, step_t, step_t>, double> stretches;
  for (const auto& x : timeline) {
    const auto seconds = x.train + x.evaluate;
    const auto [i, added]
      = stretches.try_emplace({node_id{x.stage}, x.from, x.to}, seconds);
    if (!added)
      i->second = std::min(i->second, seconds);
  }
  const stage_finder finder{stages};
  std::map<std::uint64_t, double> by_stage;
  for (const auto& [where, seconds] : stretches)
    by_stage[finder.find(std::get<0>(where), std::get<2>(where))] += seconds;
  by_stage.erase(0); // trained in passing
  tree_seconds result;
  std::map<std::uint64_t, double> end_of{{0, 0}};
  for (const auto& x : stages) {
    assert(end_of.contains(x.parent));
    const auto i = by_stage.find(x.id);
    const auto seconds = i == by_stage.end() ? 0 : i->second;
    const auto end = end_of[x.id] = end_of[x.parent] + seconds;
    result.all += seconds;
    result.longest = std::max(result.longest, end);
  }
  return result;
}

void lower_bound::add(const tree_seconds& tree, std::uint32_t lanes,
                      std::uint32_t trainers) {
  assert(lanes > 0 && trainers > 0);
  all_ += tree.all * trainers / lanes;
  longest_ = std::max(longest_, tree.longest);
}

double lower_bound::seconds(std::size_t trainers) const {
  if (trainers == 0)
    return 0;
  return std::max(longest_, all_ / static_cast<double>(trainers));
}

merge_rates rates_of(std::uint64_t delivered_steps, std::uint64_t unique_steps,
                     std::uint64_t unique_steps_of_studies) {
  return {ratio(delivered_steps, unique_steps),
          ratio(unique_steps_of_studies, unique_steps)};
}

double idle_seconds(double wall_seconds, std::size_t trainers,
                    double device_seconds) {
  return std::max(0.0, wall_seconds * static_cast<double>(trainers)
                         - device_seconds);
}

void work_left::set_shares(const merge_figures& figures) {
  unique_share_to_come = 1 / ratio(figures.asked_steps, figures.unique_steps);
  const auto asked = figures.asked_steps
                     - std::min(figures.delivered_steps, figures.asked_steps);
  const auto unique =
    figures.unique_steps
    - std::min(figures.unique_delivered_steps, figures.unique_steps);
  unique_share
    = asked > 0 && unique > 0 ? 1 / ratio(asked, unique) : unique_share_to_come;
}

std::optional<double> seconds_left(const std::vector<work_left>& studies,
                                   double trainers) {
  double now = 0; // of what is asked for, in seconds of a trainer
  double all = 0;
  double running = 0;
  double longest = 0;
  double budget = 0;
  for (const auto& x : studies) {
    const auto waiting = static_cast<double>(x.waiting_steps);
    now += waiting * x.unique_share * x.step_seconds;
    all += x.trainer_seconds();
    if (x.waiting_steps > 0)
      running = std::max(running,
                         static_cast<double>(x.running) * x.step_seconds);
    longest = std::max(longest, static_cast<double>(x.longest_to_come)
                                  * x.step_seconds);
    budget = std::max(budget, x.seconds_max.value_or(
                                std::numeric_limits<double>::infinity()));
  }
  if (all <= 0 || trainers <= 0)
    return std::nullopt;
  const auto each = 1 / trainers;
  return std::min(
    budget, std::max(all * each, std::max(now * each, running) + longest));
}

std::optional<error> find_hopeless(const run_record& record) {
  for (const auto& study : record.studies)
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
