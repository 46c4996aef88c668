#include "gateway/stored_views.hpp"

#include <utility>
#include <variant>

#include "hippo/model/goals.hpp"
#include "hippo/space/new_space.hpp"

namespace hippo {

study_view view_of(const stored_study& row) {
  study_view result;
  result.id = number_of(row.id);
  result.name = row.name;
  result.state = to_string(row.state);
  result.reason = row.reason;
  result.metric = row.metric;
  result.direction = row.direction;
  result.weight = row.weight;
  result.active_seconds = row.active_seconds;
  result.cost = row.cost;
  result.note = row.note;
  result.tags = row.tags;
  result.removed = row.removed;
  return result;
}

trial_view view_of(const stored_trial& row) {
  trial_view result;
  result.trial = row.trial;
  result.state = row.state;
  result.params = row.params;
  if (row.best)
    result.best = best_measurement{row.best->value, row.best->step};
  result.asked_steps = row.asked_to;
  result.delivered_steps = row.steps;
  result.shared_steps = row.shared;
  result.failure = row.failure;
  result.chosen = row.why.how;
  result.predicted = row.why.predicted;
  result.untrained = row.why.untrained;
  return result;
}

event_view view_of(const stored_event& event) {
  event_view result;
  result.id = event.id;
  result.time = event.time;
  if (const auto* measured = std::get_if<trial_measured>(&event.what)) {
    result.trial = measured->trial;
    result.step = measured->at;
    result.measured = measured->values;
  } else if (const auto* failed = std::get_if<trial_failed>(&event.what)) {
    result.trial = failed->trial;
    result.step = failed->at;
    result.failure = failed->reason.message;
  } else if (const auto* chosen = std::get_if<trial_chosen>(&event.what)) {
    result.trial = chosen->trial;
    result.chosen = chosen->what.why.how;
  } else {
    const auto& command = std::get<study_command>(event.what);
    result.trial = command.trial;
    result.step = command.at;
    result.command = command_view{to_string(command.what), command.text};
  }
  return result;
}

front_view view_of(told_front told) {
  front_view result;
  for (auto& x : told.wanted.metrics)
    result.goals.push_back({std::move(x.metric), x.direction});
  for (const auto& x : told.wanted.constraints)
    result.constraints.push_back(to_text(x));
  for (auto& x : told.front.points)
    result.points.push_back({x.trial, x.step, std::move(x.values)});
  result.hypervolume = told.front.hypervolume;
  result.reference = std::move(told.front.reference);
  return result;
}

expected<std::set<std::string>> varied_by(state_reader& store, study_id study,
                                          const study_spec& spec) {
  auto result = spec.space.varied();
  const auto commands =
    store.load_commands(study, study_command::verb::set_space);
  if (!commands)
    return commands.failure();
  workload_descriptor any;
  any.open = true;
  for (const auto& x : *commands)
    if (const auto next =
          read_new_space(x.text, spec, any, name_rules::of_before))
      result.merge(next->space.varied());
  return result;
}

} // namespace hippo
