#include "hippo/forecast/simulate/profile.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "hippo/base/nearest.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/value_reader.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

using kind = document::kind;

constexpr auto infinity = std::numeric_limits<double>::infinity();

/// The longest time that a profile may give, so that sums of many fit into 64
/// bits of nanoseconds.
constexpr double seconds_max = 1e6;

/// The range that a number of a profile may lie in.
struct limits {
  double min = -infinity;
  double max = infinity;
  bool min_excluded = false;
  bool max_excluded = false;
  bool integer = false;
};

constexpr limits any{};
constexpr limits at_least_0{.min = 0};
constexpr limits at_least_1{.min = 1};
constexpr limits above_0{.min = 0, .min_excluded = true};
constexpr limits seconds{.min = 0, .max = seconds_max};
constexpr limits step_limits{
  .min = 0, .max = seconds_max, .min_excluded = true};

class profile_reader : value_reader {
public:
  profile_reader(const document& root, diagnostics& notes,
                 const std::vector<workload_descriptor>& workloads)
    : value_reader(notes), root_(&root), notes_(&notes),
      workloads_(&workloads) {}

  simulation_profile read() {
    known_keys(*root_, "key",
               {"device", "workload", "step_seconds", "spread",
                "dispatch_seconds", "load_seconds", "save_seconds",
                "evaluate_seconds", "checkpoint_bytes", "at_once_gain",
                "members", "failure_rate", "size", "curve"});
    if (const auto* x = required(*root_, "device"))
      result_.device = word(*x).value_or("");
    read_workload();
    if (const auto* x = required(*root_, "step_seconds"))
      read_step_seconds(*x);
    take(*root_, "spread", {.min = 0, .max = 10}, result_.spread);
    take(*root_, "dispatch_seconds", seconds, result_.dispatch_seconds);
    take(*root_, "load_seconds", seconds, result_.load_seconds);
    take(*root_, "save_seconds", seconds, result_.save_seconds);
    take(*root_, "evaluate_seconds", seconds, result_.evaluate_seconds);
    double bytes = 0;
    take(*root_, "checkpoint_bytes", {.min = 0, .max = 1e15, .integer = true},
         bytes);
    result_.checkpoint_bytes = static_cast<std::uint64_t>(bytes);
    take(*root_, "at_once_gain", {.min = 1, .max = lanes_max},
         result_.at_once_gain);
    if (const auto* x = root_->find("members"))
      read_members(*x);
    take(*root_, "failure_rate", {.min = 0, .max = 1}, result_.failure_rate);
    if (const auto* size = root_->find("size")) {
      known_keys(*size, "key", {"operations", "parameters", "samples"});
      take(*size, "operations", at_least_0, result_.size.operations);
      take(*size, "parameters", at_least_0, result_.size.parameters);
      take(*size, "samples", at_least_0, result_.size.samples);
    }
    const auto* curve = root_->find("curve");
    if (curve == nullptr)
      draw_curve();
    else if (is_map(*curve, "table, or sharpness, flatness and so on"))
      read_curve(*curve);
    return std::move(result_);
  }

private:
  // -- values ----------------------------------------------------------------

  std::optional<scalar> number_or_word(const document& x) {
    if (x.type != kind::leaf) {
      notes_->error(x, "must be a number or a word, found " + x.found());
      return {};
    }
    return to_scalar(x);
  }

  /// Says why `x` is not what `allowed` describes; whether it is.
  bool accepts(const parameter_descriptor& allowed, const scalar& value,
               const document& x) {
    const auto reason = allowed.refuses(value);
    if (reason)
      notes_->error(x, *reason + ", found " + x.found());
    return !reason;
  }

  std::optional<double> number(const document& x, const limits& range) {
    if (x.type != kind::leaf) {
      notes_->error(x, "must be a number, found " + x.found());
      return {};
    }
    parameter_descriptor allowed;
    allowed.fallback = 0.0;
    allowed.min = range.min;
    allowed.max = range.max;
    allowed.min_excluded = range.min_excluded;
    allowed.max_excluded = range.max_excluded;
    allowed.integer = range.integer;
    const auto value = number_or_word(x);
    if (!accepts(allowed, *value, x))
      return {};
    return std::get<double>(*value);
  }

