#include "hippo/plan/search_plan.hpp"

#include <algorithm>
#include <cassert>

// Which steps trials have got: what merge rates and shared steps are made of.
// What a trial has got of a node begins with the node, as what it asks for
// does: so one state a node says all.

namespace hippo {

namespace {

/// Moves a node's mark on.
/// @returns the steps up to state `end` that lay beyond it
step_t move_to(step_t& mark, step_t end) {
  if (end <= mark)
    return 0;
  const auto result = end - mark;
  mark = end;
  return result;
}

} // namespace

study_reach& search_plan::reach_of(plan_node& node, study_no study) {
  auto i = std::lower_bound(
    node.reaches.begin(), node.reaches.end(), study,
    [](const study_reach& y, study_no no) { return y.study < no; });
  if (i == node.reaches.end() || i->study != study)
    i = node.reaches.insert(i, {study, node.begin, node.begin});
  return *i;
}

step_t search_plan::credit(trial_id id, step_t from, step_t to) {
  assert(from <= to && to <= trials_[id].asked_to);
  const auto study = trials_[id].study;
  auto& figures = studies_[study].figures;
  figures.delivered_steps += to - from;
  delivered_steps_ += to - from;
  step_t unknown = 0;
  auto end = to;
  for (auto at = node_at(id, to); at != root_node && end > from;
       at = nodes_[at].parent) {
    auto& x = nodes_[at];
    unknown += move_to(x.known_to, end);
    change_restored(x, [&] {
      unique_delivered_steps_ += move_to(x.delivered_to, end);
    });
    figures.unique_delivered_steps
      += move_to(reach_of(x, study).delivered_to, end);
    end = x.begin;
  }
  assert(unknown <= to - from);
  return to - from - unknown;
}

void search_plan::recall(trial_id id, step_t to, step_t shared) {
  auto& trial = trials_[id];
  assert(trial.asked_to == 0 && shared <= to);
  cover(id, to);
  trial.waits_to = trial.delivered_to = to;
  credit(id, 0, to);
  shared_steps_ += shared;
  studies_[trial.study].figures.shared_steps += shared;
}

void search_plan::restore_delivered(node_id at, step_t step) {
  for (auto end = step; at != root_node; at = nodes_[at].parent) {
    auto& x = nodes_[at];
    move_to(x.known_to, end);
    end = x.begin;
  }
}

} // namespace hippo
