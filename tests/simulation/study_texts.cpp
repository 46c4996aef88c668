#include "simulation/study_texts.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "hippo/model/parts.hpp"
#include "hippo/model/workload_descriptor.hpp"

namespace hippo::simulation {

std::vector<workload_descriptor> simulated_workloads() {
  workload_descriptor result;
  result.name = "model";
  result.metrics = {{"value", direction::maximize, "a hash of the training"}};
  parameter_descriptor lr;
  lr.name = "lr";
  lr.fallback = 0.1;
  lr.min = 0;
  auto batch = lr;
  batch.name = "batch_size";
  batch.fallback = 64.0;
  batch.integer = true;
  batch.affects_speed = true;
  const auto own_batch = batch;
  batch.min_option = parts_option;
  result.hyper_parameters = {lr, batch};
  auto seed = lr;
  seed.name = "seed";
  seed.fallback = 0.0;
  seed.integer = true;
  auto parts = seed;
  parts.name = parts_option;
  parts.fallback = 1.0;
  parts.min = 1;
  parts.left_out = true;
  result.options = {seed, parts};
  auto own = result;
  own.name = "command";
  own.options = {};
  own.hyper_parameters = {lr, own_batch};
  own.open = true;
  auto python = own;
  python.name = python_workload;
  return {result, own, python};
}

std::string random_study(std::mt19937_64& random, const scenario& scenario,
                         std::uint64_t number) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto steps = std::to_string(scenario.steps);
  const auto half = std::to_string(1 + scenario.steps / 2);
  static const std::vector<std::string> rates{
    "0.1",
    "0.2",
    "{multistep: {initial: 0.1, milestones: [2], gamma: {choice: [0.1, 0.5]}}}",
    "{multistep: {initial: 0.2, milestones: [1, 3], gamma: 0.1}}",
    "{exponential: {initial: 0.1, gamma: {choice: [0.8, 0.9]}}}",
    "{warmup: {steps: 2, from: 0.01, to: 0.1, then: {constant: 0.1}}}",
    "{cosine: {initial: 0.1, end: 0.001, horizon: 8}}",
    "{piecewise: [[0, 0.1], [2, 0.2], [4, 0.1]]}",
  };
  std::string options;
  for (int i = 0; i < 3 || below(2) == 0; ++i)
    options += (i == 0 ? "" : ", ") + rates[below(rates.size())];
  if (below(5) == 0)
    options += ", {reduce_on_plateau: {initial: 0.1, patience: 1}}";
  const std::string concurrent
    = below(2) == 0 ? "auto" : std::to_string(1 + below(4));
  const auto eta = std::to_string(2 + below(2));
  const std::vector<std::string> algorithms{
    "grid",
    "random",
    "{tpe: {startup: 2, max_concurrent: " + concurrent + "}}",
    "{gp: {startup: 2, max_concurrent: " + concurrent + "}}",
    "{asha: {eta: " + eta
      + ", min: 1, sampler: gp, startup: 2, max_concurrent: " + concurrent
      + "}}",
    "{sha: {eta: " + eta + ", min: 1}}",
    "{asha: {eta: " + eta + ", min: 1, max_concurrent: " + concurrent + "}}",
    "{asha: {eta: " + eta
      + ", min: 1, mode: stopping, max_concurrent: " + concurrent + "}}",
    "{hyperband: {eta: " + eta + ", min: 1}}",
    "{bohb: {eta: " + eta + ", min: 1, startup: 2}}",
    "{boss: {eta: " + eta + ", min: 1, startup: 2}}",
    "{dehb: {eta: " + eta
      + ", min: 1, promote: " + (below(2) == 0 ? "always" : "first-round")
      + ", max_concurrent: " + concurrent + "}}",
    "{median: {grace: 1, min_others: 1, max_concurrent: " + concurrent + "}}",
    "{pbt: {interval: 2}}",
    "client",
  };
  const auto& algorithm = algorithms[below(algorithms.size())];
  auto result =
    "study: s" + std::to_string(number) + "\nworkload: {name: "
    + "model, seed: " + std::to_string(below(scenario.workloads))
    + (scenario.parts > 0 ? ", parts: " + std::to_string(scenario.parts) : "")
    + "}\n" + "objective: {metric: value, direction: "
    + (below(2) == 0 ? "maximize" : "minimize")
    + "}\neval_every: " + (below(3) == 0 ? half : "1") + "\nmax_steps: " + steps
    + "\nspace:\n  lr: {choice: [" + options
    + "]}\n  batch_size: {choice: [64, 128]}\nalgorithm: " + algorithm
    + "\nseed: " + std::to_string(below(3))
    + "\nbudget: {trials: " + std::to_string(1 + below(scenario.trials))
    + (below(8) == 0 ? ", seconds: 60" : "")
    + "}\nweight: " + std::to_string(1 + below(3)) + "\n";
  // Without a draw that would shift all that come after it.
  auto more = random;
  switch (more() % 8) {
    case 0: {
      static const std::vector<std::string> rules{
        "value: 0.9", "value: 0.1", "no_gain: 1", "value: 0.99, no_gain: 3"};
      result += "stop_when: {" + rules[more() % rules.size()] + "}\n";
      break;
    }
    case 1:
      result.replace(result.find("budget: {"), 9,
                     "budget: {device_hours: 0.003, ");
      break;
    case 2:
      result.erase(result.find("algorithm: "), 11 + algorithm.size() + 1);
      break;
    case 3:
      result.replace(result.find("budget: {"), 9,
                     "budget: {steps: " + std::to_string(5 + number % 40)
                       + ", ");
      break;
    default:
      break;
  }
  more.discard(16);
  if (more() % 5 == 0) {
    static const std::vector<std::string> repeats{
      "2", "3", "{seeds: 2, summary: worst}", "{seeds: 3, summary: median}"};
    result += "repeats: " + repeats[more() % repeats.size()] + "\n";
  }
  if (scenario.settings == 0 && scenario.ranks == 0)
    return result;
  // Of the same keys: what a study says of its silence is in none.
  static const std::vector<std::string> spans{"0.5", "30", "60"};
  std::string own = "command: [model], packages: {model: v1}";
  if (scenario.ranks > 0)
    own = "python: model:train, packages: {model: v1, hippo-hpo: v1, python: "
          "v3}, ranks: "
          + std::to_string(
            std::max(scenario.ranks >> more() % 3, std::uint64_t{1}));
  if (scenario.settings != 0)
    own += ", silence_seconds: " + spans[more() % spans.size()];
  if (scenario.parts > 0)
    result.erase(result.find(", parts: "), 10);
  result.replace(result.find("name: model, seed: "), 11, own);
  return result;
}

bool may_run(const workload_spec& spec) {
  const auto i = spec.settings.find("silence_seconds");
  return i == spec.settings.end() || i->second != scalar{0.5};
}

} // namespace hippo::simulation