  /// Reads the number under `key`, if it is there, into `out`.
  void take(const document& x, const std::string& key, const limits& range,
            double& out) {
    if (const auto* found = x.find(key))
      out = number(*found, range).value_or(out);
  }

  void take_required(const document& x, const std::string& key,
                     const limits& range, double& out) {
    if (required(x, key) != nullptr)
      take(x, key, range, out);
  }

  void take(const document& x, const std::string& key, bool& out) {
    if (const auto* found = x.find(key))
      out = truth(*found).value_or(out);
  }

  void take(const document& x, const std::string& key, std::string& out) {
    if (const auto* found = x.find(key))
      out = word(*found).value_or(out);
  }

  // -- workload --------------------------------------------------------------

  void read_workload() {
    const auto* x = required(*root_, "workload");
    if (x == nullptr)
      return;
    if (x->type == kind::map) {
      describe_workload(*x);
      return;
    }
    const auto name = word(*x);
    if (!name)
      return;
    std::vector<std::string> known;
    for (const auto& candidate : *workloads_) {
      if (candidate.open)
        continue; // what trains there is not known
      known.push_back(candidate.name);
      if (candidate.name == *name) {
        result_.workload = candidate;
        workload_known_ = true;
      }
    }
    if (!workload_known_)
      notes_->error(*x, unknown_text("workload", *name, known));
  }

  void describe_workload(const document& x) {
    known_keys(
      x, "key",
      {"name", "meaning", "unit", "hyper_parameters", "options", "metrics"});
    auto& out = result_.workload;
    if (required(x, "name") != nullptr)
      take(x, "name", out.name);
    take(x, "meaning", out.meaning);
    take(x, "unit", out.unit);
    const auto errors = notes_->errors();
    if (const auto* list = required(x, "hyper_parameters");
        list && is_map(*list, "hyper-parameters"))
      for (const auto& entry : list->entries)
        out.hyper_parameters.push_back(parameter(entry));
    if (const auto* list = x.find("options"); list && is_map(*list, "options"))
      for (const auto& entry : list->entries)
        out.options.push_back(parameter(entry));
    for (const auto& y : out.hyper_parameters)
      if (!y.min_option.empty()
          && std::ranges::none_of(
            out.options, [&](const auto& z) { return z.name == y.min_option; }))
        notes_->error(x, "'" + y.name + "' has the min_option '" + y.min_option
                           + "', but there is no such option");
    if (const auto* list = required(x, "metrics");
        list && is_map(*list, "metrics and their directions"))
      for (const auto& entry : list->entries)
        read_metric(entry);
    // What refers to a part that cannot be read is no further error.
    workload_known_ = notes_->errors() == errors;
  }

  parameter_descriptor parameter(const document::entry& entry) {
    parameter_descriptor result;
    result.name = entry.key;
    const auto& x = entry.value;
    if (!is_map(x, "default, min, max"))
      return result;
    known_keys(x, "key",
               {"default", "min", "max", "min_excluded", "max_excluded",
                "integer", "words", "affects_speed", "left_out", "min_option",
                "meaning"});
    take(x, "min", any, result.min);
    take(x, "max", any, result.max);
    take(x, "min_excluded", result.min_excluded);
    take(x, "max_excluded", result.max_excluded);
    take(x, "integer", result.integer);
    take(x, "affects_speed", result.affects_speed);
    take(x, "left_out", result.left_out);
    take(x, "min_option", result.min_option);
    take(x, "meaning", result.meaning);
    if (const auto* list = x.find("words"))
      result.words = words(*list).value_or(result.words);
    if (const auto* fallback = required(x, "default"))
      read_default(*fallback, result);
    return result;
  }

  void read_default(const document& x, parameter_descriptor& out) {
    auto value =
      out.words.empty() ? number_or_word(x) : std::optional<scalar>{x.text};
    if (!value)
      return;
    out.fallback = *value;
    accepts(out, *value, x);
  }

  void read_metric(const document::entry& entry) {
    const auto way = word(entry.value);
    if (!way)
      return;
    metric_descriptor result;
    result.name = entry.key;
    if (*way == "minimize")
      result.better = direction::minimize;
    else if (*way != "maximize")
      notes_->error(entry.value,
                    unknown_text("direction", *way, {"maximize", "minimize"}));
    result_.workload.metrics.push_back(std::move(result));
  }

