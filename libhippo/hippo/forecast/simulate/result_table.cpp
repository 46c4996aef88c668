#include "hippo/forecast/simulate/result_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "hippo/base/csv.hpp"
#include "hippo/base/number.hpp"
#include "hippo/forecast/simulate/draw.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/trial_defaults.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo {

namespace {

bool same(double x, double y) {
  return x == y || (std::isnan(x) && std::isnan(y));
}

} // namespace

/// Reads one table.
class result_table_reader {
public:
  result_table_reader(const std::string& name,
                      const workload_descriptor& workload,
                      result_table_file& out)
    : name_(&name), workload_(&workload), out_(&out) {}

  void read(const std::string& text) {
    if (text.size() > result_table_bytes_max) {
      tell(0, "is larger than "
                + std::to_string(result_table_bytes_max >> 20) + " MiB");
      return;
    }
    const auto lines = csv_lines(text);
    if (lines.empty()) {
      tell(0, "is empty: a table begins with the names of its columns");
      return;
    }
    read_header(lines.front());
    if (!out_->errors.empty())
      return; // rows would only be misunderstood
    for (std::size_t i = 1; i < lines.size(); ++i)
      read_row(lines[i]);
    if (table_.rows_ == 0 && out_->errors.empty())
      tell(0, "has no row");
    if (out_->errors.empty())
      out_->table = std::move(table_);
  }

private:
  /// What a column holds: a hyper-parameter, or a metric at a step.
  struct column {
    std::string name;
    step_t at = 0; ///< 0: a hyper-parameter
  };

  void tell(int line, std::string message) {
    if (out_->errors.size() < told_max)
      out_->errors.push_back({*name_, line, line == 0 ? 0 : 1, "",
                              std::move(message)});
  }

  // -- columns ----------------------------------------------------------------

  void read_header(const csv_line& line) {
    std::set<std::string> seen;
    std::set<std::string> measured;
    for (const auto& name : line.fields) {
      if (!seen.insert(name).second)
        tell(line.number, "has two columns '" + name + "'");
      const auto at = name.rfind('@');
      if (at == std::string::npos) {
        read_hyper_parameter(line.number, name);
        continue;
      }
      column x{name.substr(0, at), 0};
      const auto step = number_from<step_t>(name.substr(at + 1));
      if (!step || *step == 0) {
        tell(line.number, "column '" + name
                            + "': after '@' comes the step at which the metric "
                              "was measured, a whole number above 0");
        continue;
      }
      x.at = *step;
      if (std::ranges::find(metric_names(), x.name) == metric_names().end())
        tell(line.number,
             "column '" + name + "': "
               + unknown_text("metric", x.name, metric_names()));
      steps_ = std::max(steps_, x.at);
      measured.insert(x.name);
      columns_.push_back(std::move(x));
    }
    for (const auto& name : metric_names())
      if (!measured.contains(name))
        tell(line.number, "has no column of the metric '" + name
                            + "', such as '" + name + "@1'");
    if (table_.columns_.empty() && out_->errors.empty())
      tell(line.number, "has no column of a hyper-parameter");
    // Of two tables with the same columns, their order is no difference.
    std::ranges::sort(table_.columns_);
  }

  void read_hyper_parameter(int line, const std::string& name) {
    std::vector<std::string> known;
    for (const auto& x : workload_->hyper_parameters)
      known.push_back(x.name);
    if (std::ranges::find(known, name) == known.end())
      tell(line, "column '" + name
                   + "': " + unknown_text("hyper-parameter", name, known)
                   + "; a metric's column is named METRIC@STEP");
    columns_.push_back({name, 0});
    table_.columns_.push_back(name);
  }

  const std::vector<std::string>& metric_names() {
    if (metric_names_.empty())
      for (const auto& x : workload_->metrics)
        metric_names_.push_back(x.name);
    return metric_names_;
  }

  // -- rows -------------------------------------------------------------------

