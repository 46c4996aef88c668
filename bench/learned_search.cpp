// How good what learning samplers find is, and how soon they find it: without
// a service, one trial after the other, everything that is drawn from seeds.
//
//   learned_search functions SEEDS [FIRST]
//   learned_search schedules SEEDS [FIRST]
//
// `functions`: the mean regret (how much worse the best so far is than the
// minimum) of Branin and Hartmann6 after so many trials.
//
// `schedules`: about 20,000 ResNet-56 schedules, trained by the simulated curve
// of examples/paper/profiles on one device, with merging. The cost is the
// steps that are trained, in full trainings of 120. Regret is the accuracy
// without measuring noise of the trial that was measured best so far, against
// the best of the space. The table has the median cost to come to a regret, and
// the mean regret at a cost.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hippo/core/hash.hpp"
#include "hippo/simulate/learning_curve.hpp"
#include "hippo/simulate/profile.hpp"
#include "hippo/tune/accepted_study.hpp"
#include "hippo/tune/sampler.hpp"
#include "hippo/tune/tuner.hpp"

namespace {

using namespace hippo;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "learned_search: %s\n", why.c_str());
  std::exit(1);
}

study_spec admitted(const std::string& text,
                    const std::vector<workload_descriptor>& workloads,
                    std::uint64_t seed) {
  const auto found = admit_study(text, "study", workloads);
  if (!found.study)
    fail(to_text(found.errors.front()));
  auto result = found.study->spec();
  result.seed = seed;
  return result;
}

double median(std::vector<double> xs) {
  std::sort(xs.begin(), xs.end());
  return (xs[(xs.size() - 1) / 2] + xs[xs.size() / 2]) / 2;
}

double mean(const std::vector<double>& xs) {
  double sum = 0;
  for (auto x : xs)
    sum += x;
  return sum / static_cast<double>(xs.size());
}

// -- functions ----------------------------------------------------------------

