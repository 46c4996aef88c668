#include "client_listings.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

json text_or_null(const std::string& x) {
  return x.empty() ? json(nullptr) : json(x);
}

json number_or_null(const std::optional<double>& x) {
  return x ? json(*x) : json();
}

/// Whether a study's cost says anything.
bool has_cost(const study_summary& x) { return x.cost > 0 || x.cost_max; }

/// Returns the names of all parameters, in the order in which they come.
std::vector<std::string> parameter_names(const std::vector<json>& params) {
  std::vector<std::string> result;
  for (const auto& x : params)
    if (x.is_object())
      for (const auto& item : x.items())
        if (std::find(result.begin(), result.end(), item.key())
            == result.end())
          result.push_back(item.key());
  return result;
}

std::string joined(const std::vector<std::string>& xs) {
  std::string result;
  for (const auto& x : xs)
    result += (result.empty() ? "" : ", ") + x;
  return result;
}

bool has_column(const listing& x, const std::string& name) {
  return std::any_of(x.columns.begin(), x.columns.end(),
                     [&name](const auto& y) { return y.name == name; });
}

} // namespace

json read_json(const std::string& text) {
  auto result = json::parse(text, nullptr, false);
  return result.is_discarded() ? json(text) : result;
}

std::optional<told_front> front_of(const study_summary& x) {
  if (x.front.empty())
    return std::nullopt;
  auto told = front_from_json(x.front);
  if (!told)
    return std::nullopt;
  return std::move(*told);
}

std::optional<front_so_far> front_in_brief(const study_summary& x) {
  const auto told = front_of(x);
  if (!told || !told->has_several())
    return std::nullopt;
  return front_so_far{told->front.points.size(), told->front.hypervolume};
}

listing list_studies(const std::vector<study_summary>& studies) {
  const bool any_front = std::ranges::any_of(studies, [](const auto& x) {
    const auto told = front_of(x);
    return told && told->has_several();
  });
  const bool any_waits = std::ranges::any_of(
    studies, [](const auto& x) { return !x.waiting.empty(); });
  listing result;
  result.columns = {{"id", cell_look::number},
                    {"name", cell_look::text, true, 0, true},
                    {"state", cell_look::text, true, 0, true},
                    {"waiting", cell_look::text, any_waits},
                    {"done", cell_look::number},
                    {"trials", cell_look::number},
                    {"best", cell_look::number},
                    {"front", cell_look::number, any_front, 5},
                    {"hypervolume", cell_look::number, any_front, 6},
                    {"steps", cell_look::number, true, 2},
                    {"asked", cell_look::number, true, 4},
                    {"shared", cell_look::number, true, 3},
                    {"saved", cell_look::duration, true, 1},
                    {"active", cell_look::duration, false},
                    {"cost", cell_look::number, false},
                    {"budget", cell_look::number, false},
                    {"left", cell_look::duration, false},
                    {"deadline", cell_look::duration, false},
                    {"metric", cell_look::text, false},
                    {"direction", cell_look::text, false},
                    {"constraints", cell_look::text, false},
                    {"best_trial", cell_look::number, false},
                    {"best_step", cell_look::number, false},
                    {"best_params", cell_look::brief, false},
                    {"algorithm", cell_look::text, false},
                    {"workload", cell_look::text, false},
                    {"weight", cell_look::number, false},
                    {"reason", cell_look::text, false, 0, false, true},
                    {"uid", cell_look::text, false}};
  for (const auto& x : studies) {
    json value;
    json trial;
    json step;
    json params;
    if (x.best && x.best->best) {
      value = x.best->best->value;
      trial = x.best->trial;
      step = x.best->best->step;
      params = read_json(x.best->params);
    }
    goals wanted{{{x.metric, x.direction}}, {}};
    json points, volume;
    if (auto told = front_of(x)) {
      if (told->has_several()) {
        points = told->front.points.size();
        volume = told->front.hypervolume ? json(*told->front.hypervolume)
                                         : json();
      }
      wanted = std::move(told->wanted);
    }
    std::string names, directions, constraints;
    for (const auto& goal : wanted.metrics) {
      const auto* between = names.empty() ? "" : ", ";
      names += between + goal.metric;
      directions += between
                    + std::string{goal.direction == direction::maximize
                                    ? "maximize"
                                    : "minimize"};
    }
    for (const auto& constraint : wanted.constraints)
      constraints += (constraints.empty() ? "" : ", ") + to_text(constraint);
    result.rows.push_back({x.id, x.name, x.state, text_or_null(x.waiting),
                           x.finished, x.trials, value, points, volume,
                           x.delivered_steps, x.asked_steps, x.shared_steps,
                           x.saved_seconds, x.active_seconds,
                           has_cost(x) ? json(x.cost) : json(),
                           number_or_null(x.cost_max),
                           number_or_null(x.seconds_left),
                           number_or_null(x.deadline_left), names,
                           directions, text_or_null(constraints), trial, step,
                           params, x.algorithm, x.workload, x.weight,
                           text_or_null(x.reason), text_or_null(x.uid)});
  }
  return result;
}

