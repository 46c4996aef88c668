#include <algorithm>
#include <sstream>
#include <vector>

#include "hippo/base/number.hpp"
#include "hippo/base/whole_file.hpp"
#include "hippo/report/csv_row.hpp"
#include "hippo/report/ranking.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

/// A field of RFC 4180.
std::string quoted(const std::string& x) {
  if (x.find_first_of(",\"\r\n") == std::string::npos)
    return x;
  std::string result = "\"";
  for (char c : x) {
    if (c == '"')
      result += '"';
    result += c;
  }
  return result + '"';
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a trial has measured of a metric at a step, empty if nothing.
std::string value_at(const trial_record& trial, step_t step,
                     const std::string& metric) {
  for (const auto& x : trial.results)
    if (x.step == step)
      if (const auto i = x.values.find(metric); i != x.values.end())
        return to_text(i->second);
  return {};
}

} // namespace

std::string csv_row(const std::vector<std::string>& fields) {
  std::string result;
  for (std::size_t i = 0; i < fields.size(); ++i)
    result += (i == 0 ? "" : ",") + quoted(fields[i]);
  return result + "\r\n";
}

std::string trials_csv(const run_record& record) {
  std::vector<std::string> params; // in the order in which they are first seen
  for (const auto& study : record.studies)
    for (const auto& trial : study.trials)
      if (trial.params.is_object())
        for (const auto& item : trial.params.items())
          if (!has(params, item.key()))
            params.push_back(item.key());

  std::vector<std::string> header{"study",     "trial",        "state",
                                  "steps",     "shared_steps", "best_step",
                                  "best_value"};
  std::vector<std::string> goals; // of studies that have several
  for (const auto& study : record.studies)
    if (study.wanted.metrics.size() > 1)
      for (const auto& goal : study.wanted.metrics)
        if (!has(goals, goal.metric))
          goals.push_back(goal.metric);
  // Two columns of one name would be useless to most readers.
  const auto add_column = [&](std::string name, const char* prefix) {
    while (has(header, name))
      name.insert(0, prefix);
    header.push_back(name);
  };
  for (const auto& name : goals)
    add_column("best_" + name, "metrics_");
  for (const auto& name : params)
    add_column(name, "params_");
  auto result = csv_row(header);
  for (const auto& study : record.studies) {
    for (const auto& trial : study.trials) {
      const auto best = best_of(trial, study);
      std::vector<std::string> fields{study.name,
                                      std::to_string(trial.id),
                                      to_string(trial.state),
                                      std::to_string(trial.steps),
                                      std::to_string(trial.shared_steps),
                                      best ? std::to_string(best->step) : "",
                                      best ? to_text(best->value) : ""};
      for (const auto& name : goals)
        fields.push_back(best ? value_at(trial, best->step, name) : "");
      for (const auto& name : params)
        fields.push_back(trial.params.is_object() && trial.params.contains(name)
                           ? plain_text(trial.params[name])
                           : "");
      result += csv_row(fields);
    }
  }
  return result;
}

expected<std::monostate>
write_csv(const std::string& file,
          const std::function<void(std::ostream&)>& rows) {
  std::ostringstream out;
  rows(out);
  if (auto why = write_whole(file, out.view()))
    return *why;
  return std::monostate{};
}

} // namespace hippo
