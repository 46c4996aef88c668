#include "client_listings.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/report/progress.hpp"
#include "hippo/report/view_columns.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

json text_or_null(const std::string& x) {
  return x.empty() ? json(nullptr) : json(x);
}

/// Whether a study's cost says anything.
bool has_cost(const study_view& x) { return x.cost > 0 || x.cost_max; }

/// Lists views.
/// @param columns those whose values are fields of the views
/// @param computed those that follow from several fields
/// @param order names of columns; others come behind these
/// @param views their JSON
/// @param values those of the computed columns, by name, for each view
listing list_views(const std::vector<view_column>& columns,
                   std::vector<listing_column> computed,
                   const std::vector<std::string>& order,
                   const std::vector<json>& views,
                   const std::vector<json>& values) {
  std::map<std::string, const char*> fields; // of views, by column
  listing result;
  result.columns = std::move(computed);
  for (auto x : columns) {
    fields[x.column.name] = x.field;
    if (x.if_any)
      x.column.shown = std::ranges::any_of(
        views, [&](const json& y) { return !y.at(x.field).is_null(); });
    result.columns.push_back(std::move(x.column));
  }
  std::ranges::stable_sort(result.columns, {}, [&](const listing_column& x) {
    return std::ranges::find(order, x.name) - order.begin();
  });
  for (std::size_t i = 0; i < views.size(); ++i) {
    auto& row = result.rows.emplace_back();
    for (const auto& x : result.columns) {
      const auto field = fields.find(x.name);
      row.push_back(field == fields.end() ? values[i].at(x.name)
                                          : views[i].at(field->second));
    }
  }
  return result;
}

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

listing list_studies(const std::vector<study_view>& studies) {
  const bool any_front = std::ranges::any_of(studies, has_several_metrics);
  const bool any_tags =
    std::ranges::any_of(studies, [](const auto& x) { return !x.tags.empty(); });
  const std::vector<listing_column> computed{
    {"best", cell_look::number},
    {"front", cell_look::number, any_front, 5},
    {"hypervolume", cell_look::number, any_front, 6},
    {"cost", cell_look::number, false},
    {"tags", cell_look::text, any_tags, 7},
    {"metric", cell_look::text, false},
    {"direction", cell_look::text, false},
    {"constraints", cell_look::text, false},
    {"best_trial", cell_look::number, false},
    {"best_step", cell_look::number, false},
    {"best_params", cell_look::brief, false}};
  std::vector<json> views, values;
  for (const auto& x : studies) {
    views.push_back(to_json(x));
    auto& y = values.emplace_back();
    const bool has_best = x.best && x.best->best;
    y["best"] = has_best ? json(x.best->best->value) : json();
    y["best_trial"] = has_best ? json(x.best->trial) : json();
    y["best_step"] = has_best ? json(x.best->best->step) : json();
    y["best_params"] = has_best ? read_json(x.best->params) : json();
    y["cost"] = has_cost(x) ? json(x.cost) : json();
    y["tags"] = x.tags.empty() ? json() : json(list_of(x.tags));
    front_view wanted{{{x.metric, x.direction}}, {}, {}, {}, {}};
    y["front"] = y["hypervolume"] = json();
    if (const auto front = front_in_brief(x)) {
      y["front"] = front->points;
      if (front->hypervolume)
        y["hypervolume"] = *front->hypervolume;
    }
    if (x.front)
      wanted = *x.front;
    std::string names, directions;
    for (const auto& goal : wanted.goals) {
      const auto* between = names.empty() ? "" : ", ";
      names += between + goal.metric;
      directions += between
                    + std::string{goal.direction == direction::maximize
                                    ? "maximize"
                                    : "minimize"};
    }
    y["metric"] = names;
    y["direction"] = directions;
    y["constraints"] = text_or_null(joined(wanted.constraints));
  }
  return list_views(columns_of_study_view(), computed,
                    {"id",          "name",       "state",     "waiting",
                     "finished",    "trials",     "best",      "front",
                     "hypervolume", "steps",      "asked",     "shared",
                     "saved_seconds", "active", "cost", "budget",
                     "seconds_left", "deadline_seconds_left", "metric",
                     "direction", "constraints", "best_trial", "best_step",
                     "best_params", "algorithm", "workload", "weight", "reason",
                     "uid"},
                    views, values);
}