  void read_row(const csv_line& line) {
    if (line.fields.size() != columns_.size()) {
      tell(line.number, "has " + std::to_string(line.fields.size())
                          + " fields, the first line has "
                          + std::to_string(columns_.size()));
      return;
    }
    ++table_.rows_;
    std::string values;
    std::map<step_t, metrics> measured;
    bool good = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto& x = columns_[i];
      const auto& field = line.fields[i];
      if (field.empty())
        continue; // the default, or nothing was measured
      if (x.at == 0) {
        values += nlohmann::json(x.name).dump() + ": " + field + '\n';
        continue;
      }
      const auto value = number_from<double>(field);
      if (!value || std::isinf(*value)) {
        tell(line.number, x.name + '@' + std::to_string(x.at)
                            + ": must be a number, nan (diverged) or empty "
                              "(not measured), found '" + field + "'");
        good = false;
        continue;
      }
      measured[x.at].emplace(x.name, *value);
    }
    auto trial = read_parameters(values.empty() ? "{}" : values, steps_,
                                 *workload_, name_rules::of_before);
    if (!trial) {
      tell(line.number, trial.failure().message);
      return;
    }
    if (good)
      add(line.number, trial->sequences, measured);
  }

  void add(int line, std::map<std::string, sequence> sequences,
           const std::map<step_t, metrics>& measured) {
    const auto segments =
      trial_defaults{*workload_}.complete(std::move(sequences), steps_);
    result_table::state state = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto end = i + 1 < segments.size() ? segments[i + 1].begin : steps_;
      for (auto at = segments[i].begin; at < end; ++at) {
        state = table_.next(state, segments[i].config, at);
        const auto found = measured.find(at + 1);
        record(line, state, at + 1,
               found == measured.end() ? metrics{} : found->second);
      }
    }
  }

  /// Rows that are one training up to a step have measured the same there.
  void record(int line, result_table::state state, step_t at,
              const metrics& values) {
    const auto [i, is_new] = table_.states_.try_emplace(state);
    if (is_new)
      line_of_[state] = line;
    for (const auto& [name, value] : values) {
      const auto [known, is_first] = i->second.emplace(name, value);
      if (!is_first && !same(known->second, value))
        tell(line, "is the training of line "
                     + std::to_string(line_of_[state]) + " up to step "
                     + std::to_string(at) + ", but there " + name + " is "
                     + to_text(known->second) + " and here "
                     + to_text(value));
    }
  }

  const std::string* name_;
  const workload_descriptor* workload_;
  result_table_file* out_;
  std::vector<std::string> metric_names_;
  std::vector<column> columns_;
  step_t steps_ = 1;
  result_table table_;
  std::unordered_map<result_table::state, int> line_of_;
};

result_table::state result_table::next(state current,
                                       const configuration& config,
                                       step_t at) const {
  auto result = hash_numbers({current, at});
  for (const auto& name : columns_)
    result = hash_numbers({result, hash_scalar(config.at(name).at(at))});
  return result;
}

const metrics* result_table::find(state current) const {
  const auto i = states_.find(current);
  return i == states_.end() ? nullptr : &i->second;
}

std::optional<std::string>
result_table::misses(const std::vector<segment>& trial, step_t steps,
                     step_t every) const {
  state now = 0;
  auto next_segment = trial.begin();
  const configuration* config = nullptr;
  for (step_t at = 0; at < steps; ++at) {
    if (next_segment != trial.end() && next_segment->begin == at)
      config = &(next_segment++)->config;
    now = next(now, *config, at);
    const auto* found = find(now);
    if (found == nullptr)
      return "no row goes on like it beyond step " + std::to_string(at);
    const bool is_measured = (at + 1) % every == 0 || at + 1 == steps;
    if (is_measured && found->empty())
      return "it was not measured at step " + std::to_string(at + 1);
  }
  return std::nullopt;
}

result_table_file read_result_table(const std::string& text,
                                    const std::string& name,
                                    const workload_descriptor& workload) {
  result_table_file result;
  result_table_reader{name, workload, result}.read(text);
  return result;
}

} // namespace hippo
