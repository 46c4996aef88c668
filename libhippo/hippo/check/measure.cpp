#include "hippo/check/measure.hpp"

#include <algorithm>
#include <cassert>
#include <exception>
#include <iomanip>
#include <limits>
#include <set>
#include <sstream>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

namespace {

/// How many trials are drawn to find out what values there are, and with how
/// many of them steps are measured.
constexpr std::uint64_t drawn_max = 256;
constexpr std::size_t shown_values_max = 12;

/// Less says more of the clock than of what was measured.
constexpr double shortest_seconds = 1e-6;

/// Short steps are measured for so long, in parts of which the median counts:
/// what disturbs some of them does not matter.
constexpr double least_seconds = 3;
constexpr std::size_t parts_max = 1000;

using parameter_values = std::map<std::string, scalar>;

/// The values of a hyper-parameter, and what has each at every step.
using plateaus = std::map<scalar, form>;

/// Adds what values a sequence has: where its pieces begin, and between.
void add_values(const sequence& x, step_t end, plateaus& to) {
  const auto add = [&](step_t at) {
    to.emplace(x.at(at), x.form_at(at).plateau_at(at));
  };
  for (const auto& piece : x.pieces())
    if (piece.begin < end)
      add(piece.begin);
  for (const step_t part : {1, 2, 3})
    add((end - 1) * part / 3);
}

/// Returns some of the values that lie evenly among all, both ends included.
std::vector<scalar> some_of(const std::set<scalar>& all) {
  const std::vector<scalar> sorted(all.begin(), all.end());
  if (sorted.size() <= shown_values_max)
    return sorted;
  std::vector<scalar> result;
  for (std::size_t i = 0; i < shown_values_max; ++i)
    result.push_back(sorted[i * (sorted.size() - 1) / (shown_values_max - 1)]);
  return result;
}

class measurer {
public:
  measurer(const study_spec& study, const workload_descriptor& descriptor,
           step_t steps, workload& work, const std::function<double()>& now,
           const std::function<void(const std::string&)>& tell)
    : steps_(steps), work_(work), now_(now), tell_(tell) {
    find_values(study, descriptor);
  }

  measured_training run() {
    result_.hyper_parameters = base_;
    const auto first = first_step("the values of the first trial");
    result_.first_seconds = first;
    measure_the_rest();
    if (domains_.empty())
      result_.steps.push_back({"", {{0.0, first}}});
    for (const auto& [name, domain] : domains_) {
      measured_table table{name, {}};
      for (const auto& value : domain) {
        auto changed = base_;
        changed[name] = value;
        const auto took
          = value == base_.at(name)
              ? first
              : step_seconds(changed, name + ' ' + to_text(value));
        table.times.emplace_back(value,
                                 result_.steps.empty() ? took : took / first);
      }
      result_.steps.push_back(std::move(table));
    }
    return std::move(result_);
  }

  /// @param what is measured, for people
  double first_step(const std::string& what) {
    return step_seconds(base_, what);
  }

private:
  void find_values(const study_spec& study,
                   const workload_descriptor& descriptor) {
    for (const auto& x : descriptor.hyper_parameters)
      base_[x.name] = x.fallback;
    for (std::uint64_t i = 0; i < drawn_max; ++i)
      for (const auto& [name, x] : study.space.sample(0, i).sequences) {
        if (i == 0)
          base_[name] = x.at(0);
        add_values(x, study.max_steps, found_[name]);
      }
    for (const auto& x : descriptor.hyper_parameters) {
      if (!x.affects_speed)
        continue;
      std::set<scalar> all;
      for (const auto& [value, shape] : found_[x.name])
        all.insert(value);
      all.insert(base_.at(x.name));
      // Between words there is nothing to interpolate.
      all.insert(x.words.begin(), x.words.end());
      domains_.emplace_back(x.name, some_of(all));
    }
  }

  /// Returns values as code is given them.
  configuration constant(const parameter_values& xs) {
    configuration result;
    for (const auto& [name, value] : xs) {
      const auto& known = found_[name];
      const auto* number = std::get_if<double>(&value);
      if (const auto i = known.find(value); i != known.end())
        result.emplace(name, i->second);
      else
        result.emplace(name, number ? form::constant(*number)
                                    : form::text(std::get<std::string>(value)));
    }
    return result;
  }

  double step_seconds(const parameter_values& xs, const std::string& what) {
    tell_(what);
    const auto config = constant(xs);
    work_.prepare();
    work_.init();
    work_.train(config, 0, 1); // what is done once is done in the first step
    std::vector<double> parts;
    double shortest = std::numeric_limits<double>::infinity();
    for (step_t at = 1;; at += steps_) {
      const auto begin = now_();
      work_.train(config, at, at + steps_);
      parts.push_back(now_() - begin);
      shortest = std::min(shortest, parts.back());
      if (static_cast<double>(parts.size()) * shortest >= least_seconds
          || parts.size() == parts_max)
        break;
    }
    const auto middle
      = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2);
    std::nth_element(parts.begin(), middle, parts.end());
    return std::max(*middle / static_cast<double>(steps_), shortest_seconds);
  }

