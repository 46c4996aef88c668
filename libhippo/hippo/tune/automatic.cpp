#include "hippo/tune/automatic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hippo/core/number.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/tune/dehb.hpp"
#include "hippo/tune/rungs.hpp"
#include "hippo/tune/settings.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t eta = 3;

/// So few combinations are trained, each of them.
constexpr std::uint64_t trials_of_grid_max = 9;

/// With no more measurements of a trial there is not much to end early.
constexpr step_t few_measurements = eta;

/// A Gaussian process takes some milliseconds for each trial.
constexpr std::uint64_t gp_trials_max = 10'000;

/// Combinations that are looked at.
constexpr std::uint64_t looked_at = 64;

/// As many as there will be, if an end is known.
std::uint64_t trials_of(const study_spec& study) {
  const auto& budget = study.budget.trials;
  const auto size = study.space.size();
  if (!size)
    return budget.value_or(gp_trials_max);
  return budget ? std::min(*size, *budget) : *size;
}

/// The states of some combinations at steps, as texts of all before.
class sample {
public:
  explicit sample(const study_spec& study) {
    for (std::uint64_t i = 0; i < looked_at; ++i)
      trials_.push_back(
        join(study.space.sample(study.seed, i).sequences, study.max_steps));
  }

  /// Whether some differ only after their first step.
  [[nodiscard]] bool parts_on_the_way() const {
    return states_at(1) < states_at(max_step);
  }

  /// How many different states they have at `step`.
  [[nodiscard]] std::size_t states_at(step_t step) const {
    std::set<std::string> result;
    for (const auto& segments : trials_) {
      std::string text;
      for (const auto& x : segments)
        if (x.begin < step)
          text += std::to_string(x.begin) + ' ' + to_text(x.config) + '\n';
      result.insert(std::move(text));
    }
    return result.size();
  }

  static constexpr auto max_step = std::numeric_limits<step_t>::max();

private:
  std::vector<std::vector<segment>> trials_;
};

/// The first step at which trials are compared: at least half of what differs
/// in the end differs by then, and there is a rung above.
step_t first_rung(const study_spec& study, const sample& trials) {
  auto result = study.objective.every;
  while (result * eta < study.max_steps
         && 2 * trials.states_at(result)
              < trials.states_at(sample::max_step))
    result *= eta;
  return result;
}

} // namespace

automatic_algorithm choose_algorithm(const study_spec& study) {
  const auto trials = trials_of(study);
  const auto number = static_cast<double>(eta);
  if (trials <= trials_of_grid_max && study.space.size() == trials)
    return {{"grid", {}},
            "the space has " + std::to_string(trials)
              + (trials == 1 ? " combination" : " combinations, and each")
              + " is trained"};
  const bool has_one = study.objective.all().is_one();
  const bool may_be_gp = has_one && study.space.leaves() <= gp_leaves_max
                         && trials <= gp_trials_max;
  const std::string learning = may_be_gp ? "gp" : "tpe";
  if (study.max_steps / study.objective.every <= few_measurements)
    return {{learning, {}},
            "with " + std::to_string(few_measurements)
              + " measurements or fewer there is little to gain by ending"
                " trials early"};
  const sample some{study};
  const auto first = static_cast<double>(first_rung(study, some));
  const algorithm_spec halving{
    "asha", {{"eta", number}, {"min", first}, {"sampler", learning}}};
  if (some.parts_on_the_way())
    return {halving, "trials have their beginnings in common, and " + learning
                       + " weighs what is trained already"};
  if (!has_one)
    return {halving, "of the algorithms that end trials early it takes several"
                     " metrics and constraints"};
  const auto rungs
    = rung_steps(study.objective.every, study.max_steps, eta).size();
  if (trials < dehb_brackets(rungs, eta)[0].sizes[0])
    return {halving, std::to_string(trials)
                       + " trials are too few for a bracket of dehb"};
  return {{"dehb", {{"eta", number}, {"min", first}}},
          "values hold from the first step, and bad ones show early"};
}

std::string to_json_text(const algorithm_spec& x) {
  json options = json::object();
  for (const auto& [name, value] : x.options)
    std::visit([&](const auto& y) { options[name] = y; }, value);
  return json{{x.name, std::move(options)}}.dump();
}

expected<algorithm_spec> algorithm_from_json(const std::string& text) {
  const error wrong{errc::malformed_message,
                    "'" + text + "' is no algorithm as it is stored"};
  const auto read = json::parse(text, nullptr, false);
  if (!read.is_object() || read.size() != 1 || !read.front().is_object())
    return wrong;
  algorithm_spec result;
  result.name = read.begin().key();
  for (const auto& [name, value] : read.front().items()) {
    if (value.is_number())
      result.options[name] = value.get<double>();
    else if (value.is_string())
      result.options[name] = value.get<std::string>();
    else
      return wrong;
  }
  return result;
}

} // namespace hippo
