#include "gateway/study_columns.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/limits.hpp"
#include "hippo/importance/importance.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t rows_per_read = 10'000;

std::string text_of(const json& x) {
  return x.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

/// Shows each trial of a study to `f`.
std::optional<error>
for_each_trial(state_reader& store, std::uint64_t study,
               const std::function<void(const stored_trial&)>& f) {
  std::uint64_t first = 0;
  for (;;) {
    const auto part = store.load_trials(study, first, rows_per_read);
    if (!part)
      return part.failure();
    if (part->empty())
      return std::nullopt;
    for (const auto& x : *part)
      f(x);
    first = part->back().trial + 1;
  }
}

/// Shows each measurement of a study to `f`, until it returns false.
std::optional<error> for_each_result(
  state_reader& store, std::uint64_t study,
  const std::function<bool(const trial_measured&, double time)>& f) {
  std::uint64_t after = 0;
  for (;;) {
    const auto part = store.load_events(study, after, rows_per_read);
    if (!part)
      return part.failure();
    if (part->empty())
      return std::nullopt;
    for (const auto& x : *part)
      if (const auto* measured = std::get_if<trial_measured>(&x.what))
        if (!f(*measured, x.time))
          return std::nullopt;
    after = part->back().id;
  }
}

/// A value of a hyper-parameter: a number as it is, all else in short.
json cell(const json& x) {
  return x.is_number() ? x : json(brief({{"x", x}}).substr(2));
}

/// A number, or null for what JSON does not know.
json number(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }

/// Where a configuration differs from that of the stage before, among those
/// that may.
std::string difference(configuration x, const configuration* before,
                       const std::set<std::string>& varied) {
  std::erase_if(x, [&](const auto& y) {
    if (!varied.contains(y.first))
      return true;
    if (before == nullptr)
      return false;
    const auto i = before->find(y.first);
    return i != before->end() && i->second == y.second;
  });
  return to_text(x);
}

} // namespace

expected<std::string> table_columns(state_reader& store, std::uint64_t study) {
  auto trial = json::array(), state = json::array(), value = json::array(),
       step = json::array(), steps = json::array(), asked = json::array(),
       shared = json::array();
  json failures = json::object();
  std::map<std::string, std::vector<json>> params;
  std::size_t rows = 0;
  const auto why = for_each_trial(store, study, [&](const stored_trial& x) {
    trial.push_back(x.trial);
    state.push_back(to_string(x.state));
    value.push_back(x.best ? number(x.best->value) : json(nullptr));
    step.push_back(x.best ? json(x.best->step) : json(nullptr));
    steps.push_back(x.steps);
    asked.push_back(x.asked_to);
    shared.push_back(x.shared);
    if (!x.failure.empty())
      failures[std::to_string(x.trial)] = x.failure;
    const auto values = json::parse(x.params, nullptr, false);
    if (values.is_object())
      for (const auto& [name, y] : values.items()) {
        auto& column = params[name];
        column.resize(rows); // null where a trial has no such
        column.push_back(cell(y));
      }
    ++rows;
  });
  if (why)
    return *why;
  json columns = json::object();
  for (auto& [name, column] : params) {
    column.resize(rows);
    columns[name] = std::move(column);
  }
  return text_of({{"trial", std::move(trial)},
                  {"state", std::move(state)},
                  {"value", std::move(value)},
                  {"step", std::move(step)},
                  {"steps", std::move(steps)},
                  {"asked_steps", std::move(asked)},
                  {"shared_steps", std::move(shared)},
                  {"params", std::move(columns)},
                  {"failures", std::move(failures)}});
}

expected<std::string> curve_columns(state_reader& store,
                                    const stored_study& study) {
  auto trial = json::array(), step = json::array(), value = json::array(),
       time = json::array();
  bool whole = true;
  const auto why = for_each_result(
    store, study.id, [&](const trial_measured& x, double at) {
      if (trial.size() == exported_results_max) {
        whole = false;
        return false;
      }
      const auto i = x.values.find(study.metric);
      trial.push_back(x.trial);
      step.push_back(x.at);
      value.push_back(i == x.values.end() ? json(nullptr) : number(i->second));
      time.push_back(std::round(at * 1000) / 1000);
      return true;
    });
  if (why)
    return *why;
  return text_of({{"metric", study.metric},
                  {"whole", whole},
                  {"trial", std::move(trial)},
                  {"step", std::move(step)},
                  {"value", std::move(value)},
                  {"time", std::move(time)}});
}