  /// What comes beside steps, in the state that was reached.
  void measure_the_rest() {
    work_.evaluate();
    auto begin = now_();
    result_.values = work_.evaluate();
    result_.evaluate_seconds = now_() - begin;
    auto state = work_.save();
    begin = now_();
    state = work_.save();
    result_.save_seconds = now_() - begin;
    result_.checkpoint_bytes = state.size();
    begin = now_();
    work_.load(state);
    result_.load_seconds = now_() - begin;
    result_.size = work_.size();
  }

  step_t steps_;
  workload& work_;
  const std::function<double()>& now_;
  const std::function<void(const std::string&)>& tell_;
  parameter_values base_; ///< of all hyper-parameters
  std::map<std::string, plateaus> found_; ///< in the study's space
  /// The values of those that affect the time of a step.
  std::vector<std::pair<std::string, std::vector<scalar>>> domains_;
  measured_training result_;
};

// -- the profile --------------------------------------------------------------

/// A word as it stands in YAML whatever it is: JSON is a part of it.
std::string quoted(const std::string& x) { return nlohmann::json(x).dump(); }

std::string spelt(const scalar& x) {
  const auto* word = std::get_if<std::string>(&x);
  return word ? quoted(*word) : to_text(x);
}

/// Four digits are more than anybody can measure.
std::string measured_text(double x) {
  std::ostringstream out;
  out << std::setprecision(4) << x;
  return out.str();
}

std::string table_text(const measured_table& x) {
  if (x.by.empty())
    return measured_text(x.times.front().second);
  std::string result = "{by: " + quoted(x.by) + ", values: {";
  for (const auto& [value, seconds] : x.times)
    result += (result.back() == '{' ? "" : ", ") + spelt(value) + ": "
              + measured_text(seconds);
  return result + "}}";
}

/// A workload of which nobody knows more than the study says.
std::string workload_text(const measured_training& x,
                          const workload_descriptor& descriptor) {
  if (!descriptor.open)
    return "workload: " + quoted(descriptor.name) + '\n';
  auto result = "workload:\n  name: " + quoted(descriptor.name)
                + "\n  unit: step\n  hyper_parameters:\n";
  for (const auto& [name, value] : x.hyper_parameters)
    result += "    " + quoted(name) + ": {default: " + spelt(value) + "}\n";
  result += "  metrics:\n";
  for (const auto& [name, value] : x.values)
    result += "    " + quoted(name) + ": "
              + (name.find("loss") == name.npos ? "maximize" : "minimize")
              + '\n';
  return result;
}

} // namespace

expected<measured_training>
measure(const study_spec& study, const workload_descriptor& descriptor,
        step_t steps, workload& work, const std::function<double()>& now,
        const std::function<void(const std::string&)>& tell) {
  assert(steps > 0);
  try {
    return measurer{study, descriptor, steps, work, now, tell}.run();
  } catch (const std::exception& why) {
    return {errc::training_failed, why.what()};
  }
}

expected<double>
measure_first_step(const study_spec& study,
                   const workload_descriptor& descriptor, step_t steps,
                   workload& work, const std::function<double()>& now,
                   const std::function<void(const std::string&)>& tell,
                   const std::string& what) {
  assert(steps > 0);
  try {
    return measurer{study, descriptor, steps, work, now, tell}.first_step(what);
  } catch (const std::exception& why) {
    return {errc::training_failed, why.what()};
  }
}

std::string profile_text(const measured_training& training,
                         const workload_descriptor& descriptor,
                         const std::string& device) {
  auto result = "device: " + quoted(device) + '\n'
                + workload_text(training, descriptor) + "step_seconds:";
  if (training.steps.size() == 1)
    result += ' ' + table_text(training.steps.front()) + '\n';
  else
    for (const auto& table : training.steps)
      result += (&table == &training.steps.front() ? "\n" : "")
                + std::string{"  - "} + table_text(table) + '\n';
  result += "load_seconds: " + measured_text(training.load_seconds)
            + "\nsave_seconds: " + measured_text(training.save_seconds)
            + "\nevaluate_seconds: " + measured_text(training.evaluate_seconds)
            + "\ncheckpoint_bytes: " + std::to_string(training.checkpoint_bytes)
            + '\n';
  std::string members;
  for (const auto& [number, gain] : training.members)
    members += (members.empty() ? "" : ", ") + std::to_string(number) + ": "
               + measured_text(gain);
  if (!members.empty())
    result += "members: {" + members + "}\n";
  if (training.size.is_known())
    result += "size: {operations: " + to_text(training.size.operations)
              + ", parameters: " + to_text(training.size.parameters)
              + ", samples: " + to_text(training.size.samples) + "}\n";
  return result;
}

} // namespace hippo