listing list_trials(const std::vector<trial_summary>& trials,
                    const json& measured, const goals& wanted) {
  const bool has_several = !wanted.metrics.empty();
  const bool any_failure = std::ranges::any_of(
    trials, [](const auto& x) { return !x.failure.empty(); });
  listing result;
  result.columns = {{"trial", cell_look::number},
                    {"state"},
                    {"best", cell_look::number, !has_several},
                    {"step", cell_look::number},
                    {"steps", cell_look::number},
                    {"asked", cell_look::number},
                    {"shared", cell_look::number},
                    {"params", cell_look::brief},
                    {"failure", cell_look::text, any_failure, 0, false, true},
                    {"chosen", cell_look::text, false},
                    {"predicted", cell_look::number, false},
                    {"untrained", cell_look::number, false}};
  std::map<std::uint64_t, std::size_t> places; // of trials in `measured`
  if (measured.is_object())
    for (std::size_t i = 0; i < measured.at("trial").size(); ++i)
      places[measured.at("trial")[i].get<std::uint64_t>()] = i;
  // Two columns of one name would be useless.
  const auto add_column = [&](std::string name, const char* prefix,
                              cell_look look, bool shown) {
    while (has_column(result, name))
      name.insert(0, prefix);
    result.columns.push_back({name, look, shown});
  };
  for (const auto& goal : wanted.metrics)
    add_column(goal.metric, "metrics_", cell_look::number, true);
  std::vector<json> params;
  for (const auto& x : trials)
    params.push_back(read_json(x.params));
  const auto names = parameter_names(params);
  for (const auto& name : names)
    add_column(name, "params_", cell_look::brief, false);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto& x = trials[i];
    std::vector<json> row{x.trial,
                          to_string(x.state),
                          x.best && !has_several ? json(x.best->value) : json(),
                          x.best ? json(x.best->step) : json(),
                          x.steps,
                          x.asked_steps,
                          x.shared_steps,
                          params[i],
                          text_or_null(x.failure),
                          text_or_null(x.chosen),
                          x.predicted ? json(*x.predicted) : json(),
                          x.untrained ? json(*x.untrained) : json()};
    const auto place = places.find(x.trial);
    for (const auto& goal : wanted.metrics)
      row.push_back(place == places.end()
                        || !measured.at("values").contains(goal.metric)
                      ? json()
                      : measured.at("values")[goal.metric][place->second]);
    for (const auto& name : names)
      row.push_back(params[i].is_object() && params[i].contains(name)
                      ? params[i][name]
                      : json());
    result.rows.push_back(std::move(row));
  }
  return result;
}

listing list_trainers(const std::vector<trainer_summary>& trainers,
                      bool all) {
  // What is the same everywhere tells nothing, and takes the room of the rest.
  const bool in_lanes = std::ranges::any_of(
    trainers, [](const auto& x) { return x.lease && x.lease->lanes > 1; });
  const bool any_machine = std::ranges::any_of(
    trainers, [](const auto& x) { return !x.machine.empty(); });
  const bool any_unpriced = std::ranges::any_of(
    trainers, [&](const auto& x) {
      return !x.unpriced.empty() && (all || x.lost.empty());
    });
  const bool differ = std::ranges::any_of(trainers, [&](const auto& x) {
    return x.device != trainers.front().device;
  });
  listing result;
  result.columns = {{"number", cell_look::number},
                    {"name"},
                    {"state"},
                    {"study"},
                    {"what"},
                    {"step", cell_look::number},
                    {"to", cell_look::number},
                    {"lanes", cell_look::number, in_lanes},
                    {"steps/s", cell_look::number},
                    {"device", cell_look::text, differ},
                    {"lost", cell_look::text, false},
                    {"memory_bytes", cell_look::number, false},
                    {"driver", cell_look::text, false},
                    {"compute_capability", cell_look::text, false},
                    {"sick", cell_look::text, false},
                    {"machine", cell_look::text, any_machine},
                    {"price", cell_look::number, any_machine},
                    {"work_cost", cell_look::number, any_machine},
                    {"idle_cost", cell_look::number, any_machine},
                    {"unpriced", cell_look::text, any_unpriced},
                    {"notice", cell_look::number, false},
                    {"failures", cell_look::number, false},
                    {"failed", cell_look::text, false},
                    {"held_up", cell_look::text, false}};
  for (const auto& x : trainers) {
    if (!x.lost.empty() && !all)
      continue;
    const auto priced = [&](double cost) {
      return x.machine.empty() ? json() : json(cost);
    };
    const auto* const state = !x.lost.empty()      ? "gone"
                              : !x.held_up.empty() ? "held up"
                              : x.lease            ? "busy"
                              : !x.sick.empty()    ? "sick"
                                                   : "idle";
    result.rows.push_back({x.number, x.name, state,
                           x.lease ? json(joined(x.lease->studies)) : json(),
                           x.lease ? json(x.lease->what) : json(),
                           x.lease ? json(x.lease->at) : json(),
                           x.lease ? json(x.lease->to) : json(),
                           x.lease ? json(x.lease->lanes) : json(),
                           x.lease ? json(x.lease->steps_per_second) : json(),
                           x.device, text_or_null(x.lost), x.memory_bytes,
                           text_or_null(x.driver),
                           text_or_null(x.compute_capability),
                           text_or_null(x.sick), text_or_null(x.machine),
                           priced(x.price), priced(x.work_cost),
                           priced(x.idle_cost), text_or_null(x.unpriced),
                           x.notice_seconds, x.failures,
                           text_or_null(x.failed), text_or_null(x.held_up)});
  }
  return result;
}

} // namespace hippo