expected<std::string> tree_columns(state_reader& store, std::uint64_t study,
                                   const std::string& workload_key,
                                   const std::set<std::string>& varied) {
  std::map<std::uint64_t, std::pair<std::uint64_t, step_t>> last; // by trial
  if (auto why = for_each_result(
        store, study, [&](const trial_measured& x, double) {
          auto& known = last[x.trial];
          if (x.at >= known.second && x.node != 0)
            known = {x.node, x.at};
          return true;
        }))
    return *why;
  const auto plan = store.load_plan(workload_key);
  if (!plan)
    return plan.failure();
  std::map<std::uint64_t, const stored_node*> nodes;
  for (const auto& x : plan->nodes)
    nodes.emplace(x.id, &x);
  // How far each node is trained for this study, and by how many trials.
  std::map<std::uint64_t, std::pair<step_t, std::uint64_t>> passed;
  for (const auto& [trial, where] : last) {
    auto end = where.second;
    for (auto i = nodes.find(where.first); i != nodes.end();
         i = nodes.find(i->second->parent)) {
      auto& known = passed[i->first];
      known.first = std::max(known.first, end);
      ++known.second;
      end = i->second->begin;
    }
  }
  auto id = json::array(), parent = json::array(), begin = json::array(),
       end = json::array(), trials = json::array(), label = json::array();
  for (const auto& [no, x] : passed) {
    if (id.size() == shown_stages_max)
      break;
    const auto& node = *nodes.at(no);
    const auto above = nodes.find(node.parent);
    id.push_back(no);
    parent.push_back(node.parent);
    begin.push_back(node.begin);
    end.push_back(x.first);
    trials.push_back(x.second);
    label.push_back(difference(
      node.config, above == nodes.end() ? nullptr : &above->second->config,
      varied));
  }
  auto trial = json::array(), node = json::array(), step = json::array();
  for (const auto& [no, where] : last) {
    trial.push_back(no);
    node.push_back(where.first);
    step.push_back(where.second);
  }
  return text_of({{"all_nodes", passed.size()},
                  {"id", std::move(id)},
                  {"parent", std::move(parent)},
                  {"begin", std::move(begin)},
                  {"end", std::move(end)},
                  {"trials", std::move(trials)},
                  {"label", std::move(label)},
                  {"at",
                   {{"trial", std::move(trial)},
                    {"node", std::move(node)},
                    {"step", std::move(step)}}}});
}

expected<std::string> importance_text(state_reader& store,
                                      const stored_study& study, step_t step) {
  const auto value_of = [&](const trial_measured& x) {
    const auto i = x.values.find(study.metric);
    return i == x.values.end() ? std::nan("") : i->second;
  };
  std::map<step_t, std::size_t> measured;
  if (step == 0) {
    const auto why = for_each_result(
      store, study.id, [&](const trial_measured& x, double) {
        if (std::isfinite(value_of(x)))
          ++measured[x.at];
        return true;
      });
    if (why)
      return *why;
    step = step_to_compare(measured).value_or(0);
  }
  std::map<std::uint64_t, double> values; // by trial
  if (const auto why = for_each_result(
        store, study.id, [&](const trial_measured& x, double) {
          const auto y = value_of(x);
          if (x.at == step && std::isfinite(y))
            values.emplace(x.trial, y);
          return values.size() < exported_results_max;
        }))
    return *why;
  if (values.size() < importance_trials_min)
    return {errc::invalid_argument,
            "study '" + study.name + "' has "
              + (step == 0 ? std::string{"no results"}
                           : std::to_string(values.size())
                               + " results at step " + std::to_string(step))
              + "; what the best tenth have in common takes at least "
              + std::to_string(importance_trials_min)};
  std::vector<compared_trial> trials;
  if (const auto why
      = for_each_trial(store, study.id, [&](const stored_trial& x) {
          if (const auto i = values.find(x.trial); i != values.end())
            trials.push_back(
              {json::parse(x.params, nullptr, false), i->second});
        }))
    return *why;
  const auto found = importance_of(trials, study.direction);
  auto parameters = json::array();
  for (const auto& x : found.parameters)
    parameters.push_back({{"parameter", x.name},
                          {"importance", x.importance},
                          {"share", x.share},
                          {"trials", x.trials}});
  return text_of({{"study", study.name},
                  {"metric", study.metric},
                  {"direction",
                   study.direction == direction::maximize ? "maximize"
                                                          : "minimize"},
                  {"step", step},
                  {"trials", found.trials},
                  {"best", found.best},
                  {"importance", std::move(parameters)},
                  {"constant", found.constant},
                  {"left_out", found.left_out}});
}

} // namespace hippo