double branin(const std::vector<double>& x) {
  using std::numbers::pi;
  const auto a = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

double hartmann6(const std::vector<double>& x) {
  constexpr std::array<double, 4> weight{1, 1.2, 3, 3.2};
  constexpr double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                              {0.05, 10, 17, 0.1, 8, 14},
                              {3, 3.5, 1.7, 10, 17, 8},
                              {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double p[4][6]
    = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
       {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
       {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
       {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  double result = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 6; ++j)
      sum += a[i][j] * (x[j] - p[i][j]) * (x[j] - p[i][j]);
    result -= weight[i] * std::exp(-sum);
  }
  return result;
}

struct test_function {
  const char* name;
  std::vector<std::pair<double, double>> ranges;
  double (*value)(const std::vector<double>&);
  double minimum;
};

const std::vector<test_function> functions{
  {"Branin", {{-5, 10}, {0, 15}}, branin, 0.39788735772973816},
  {"Hartmann6",
   {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}},
   hartmann6,
   -3.322368011415515}};

/// The regret after each of 100 trials.
std::vector<double> regrets_of(const test_function& f, const char* algorithm,
                               std::uint64_t seed) {
  constexpr std::size_t trials = 100;
  workload_descriptor toy;
  toy.name = "toy";
  toy.metrics = {{"loss", direction::minimize, "of the function"}};
  std::string space;
  for (std::size_t i = 0; i < f.ranges.size(); ++i) {
    parameter_descriptor parameter;
    parameter.name = "x" + std::to_string(i);
    parameter.fallback = 0.0;
    toy.hyper_parameters.push_back(parameter);
    space += "  " + parameter.name + ": {uniform: ["
             + std::to_string(f.ranges[i].first) + ", "
             + std::to_string(f.ranges[i].second) + "]}\n";
  }
  const auto spec = admitted("study: s\nworkload: toy\nobjective:"
                             " {metric: loss, direction: minimize}\n"
                             "steps: {max: 1}\nspace:\n"
                               + space + "algorithm: " + algorithm
                               + "\nbudget: {trials: 100}\n",
                             {toy}, seed);
  const auto values = make_sampler(spec);
  std::vector<double> result;
  for (trial_no trial = 0; trial < trials; ++trial) {
    std::vector<double> x;
    for (const auto& [name, each] : values->draw(trial).sequences)
      x.push_back(std::get<double>(each.at(0)));
    const auto loss = f.value(x);
    values->on_result(trial, 1, loss);
    const auto regret = loss - f.minimum;
    result.push_back(result.empty() ? regret : std::min(result.back(), regret));
  }
  return result;
}

void search_functions(std::uint64_t seeds, std::uint64_t first) {
  for (const auto& f : functions) {
    std::printf("%-10s %-7s", f.name, "trials");
    for (auto at : {20, 40, 60, 100})
      std::printf(" %9d", at);
    std::printf("\n");
    for (const auto* algorithm : {"random", "tpe", "gp"}) {
      std::map<std::size_t, std::vector<double>> found;
      for (auto seed = first; seed < first + seeds; ++seed) {
        const auto regrets = regrets_of(f, algorithm, seed);
        for (std::size_t at : {20, 40, 60, 100})
          found[at].push_back(regrets[at - 1]);
      }
      std::printf("%-10s %-7s", "", algorithm);
      for (const auto& [at, xs] : found)
        std::printf(" %9.5f", mean(xs));
      std::printf("   median");
      for (const auto& [at, xs] : found)
        std::printf(" %9.5f", median(xs));
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

// -- schedules ----------------------------------------------------------------

constexpr step_t epochs = 120;

const std::string schedules = R"(
study: schedules
workload: {name: resnet56-cifar10, seed: 1}
objective: {metric: val_accuracy, direction: maximize, every: 15}
steps: {max: 120}
space:
  lr:
    choice:
      - constant: {choice: &rates [0.2, 0.1, 0.05, 0.02]}
      - multistep: {initial: {choice: *rates}, gamma: {choice: [0.1, 0.2, 0.3]},
                    milestones: [{choice: [30, 45, 60]},
                                 {choice: [75, 90, 105]}]}
      - step: {initial: {choice: *rates}, size: {choice: [20, 30, 40]},
               gamma: {choice: [0.1, 0.3, 0.5]}}
      - cosine: {initial: {choice: *rates}, horizon: {choice: [90, 105, 120]}}
      - warmup: {steps: {choice: [5, 10]}, from: 0.01, to: {choice: *rates},
                 then: {cosine: {horizon: {choice: [80, 95, 110]}}}}
      - warmup: {steps: {choice: [5, 10]}, from: 0.01, to: {choice: *rates},
                 then: {multistep: {milestones: [{choice: [40, 55, 70]}, 90],
                                    gamma: {choice: [0.1, 0.3]}}}}
  momentum:
    choice: [0.9, {piecewise: [[0, 0.9], [60, 0.95]]},
             {piecewise: [[0, 0.9], [90, 0.95]]}]
  batch_size:
    choice: [128, {multistep: {initial: 128, milestones: [60], gamma: 2}},
             {multistep: {initial: 128, milestones: [90], gamma: 2}}]
  weight_decay:
    choice: [0.0005, 0.0001, {piecewise: [[0, 0.0005], [60, 0.0001]]}]
  cutout: {choice: [16, 8, {piecewise: [[0, 16], [80, 8]]}]}
)";

/// Training as the curve has it: every state once, whoever asks.
class simulated_device {
public:
  explicit simulated_device(const simulation_profile& profile)
    : noisy_(profile.curve, 7), exact_(without_noise(profile.curve)) {}

  /// What a trial measures, and what it would without noise.
  struct measurement {
    double measured = 0;
    double exact = 0;
  };

  /// Trains from where a trial is to state `to`; what was trained before, for
  /// whichever trial, costs nothing.
  measurement train(const std::vector<segment>& segments, step_t to) {
    curve_state state;
    std::uint64_t key = 0;
    auto next = segments.begin();
    const configuration* config = nullptr;
    std::uint64_t config_key = 0;
    for (step_t at = 0; at < to; ++at) {
      if (next != segments.end() && next->begin == at) {
        const auto text = to_text(next->config);
        config_key = hash_bytes(text.data(), text.size());
        config = &next->config;
        ++next;
      }
      const std::uint64_t address[] = {at, config_key};
      key = hash_bytes(address, sizeof address, key);
      const auto [found, is_new] = states_.try_emplace(key);
      if (is_new) {
        exact_.train(state, *config, at);
        found->second = state;
        ++trained_;
      }
      state = found->second;
    }
    const auto value = [&](const learning_curve& x) {
      return x.evaluate(state).at("val_accuracy");
    };
    return {value(noisy_), value(exact_)};
  }

  [[nodiscard]] double cost() const {
    return static_cast<double>(trained_) / static_cast<double>(epochs);
  }

private:
  static curve_settings without_noise(curve_settings x) {
    x.evaluation_noise = 0;
    return x;
  }

  learning_curve noisy_;
  learning_curve exact_;
  std::unordered_map<std::uint64_t, curve_state> states_;
  std::uint64_t trained_ = 0;
};

/// How the regret falls: where a better trial was found, and how good it is.
using trace = std::vector<std::pair<double, double>>;

double regret_at(const trace& x, double cost) {
  double result = 1;
  for (const auto& [at, regret] : x)
    if (at <= cost)
      result = regret;
  return result;
}

double cost_of(const trace& x, double regret) {
  for (const auto& [at, now] : x)
    if (now <= regret)
      return at;
  return std::numeric_limits<double>::infinity();
}

/// A study of one trainer, until its cost or its trials are spent.
trace run(const study_spec& spec, const simulation_profile& profile,
          double best, double cost_max) {
  simulated_device device{profile};
  tuner decisions{spec, defaults_of(profile.workload)};
  std::deque<advance> asked;
  std::unordered_set<trial_no> ended;
  std::unordered_map<trial_no, step_t> reached;
  trace result;
  double incumbent = -1;
  const auto take = [&](const turn& x) {
    asked.insert(asked.end(), x.asked.begin(), x.asked.end());
    ended.insert(x.pruned.begin(), x.pruned.end());
  };
  take(decisions.start());
  while (device.cost() < cost_max) {
    if (asked.empty()) {
      if (decisions.done() || !decisions.wants_capacity())
        break;
      take(decisions.widen(1));
      if (asked.empty())
        break;
      continue;
    }
    const auto [trial, to] = asked.front();
    if (ended.contains(trial)) {
      asked.pop_front();
      continue;
    }
    const auto at = decisions.when().next(reached[trial]);
    if (at == to)
      asked.pop_front();
    reached[trial] = at;
    const auto found = device.train(decisions.segments(trial), at);
    if (found.measured > incumbent) {
      incumbent = found.measured;
      result.emplace_back(device.cost(), best - found.exact);
    }
    take(decisions.on_result(trial, at, found.measured));
  }
  return result;
}

/// The best accuracy that any schedule comes to.
double best_of(const study_spec& spec, const simulation_profile& profile) {
  simulated_device device{profile};
  const auto defaults = defaults_of(profile.workload);
  double result = 0;
  for (std::uint64_t i = 0; i < *spec.space.size(); ++i) {
    auto sequences = spec.space.at(i).sequences;
    sequences.insert(defaults.begin(), defaults.end());
    const auto segments = join(sequences, epochs);
    result = std::max(result, device.train(segments, epochs).exact);
  }
  return result;
}

void search_schedules(std::uint64_t seeds, std::uint64_t first) {
  std::ifstream file{PROFILE};
  const auto read = read_profile(
    std::string{std::istreambuf_iterator<char>{file}, {}}, PROFILE);
  if (!read.profile)
    fail(to_text(read.errors.front()));
  const auto& profile = *read.profile;
  const auto spec_of = [&](const std::string& algorithm, std::uint64_t seed) {
    return admitted(schedules + algorithm, {profile.workload}, seed);
  };
  const auto any = spec_of("algorithm: random\nbudget: {trials: 1}\n", 0);
  const auto best = best_of(any, profile);
  std::printf("%llu schedules, the best comes to %.5f\n",
              static_cast<unsigned long long>(*any.space.size()), best);
  struct contender {
    std::string name;
    std::string text;
  };
  std::vector<contender> all;
  const auto add = [&](const std::string& name, const std::string& options) {
    all.push_back({"asha " + name,
                   "algorithm: {asha: {eta: 4, min: 15, max: 120" + options
                     + "}}\nbudget: {trials: 1000}\n"});
  };
  add("random", "");
  add("tpe", ", sampler: tpe");
  add("gp, off", ", sampler: gp, prefer_shared: off");
  add("gp, ties", ", sampler: gp, prefer_shared: ties");
  add("gp, price", ", sampler: gp, prefer_shared: price");
  for (const auto* x : {"random", "tpe", "{gp: {prefer_shared: off}}",
                        "{gp: {prefer_shared: price}}"})
    all.push_back({x, std::string{"algorithm: "} + x
                        + "\nbudget: {trials: 80}\n"});
  constexpr std::array regrets{0.01, 0.0067, 0.005, 0.002};
  constexpr std::array costs{5.0, 10.0, 20.0, 40.0};
  std::printf("%-28s", "median cost to regret");
  for (auto x : regrets)
    std::printf(" %7.4f", x);
  std::printf("   mean regret at");
  for (auto x : costs)
    std::printf(" %7.0f", x);
  std::printf("\n");
  for (const auto& [name, text] : all) {
    std::vector<trace> traces;
    for (auto seed = first; seed < first + seeds; ++seed)
      traces.push_back(run(spec_of(text, seed), profile, best, costs.back()));
    const auto of_all = [&](auto&& number) {
      std::vector<double> result;
      for (const auto& x : traces)
        result.push_back(number(x));
      return result;
    };
    std::printf("%-28s", name.c_str());
    for (auto x : regrets)
      std::printf(" %7.2f", median(of_all([x](const trace& y) {
                    return cost_of(y, x);
                  })));
    std::printf("   %14s", "");
    for (auto x : costs)
      std::printf(" %7.5f", mean(of_all([x](const trace& y) {
                    return regret_at(y, x);
                  })));
    std::printf("\n");
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto seeds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const auto first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  if (seeds == 0 || (what != "functions" && what != "schedules")) {
    std::fprintf(stderr,
                 "usage: learned_search functions|schedules SEEDS [FIRST]\n");
    return 2;
  }
  if (what == "functions")
    search_functions(seeds, first);
  else
    search_schedules(seeds, first);
}
