#include "hippo/plan/overview.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace hippo {

namespace {

/// What trials do on one node: how many go to which state, by study.
using ends_by_state = std::map<step_t, std::map<study_no, std::uint64_t>>;

} // namespace

std::vector<overview_stage> overview(const search_plan& plan) {
  by_id<node_id, ends_by_state> ends(plan.size());
  for (auto i : id_range(trial_id{}, plan.trials()))
    for (const auto& [node, end] : plan.passages(i, plan.asked_to(i)))
      ++ends[node][end][plan.study_of(i)];

  std::vector<overview_stage> result;
  // The stage that ends at a state of a node, for children to hang on.
  by_id<node_id, std::map<step_t, std::uint64_t>> stage_ending(plan.size());
  // Children have higher ids than their parents, so parents come first.
  plan_node room;
  for (auto id : id_range(node_id{1}, plan.size())) {
    const auto& x = plan.peek(id, room);
    if (ends[id].empty())
      continue;
    // From the far end: a trial passes every stage up to where it ends.
    std::map<study_no, std::uint64_t> passing;
    const auto config = shown_text(plan.config_of(id));
    std::vector<overview_stage> stages;
    for (auto i = ends[id].rbegin(); i != ends[id].rend(); ++i) {
      for (const auto& [study, trials] : i->second)
        passing[study] += trials;
      overview_stage stage;
      stage.node = id;
      stage.config = config;
      stage.end = i->first;
      stage.begin = std::next(i) == ends[id].rend() ? x.begin
                                                    : std::next(i)->first;
      for (const auto& [study, trials] : passing) {
        stage.studies.push_back(study);
        stage.trials_of.push_back(trials);
        stage.trials += trials;
      }
      stages.push_back(std::move(stage));
    }
    auto parent
      = x.parent == root_node ? 0 : stage_ending[x.parent].at(x.begin);
    for (auto i = stages.rbegin(); i != stages.rend(); ++i) {
      i->id = result.size() + 1;
      i->parent = std::exchange(parent, i->id);
      stage_ending[id][i->end] = i->id;
      result.push_back(std::move(*i));
    }
  }
  return result;
}

} // namespace hippo