  /// Returns the hyper-parameter of that name, or null.
  const parameter_descriptor* find_parameter(const std::string& name) const {
    for (const auto& x : result_.workload.hyper_parameters)
      if (x.name == name)
        return &x;
    return nullptr;
  }

  static bool is_number(const parameter_descriptor& x) {
    return std::holds_alternative<double>(x.fallback);
  }

  std::vector<std::string> parameter_names() const {
    std::vector<std::string> result;
    for (const auto& x : result_.workload.hyper_parameters)
      result.push_back(x.name);
    return result;
  }

  /// Returns the hyper-parameter of that name, or null after saying that there
  /// is none. Nothing is said where the workload is not known.
  const parameter_descriptor* parameter_of(const mark& where,
                                           const std::string& path,
                                           const std::string& name) {
    const auto* result = find_parameter(name);
    if (result == nullptr && workload_known_)
      notes_->error(where, path,
                    unknown_text("hyper-parameter", name, parameter_names()));
    return result;
  }

  // -- times -----------------------------------------------------------------

  void read_step_seconds(const document& x) {
    if (x.type == kind::list && !x.items.empty())
      for (const auto& item : x.items)
        read_step_table(item);
    else
      read_step_table(x);
  }

  void read_step_table(const document& x) {
    step_time_table result;
    if (x.type != kind::map) {
      result.seconds = number(x, step_limits).value_or(1);
      result_.step_seconds.push_back(std::move(result));
      return;
    }
    known_keys(x, "key", {"by", "values"});
    const parameter_descriptor* by = nullptr;
    if (const auto* name = required(x, "by"))
      if (const auto text = word(*name)) {
        by = parameter_of(name->where, name->path, *text);
        result.by = *text;
        if (by != nullptr && !by->affects_speed)
          notes_->error(*name, "must name a hyper-parameter with "
                               "'affects_speed: true', by which the service "
                               "learns how long steps take, found '"
                                 + *text + "'");
      }
    const auto* values = required(x, "values");
    if (values == nullptr || !is_map(*values, "times"))
      return;
    if (values->entries.empty())
      notes_->error(*values, "must have at least one value");
    for (const auto& entry : values->entries)
      read_step_value(entry, by, result);
    result_.step_seconds.push_back(std::move(result));
    if (by != nullptr && !is_number(*by))
      needs_all_words(*values, *by);
  }

  void read_step_value(const document::entry& entry,
                       const parameter_descriptor* by, step_time_table& out) {
    const auto time = number(entry.value, step_limits);
    if (by == nullptr || !time)
      return;
    // Keys are read as values are; the key's own mark is the better one.
    document key;
    key.type = kind::leaf;
    key.text = entry.key;
    key.where = entry.where;
    key.path = entry.value.path;
    const auto value =
      is_number(*by) ? number_or_word(key) : std::optional<scalar>{entry.key};
    if (!accepts(*by, *value, key))
      return;
    if (const auto* x = std::get_if<double>(&*value))
      out.by_number.emplace(*x, *time);
    else
      out.by_word.emplace(entry.key, *time);
  }

  /// Between words there is nothing to interpolate.
  void needs_all_words(const document& values, const parameter_descriptor& by) {
    for (const auto& x : by.words)
      if (values.find(x) == nullptr)
        notes_->error(values, "has no time for '" + x + "'");
    if (by.words.empty())
      notes_->error(values, "'" + by.name
                              + "' may be any word, so that no list of times "
                                "is complete");
  }

  // -- members ---------------------------------------------------------------