listing list_trials(const std::vector<trial_view>& trials,
                    const json& measured,
                    const std::vector<goal_view>& goals) {
  const bool has_several = !goals.empty();
  const std::vector<listing_column> computed{
    {"best", cell_look::number, !has_several},
    {"step", cell_look::number},
    {"params", cell_look::brief}};
  std::vector<json> views, values, params;
  for (const auto& x : trials) {
    views.push_back(to_json(x));
    params.push_back(read_json(x.params));
    values.push_back(
      {{"best", x.best && !has_several ? json(x.best->value) : json()},
       {"step", x.best ? json(x.best->step) : json()},
       {"params", params.back()}});
  }
  auto result = list_views(columns_of_trial_view(), computed,
                           {"trial", "state", "best", "spread", "step", "steps",
                            "asked", "shared", "params", "failure", "chosen",
                            "predicted", "untrained"},
                           views, values);
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
  for (const auto& goal : goals)
    add_column(goal.metric, "metrics_", cell_look::number, true);
  const auto names = parameter_names(params);
  for (const auto& name : names)
    add_column(name, "params_", cell_look::brief, false);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto& x = trials[i];
    auto& row = result.rows[i];
    const auto place = places.find(x.trial);
    for (const auto& goal : goals)
      row.push_back(place == places.end()
                        || !measured.at("values").contains(goal.metric)
                      ? json()
                      : measured.at("values")[goal.metric][place->second]);
    for (const auto& name : names)
      row.push_back(params[i].is_object() && params[i].contains(name)
                      ? params[i][name]
                      : json());
  }
  return result;
}

listing list_trainers(const std::vector<trainer_view>& trainers,
                      bool all) {
  // What is the same everywhere tells nothing, and takes the room of the rest.
  const bool in_lanes = std::ranges::any_of(
    trainers, [](const auto& x) { return x.lease && x.lease->lanes > 1; });
  const bool in_gangs = std::ranges::any_of(
    trainers, [](const auto& x) { return x.lease && x.lease->members > 1; });
  const bool any_machine = std::ranges::any_of(
    trainers, [](const auto& x) { return !x.machine.empty(); });
  const bool any_unpriced = std::ranges::any_of(
    trainers, [&](const auto& x) {
      return !x.unpriced.empty() && (all || x.lost.empty());
    });
  const bool differ = std::ranges::any_of(trainers, [&](const auto& x) {
    return x.device != trainers.front().device;
  });
  auto columns = columns_of_trainer_view();
  const auto show = [&](const std::set<std::string>& names, bool shown) {
    for (auto& x : columns)
      if (names.contains(x.column.name))
        x.column.shown = shown;
  };
  show({"device"}, differ);
  show({"machine", "price", "work_cost", "idle_cost"}, any_machine);
  show({"unpriced"}, any_unpriced);
  const std::vector<listing_column> computed{
    {"state"},
    {"study"},
    {"values", cell_look::text, true, 0, false, false, "what"},
    {"step", cell_look::number},
    {"to_step", cell_look::number, true, 0, false, false, "to"},
    {"lanes", cell_look::number, in_lanes},
    {"members", cell_look::number, in_gangs},
    {"steps/s", cell_look::number}};
  std::vector<json> views, values;
  for (const auto& x : trainers) {
    if (!x.lost.empty() && !all)
      continue;
    views.push_back(to_json(x));
    const auto* const state = !x.lost.empty()      ? "gone"
                              : !x.held_up.empty() ? "held up"
                              : x.lease            ? "busy"
                              : !x.sick.empty()    ? "sick"
                                                   : "idle";
    const auto lease = x.lease ? to_json(*x.lease) : json::object();
    values.push_back(
      {{"state", state},
       {"study", x.lease ? json(joined(x.lease->studies)) : json()},
       {"values", lease.value("values", json())},
       {"step", lease.value("step", json())},
       {"to_step", lease.value("to_step", json())},
       {"lanes", lease.value("lanes", json())},
       {"members", lease.value("members", json())},
       {"steps/s", lease.value("steps_per_second", json())}});
  }
  return list_views(columns, computed,
                    {"trainer",        "name",      "state",
                     "study",          "values",    "step",
                     "to_step",        "lanes",     "members",
                     "steps/s",        "device",    "lost",
                     "memory_bytes",   "driver",    "compute_capability",
                     "sick",           "machine",   "price",
                     "work_cost",      "idle_cost", "unpriced",
                     "notice_seconds", "failures",  "failure",
                     "held_up"},
                    views, values);
}

} // namespace hippo