  /// Reads how many times as fast several trainers are as one.
  void read_members(const document& x) {
    if (!is_map(x, "numbers of trainers and how many times as fast they are"))
      return;
    if (workload_known_
        && std::ranges::none_of(result_.workload.options, [](const auto& y) {
             return y.name == parts_option;
           }))
      notes_->error(x, "'" + result_.workload.name + "' has no option '"
                         + parts_option
                         + "', which divides batches among trainers");
    for (const auto& entry : x.entries) {
      if (!check_members(entry.key).empty() || entry.key == "1") {
        notes_->error(entry.where, entry.value.path,
                      "must be a number of trainers, a power of two from 2 to "
                        + std::to_string(parts_max) + ", found '" + entry.key
                        + "'");
        continue;
      }
      const auto members = static_cast<unsigned>(std::stoul(entry.key));
      // Somewhat more than linear may be: each has a smaller share in memory.
      if (const auto gain =
            number(entry.value,
                   {.min = 0, .max = 2.0 * members, .min_excluded = true}))
        result_.members.learn({}, {}, members, *gain);
    }
  }

  // -- curve -----------------------------------------------------------------

  /// No model of the curve: batches count only where the workload has any.
  void take_batch_size() {
    auto& batch = result_.curve.batch_size;
    const auto* found = find_parameter(batch.name);
    if (found == nullptr || !is_number(*found))
      batch = {"", 1};
  }

  /// Nobody has said what comes of training.
  void draw_curve() {
    take_batch_size();
    auto& out = result_.curve;
    out.is_drawn = true;
    for (const auto& x : result_.workload.metrics) {
      const double best = x.better == direction::maximize ? 1 : 0;
      out.metrics.push_back({x.name, 1 - best, best});
    }
  }

  /// A table instead of the model: nothing else is to be said of the curve.
  void read_table(const document& curve, const document& file) {
    known_keys(curve, "key", {"table"});
    result_.table_file = word(file).value_or("");
    take_batch_size();
  }

  void read_curve(const document& x) {
    if (const auto* file = x.find("table")) {
      read_table(x, *file);
      return;
    }
    known_keys(x, "key",
               {"learning_rate", "momentum", "batch_size",
                "learning_rate_factors", "regularisers", "samples_per_step",
                "sharpness", "flatness", "early_sharpness", "gradient_noise",
                "overfitting", "overfitting_steps", "slowdown",
                "evaluation_noise", "metrics"});
    auto& out = result_.curve;
    read_input(x, "learning_rate", at_least_0, out.learning_rate, true);
    read_input(x, "batch_size", above_0, out.batch_size, true);
    read_input(x, "momentum", {.min = 0, .max = 1, .max_excluded = true},
               out.momentum, false);
    if (const auto* factors = x.find("learning_rate_factors");
        factors && is_map(*factors, "hyper-parameters"))
      for (const auto& entry : factors->entries)
        read_factors(entry);
    if (const auto* list = x.find("regularisers");
        list && is_map(*list, "hyper-parameters"))
      for (const auto& entry : list->entries)
        read_regulariser(entry);
    take_required(x, "samples_per_step", above_0, out.samples_per_step);
    take_required(x, "sharpness", above_0, out.sharpness);
    take_required(x, "flatness", above_0, out.flatness);
    if (out.flatness > out.sharpness && x.find("flatness") != nullptr)
      notes_->error(*x.find("flatness"), "must be at most the sharpness, found "
                                           + x.find("flatness")->found());
    take(x, "early_sharpness", at_least_1, out.early_sharpness);
    take_required(x, "gradient_noise", at_least_0, out.gradient_noise);
    take(x, "overfitting", at_least_0, out.overfitting);
    take(x, "overfitting_steps", above_0, out.overfitting_steps);
    take(x, "slowdown", at_least_0, out.slowdown);
    take(x, "evaluation_noise", at_least_0, out.evaluation_noise);
    if (const auto* list = required(x, "metrics");
        list && is_map(*list, "metrics"))
      read_curve_metrics(*list);
  }

  /// Reads what an input of the model is: a hyper-parameter's name or a number.
  /// What is left out is the hyper-parameter of the usual name, if there is
  /// one.
  void read_input(const document& curve, const std::string& key,
                  const limits& range, curve_input& out, bool needed) {
    const auto* x = curve.find(key);
    const auto name = x == nullptr ? out.name : std::string{};
    if (x == nullptr) {
      if (find_parameter(name) != nullptr || !workload_known_)
        return;
      if (needed)
        notes_->error(curve, "'" + key + "' is missing, and '"
                               + result_.workload.name
                               + "' has no hyper-parameter '" + name + "'");
      out.name.clear();
      return;
    }
    if (x->type == kind::leaf && x->meaning().is_string()) {
      out.name = x->text;
      const auto* found = parameter_of(x->where, x->path, x->text);
      must_be_number(*x, found);
    } else {
      out = {"", number(*x, range).value_or(0)};
    }
  }

  void must_be_number(const document& x, const parameter_descriptor* found) {
    if (found != nullptr && !is_number(*found))
      notes_->error(x, "must be a hyper-parameter that is a number, '"
                         + found->name + "' is a word");
  }

  void read_regulariser(const document::entry& entry) {
    const auto& x = entry.value;
    const auto* found = parameter_of(entry.where, x.path, entry.key);
    must_be_number(x, found);
    if (const auto full = number(x, above_0))
      result_.curve.regularisers.emplace(entry.key, *full);
  }

  void read_factors(const document::entry& entry) {
    const auto* found = parameter_of(entry.where, entry.value.path, entry.key);
    if (found != nullptr && is_number(*found))
      notes_->error(entry.where, entry.value.path,
                    "must be a hyper-parameter that is a word, '" + entry.key
                      + "' is a number");
    if (!is_map(entry.value, "words and their factors"))
      return;
    auto& out = result_.curve.learning_rate_factors[entry.key];
    for (const auto& item : entry.value.entries) {
      if (found != nullptr && !found->words.empty()
          && std::ranges::find(found->words, item.key) == found->words.end())
        notes_->error(item.where, item.value.path,
                      unknown_text("word", item.key, found->words));
      if (const auto factor = number(item.value, above_0))
        out.emplace(item.key, *factor);
    }
  }

  void read_curve_metrics(const document& x) {
    std::vector<std::string> known;
    for (const auto& metric : result_.workload.metrics) {
      known.push_back(metric.name);
      if (x.find(metric.name) == nullptr)
        notes_->error(x, "'" + metric.name + "' is missing");
    }
    for (const auto& entry : x.entries) {
      if (workload_known_ && std::ranges::find(known, entry.key) == known.end())
        notes_->unknown_key(entry, "metric", known);
      read_curve_metric(entry);
    }
  }

  void read_curve_metric(const document::entry& entry) {
    const auto& x = entry.value;
    if (!is_map(x, "start, best"))
      return;
    known_keys(x, "key", {"start", "best", "power", "overfits"});
    curve_metric result;
    result.name = entry.key;
    take_required(x, "start", any, result.start);
    take_required(x, "best", any, result.best);
    take(x, "power", above_0, result.power);
    take(x, "overfits", result.overfits);
    result_.curve.metrics.push_back(std::move(result));
  }

  const document* root_;
  diagnostics* notes_;
  const std::vector<workload_descriptor>* workloads_;
  bool workload_known_ = false;
  simulation_profile result_;
};

} // namespace

double step_time_table::at(const scalar& value) const {
  if (by.empty())
    return seconds;
  if (const auto* word = std::get_if<std::string>(&value))
    return by_word.at(*word);
  assert(!by_number.empty());
  const auto x = std::get<double>(value);
  const auto above = by_number.lower_bound(x);
  if (above == by_number.end())
    return by_number.rbegin()->second;
  if (above == by_number.begin())
    return above->second;
  const auto below = std::prev(above);
  const auto part = (x - below->first) / (above->first - below->first);
  return below->second + part * (above->second - below->second);
}

double simulation_profile::step_time(const configuration& config,
                                     step_t at) const {
  if (known_step_seconds)
    return known_step_seconds(config, at);
  double result = 1;
  for (const auto& x : step_seconds)
    result *= x.at(x.by.empty() ? scalar{} : config.at(x.by).at(at));
  return result;
}

profile_file read_profile(const std::string& text, const std::string& name,
                          const std::vector<workload_descriptor>& workloads) {
  findings noted;
  diagnostics notes{name, noted};
  profile_file result;
  if (const auto root = read_document(text, notes, "simulation profile")) {
    auto profile = profile_reader{*root, notes, workloads}.read();
    if (noted.errors.empty())
      result.profile = std::move(profile);
  }
  result.errors = std::move(noted.errors);
  return result;
}

} // namespace hippo
