// What searches find among schedules, and for how much training, with the tuner
// alone: no service, no clock.
//
//   schedules resnet|ranges|quadratic|decays ALGORITHM TRAINERS SEEDS TRIALS
//
// With merging: what was trained before, for whichever trial, costs nothing.
// The cost is the steps that are trained, in full trainings of 120. Regret is
// that of the trial that was measured best so far.
//
// resnet: about 20,000 ResNet-56 schedules, trained by the simulated curve of
// examples/paper/profiles. Regret is the accuracy, without measuring noise,
// against the best of the space.
//
// ranges: such schedules whose numbers are drawn of ranges, so that no two
// begin alike by themselves. Regret is against the best of 20,000 of them.
//
// quadratic: learning rates of six pieces, each any number of a range, for a
// noisy quadratic (Zhang et al., arXiv 1907.04164) that is computed exactly.
// Regret is the loss against the least that six pieces come to, less 1: at .25
// a trial is within 1.25 times of it.
//
// decays: 200 ways in which a rate may fall after a warm-up and a stable rate,
// which all have in common. Regret is the loss less the least.
//
// Prints a line of JSON: the algorithm (`auto` is one of the others), and for
// each seed the cost at which the regret first was no more than each of the
// problem's regrets (null: never), how many trials had been trained in their
// last piece by then, and the regret at each of its costs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/hash.hpp"
#include "hippo/forecast/simulate/learning_curve.hpp"
#include "hippo/forecast/simulate/profile.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/search/automatic.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"

namespace {

using namespace hippo;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "schedules: %s\n", why.c_str());
  std::exit(1);
}

study_spec admitted(const std::string& text,
                    const std::vector<workload_descriptor>& workloads,
                    std::size_t trainers, std::uint64_t seed) {
  admission how;
  how.trainers = trainers;
  const auto found = admit_study(text, "study", workloads, how);
  if (!found.study)
    fail(to_text(found.errors.front()));
  auto result = found.study->spec();
  result.seed = seed;
  return result;
}

constexpr step_t epochs = 120;

/// What a trial measures, and how far from the best that is without noise.
struct measurement {
  double measured = 0;
  double regret = 0;
};

// -- ResNet-56 ----------------------------------------------------------------

/// What both spaces of schedules begin with.
const std::string head_of_study = R"(
study: schedules
workload: {name: resnet56-cifar10, seed: 1}
objective: {metric: val_accuracy, direction: maximize}
eval_every: 15
max_steps: 120
space:
  lr:
    choice:
)";

const std::string schedules = head_of_study + R"(
      - constant: {choice: &rates [0.2, 0.1, 0.05, 0.02]}
      - multistep: {initial: {choice: *rates}, gamma: {choice: [0.1, 0.2, 0.3]},
                    milestones: [{choice: [30, 45, 60]},
                                 {choice: [75, 90, 105]}]}
      - step: {initial: {choice: *rates}, size: {choice: [20, 30, 40]},
               gamma: {choice: [0.1, 0.3, 0.5]}}
      - cosine: {initial: {choice: *rates}, horizon: {choice: [90, 105, 120]},
                end: 0.001}
      - warmup: {steps: {choice: [5, 10]}, from: 0.01, to: {choice: *rates},
                 then: {cosine: {horizon: {choice: [80, 95, 110]},
                                 end: 0.001}}}
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

const std::string ranges = head_of_study + R"(
      - multistep: {initial: {log_uniform: [0.005, 1]},
                    gamma: {log_uniform: [0.05, 0.5]},
                    milestones: [{choice: [30, 45, 60]},
                                 {choice: [75, 90, 105]}]}
      - cosine: {initial: {log_uniform: [0.005, 1]},
                 horizon: {choice: [90, 105, 120]},
                 end: {log_uniform: [0.0001, 0.01]}}
      - step: {initial: {log_uniform: [0.005, 1]},
               size: {choice: [20, 30, 40]}, gamma: {uniform: [0.1, 0.5]}}
  momentum: {piecewise: [[0, {uniform: [0.8, 0.95]}],
                         [60, {uniform: [0.8, 0.97]}]]}
  batch_size: 128
  weight_decay: {piecewise: [[0, {log_uniform: [0.00001, 0.005]}],
                             [60, {log_uniform: [0.00001, 0.005]}]]}
  cutout: {choice: [16, 8]}
)";

simulation_profile load_profile() {
  std::ifstream file{PROFILE};
  auto read = read_profile(
    std::string{std::istreambuf_iterator<char>{file}, {}}, PROFILE);
  if (!read.profile)
    fail(to_text(read.errors.front()));
  return std::move(*read.profile);
}

/// Training as the curve has it, of `schedules` or of `ranges`.
class resnet {
public:
  using state = curve_state;

  static constexpr bool maximizes = true;
  static constexpr std::array regrets{0.01, 0.0067, 0.005, 0.002};
  static constexpr std::array costs{5.0, 10.0, 20.0, 40.0};

  explicit resnet(std::string study)
    : resnet(load_profile(), std::move(study)) {}

  [[nodiscard]] const workload_descriptor& workload() const {
    return workload_;
  }
  [[nodiscard]] const std::string& study() const { return study_; }

  void train(state& x, const configuration& config, step_t at) const {
    exact_.train(x, config, at);
  }

  [[nodiscard]] measurement measure(const state& x) const {
    return {noisy_.evaluate(x).at("val_accuracy"),
            best_ - exact_.evaluate(x).at("val_accuracy")};
  }

  /// Finds the best accuracy that any schedule comes to, or any of some if they
  /// cannot be counted.
  void find_best(const study_spec& spec);

private:
  resnet(const simulation_profile& profile, std::string study)
    : workload_(profile.workload),
      study_(std::move(study)),
      noisy_(profile.curve, 7),
      exact_(without_noise(profile.curve)) {}

  static curve_settings without_noise(curve_settings x) {
    x.evaluation_noise = 0;
    return x;
  }

  workload_descriptor workload_;
  std::string study_;
  learning_curve noisy_;
  learning_curve exact_;
  double best_ = 0;
};

// -- losses by learning rate
// ---------------------------------------------------

/// A workload with the hyper-parameter `lr`, and a loss.
workload_descriptor loss_by_rate(const std::string& name, double fallback) {
  workload_descriptor result;
  result.name = name;
  parameter_descriptor rate;
  rate.name = "lr";
  rate.fallback = fallback;
  rate.min = 0;
  result.hyper_parameters = {rate};
  metric_descriptor loss;
  loss.name = "loss";
  loss.better = direction::minimize;
  result.metrics = {loss};
  return result;
}

// -- the noisy quadratic ------------------------------------------------------

constexpr std::size_t pieces = 6;
constexpr double rate_min = 0.01;
constexpr double rate_max = 2;

/// Gradient descent on a sum of 100 parabolas of curvatures 1 / 1, 1 / 2, ...
/// with noise: of each the expected squared distance from its minimum.
class quadratic {
public:
  struct state {
    state() { distance.fill(1); }
    std::array<double, 100> distance;
  };

  static constexpr bool maximizes = false;
  static constexpr std::array regrets{1.0, 0.5, 0.25, 0.1};
  static constexpr std::array costs{50.0, 100.0, 200.0, 400.0};

  [[nodiscard]] const workload_descriptor& workload() const {
    return workload_;
  }

  [[nodiscard]] static std::string study() {
    std::string result = "study: quadratic\nworkload: quadratic\n"
                         "objective: {metric: loss}\neval_every: 20\n"
                         "max_steps: 120\nspace:\n  lr:\n    piecewise:\n";
    for (std::size_t i = 0; i < pieces; ++i)
      result += "      - [" + std::to_string(i * epochs / pieces)
                + ", {log_uniform: [0.01, 2]}]\n";
    return result;
  }

  static void train(state& x, double rate) {
    for (std::size_t i = 0; i < x.distance.size(); ++i) {
      const auto h = curvature(i);
      x.distance[i] = (1 - rate * h) * (1 - rate * h) * x.distance[i]
                      + 0.01 * rate * rate * h;
    }
  }

  void train(state& x, const configuration& config, step_t at) const {
    train(x, std::get<double>(config.at("lr").at(at)));
  }

  [[nodiscard]] static double loss(const state& x) {
    double result = 0;
    for (std::size_t i = 0; i < x.distance.size(); ++i)
      result += curvature(i) * x.distance[i] / 2;
    return result;
  }

  [[nodiscard]] measurement measure(const state& x) const {
    const auto found = loss(x);
    return {found, found / best_ - 1};
  }

  /// Finds the least loss, by compass search over the logarithms of the rates
  /// from several begins.
  void find_best(const study_spec&) {
    best_ = 1e300;
    for (const auto begin : {-4.0, -2.0, -1.0, 0.0, 0.5}) {
      std::array<double, pieces> x;
      x.fill(begin);
      auto found = loss_of(x);
      for (double hop = 1; hop > 1e-6;) {
        bool better = false;
        for (auto& y : x)
          for (const auto way : {-hop, hop}) {
            const auto before = y;
            y = std::clamp(y + way, std::log(rate_min), std::log(rate_max));
            if (const auto now = loss_of(x); now < found) {
              found = now;
              better = true;
            } else {
              y = before;
            }
          }
        if (!better)
          hop /= 2;
      }
      best_ = std::min(best_, found);
    }
  }

private:
  static double curvature(std::size_t i) {
    return 1 / static_cast<double>(i + 1);
  }

  static double loss_of(const std::array<double, pieces>& log_rates) {
    state x;
    for (const auto y : log_rates)
      for (step_t at = 0; at < epochs / pieces; ++at)
        train(x, std::exp(y));
    return loss(x);
  }

  workload_descriptor workload_ = loss_by_rate("quadratic", 0.1);
  double best_ = 1;
};

// -- decays -------------------------------------------------------------------

/// Warm-up, stable rate and decay, of which the decay alone is searched. The
/// loss is the Multi-Power Law (Luo et al., arXiv 2503.12811) as it was fitted
/// to a model of 100 million parameters, plus the noise of its curves; a step
/// stands for 200.
class decays {
public:
  struct state {
    std::vector<double> rates;
  };

  static constexpr bool maximizes = false;
  static constexpr std::array regrets{0.004, 0.002, 0.001, 0.0005};
  static constexpr std::array costs{2.0, 4.0, 8.0, 16.0};

  [[nodiscard]] const workload_descriptor& workload() const {
    return workload_;
  }

  [[nodiscard]] static std::string study() {
    return "study: decays\nworkload: decays\n"
           "objective: {metric: loss}\neval_every: 5\nmax_steps: 120\n"
           "space:\n  lr:\n    wsd:\n      peak: 0.0003\n      warmup: 10\n"
           "      decay: {choice: [5, 10, 15, 20, 30, 40, 50, 60, 70, 80]}\n"
           "      shape: {choice: [1-sqrt, linear, cosine, exponential]}\n"
           "      end: {choice: [3e-6, 1e-5, 3e-5, 6e-5, 1e-4]}\n";
  }

  void train(state& x, const configuration& config, step_t at) const {
    x.rates.push_back(std::get<double>(config.at("lr").at(at)));
  }

  [[nodiscard]] static double loss(const state& x) {
    constexpr double step = 200;
    double sum = 0, top = 0;
    for (const auto r : x.rates)
      sum += step * r;
    double fallen = 0, since = sum;
    for (std::size_t i = 0; i < x.rates.size(); ++i) {
      const auto r = x.rates[i];
      if (i > 0 && r < top)
        fallen +=
          (x.rates[i - 1] - r)
          * (1 - std::pow(1 + 2.132 * std::pow(r, -0.655) * since, -0.598));
      top = std::max(top, r);
      since -= step * r;
    }
    return 2.651 + 0.601 * std::pow(sum, -0.453) - 437.946 * fallen;
  }

  [[nodiscard]] measurement measure(const state& x) const {
    const auto bits =
      hash_bytes(x.rates.data(), x.rates.size() * sizeof(double), 1);
    const auto share = static_cast<double>(bits >> 11) * 0x1p-53;
    const auto found = loss(x);
    return {found + 0.002 * (share - 0.5), found - best_};
  }

  void find_best(const study_spec& spec);

private:
  workload_descriptor workload_ = loss_by_rate("decays", 3e-4);
  double best_ = 0;
};

// -- searches -----------------------------------------------------------------

/// Trains every state once, whoever asks.
template <class Problem>
class simulated_device {
public:
  explicit simulated_device(const Problem& problem) : problem_(&problem) {}

  /// Trains from where a trial is to state `to`; what was trained before, for
  /// whichever trial, costs nothing.
  measurement train(const std::vector<segment>& segments, step_t to) {
    typename Problem::state state;
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
        problem_->train(state, *config, at);
        found->second = state;
        ++trained_;
      }
      state = found->second;
    }
    return problem_->measure(state);
  }

  [[nodiscard]] std::uint64_t steps() const { return trained_; }

  [[nodiscard]] double cost() const {
    return static_cast<double>(trained_) / static_cast<double>(epochs);
  }

private:
  const Problem* problem_;
  std::unordered_map<std::uint64_t, typename Problem::state> states_;
  std::uint64_t trained_ = 0;
};

void resnet::find_best(const study_spec& spec) {
  best_ = 0;
  simulated_device device{*this};
  const trial_defaults defaults{workload_};
  double least = 0; // regret against 0
  const auto size = spec.space.size();
  for (std::uint64_t i = 0; i < size.value_or(20'000); ++i) {
    auto sequences = (size ? spec.space.at(i) : spec.space.sample(1, i))
                       .sequences;
    const auto segments = defaults.complete(std::move(sequences), epochs);
    least = std::min(least, device.train(segments, epochs).regret);
  }
  best_ = -least;
}

void decays::find_best(const study_spec& spec) {
  simulated_device device{*this};
  const trial_defaults defaults{workload_};
  double least = 1e300;
  for (std::uint64_t i = 0; i < *spec.space.size(); ++i) {
    const auto segments = defaults.complete(spec.space.at(i).sequences, epochs);
    least = std::min(least, device.train(segments, epochs).regret);
  }
  best_ = least;
}

/// How the regret falls: where a better trial was found, how good it is, and
/// how many trials were trained in their last piece.
struct better_trial {
  double cost = 0;
  double regret = 0;
  std::size_t decayed = 0;
};
using trace = std::vector<better_trial>;

double regret_at(const trace& x, double cost) {
  double result = 1;
  for (const auto& now : x)
    if (now.cost <= cost)
      result = now.regret;
  return result;
}

std::pair<nlohmann::json, nlohmann::json> cost_of(const trace& x,
                                                  double regret) {
  for (const auto& now : x)
    if (now.regret <= regret)
      return {now.cost, now.decayed};
  return {nullptr, nullptr};
}

/// A study on some trainers, until its cost or its trials are spent. A step
/// takes a trainer one unit of time, unless it was trained before.
template <class Problem>
class study_course {
public:
  study_course(const study_spec& spec, const Problem& problem,
               std::size_t trainers)
    : device_(problem),
      tuner_(spec, read_search(spec), trial_defaults{problem.workload()}),
      trainers_(trainers) {}

  trace run(double cost_max) {
    take(tuner_.start());
    while (device_.cost() < cost_max) {
      begin();
      if (busy_.empty())
        break;
      end_next();
    }
    return std::move(trace_);
  }

private:
  /// A trainer on its way to the next measurement.
  struct way {
    double until = 0;
    std::uint64_t number = 0; ///< who began first ends first
    advance what;
    step_t at = 0;
    friend bool operator>(const way& x, const way& y) {
      return std::pair{x.until, x.number} > std::pair{y.until, y.number};
    }
  };

  /// Gives the free trainers something to do.
  void begin() {
    while (busy_.size() < trainers_) {
      if (asked_.empty() && tuner_.wants_capacity())
        take(tuner_.widen(1));
      if (asked_.empty())
        return;
      const auto next = asked_.front();
      asked_.pop_front();
      go_on(next);
    }
  }

  void go_on(const advance& x) {
    if (ended_.contains(x.trial) || reached_[x.trial] >= x.to)
      return;
    const auto at = tuner_.when().next(reached_[x.trial]);
    const auto before = device_.steps();
    measured_[x.trial] = device_.train(tuner_.segments(x.trial), at);
    const auto taken = static_cast<double>(device_.steps() - before);
    busy_.push({now_ + taken, ++begun_, x, at});
  }

  void end_next() {
    const auto x = busy_.top();
    busy_.pop();
    now_ = x.until;
    const auto trial = x.what.trial;
    if (ended_.contains(trial))
      return;
    reached_[trial] = x.at;
    if (x.at > tuner_.segments(trial).back().begin)
      decayed_.insert(trial);
    const auto found = measured_.at(trial);
    const auto height
      = Problem::maximizes ? found.measured : -found.measured;
    if (height > incumbent_) {
      incumbent_ = height;
      trace_.push_back({device_.cost(), found.regret, decayed_.size()});
    }
    if (x.at < x.what.to)
      asked_.push_front(x.what); // a trainer stays with its trial
    take(tuner_.on_result(trial, x.at, found.measured));
  }

  void take(const turn& turn) {
    asked_.insert(asked_.end(), turn.asked.begin(), turn.asked.end());
    ended_.insert(turn.pruned.begin(), turn.pruned.end());
  }

  simulated_device<Problem> device_;
  tuner tuner_;
  std::size_t trainers_;
  double now_ = 0;
  std::uint64_t begun_ = 0;
  std::deque<advance> asked_;
  std::priority_queue<way, std::vector<way>, std::greater<>> busy_;
  std::unordered_set<trial_no> ended_;
  std::unordered_map<trial_no, step_t> reached_;
  std::unordered_set<trial_no> decayed_; ///< trained in their last piece
  std::unordered_map<trial_no, measurement> measured_;
  double incumbent_ = -1e300;
  trace trace_;
};

std::uint64_t whole(const std::string& text) {
  char* end = nullptr;
  const auto result = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || result == 0)
    fail("'" + text + "' is no whole number above 0");
  return result;
}

template <class Problem>
int search(Problem problem, const std::string& algorithm,
           std::uint64_t trainers, std::uint64_t seeds,
           const std::string& trials) {
  const auto spec_of = [&](std::uint64_t seed) {
    return admitted(problem.study() + "algorithm: " + algorithm
                      + "\nbudget: {trials: " + trials + "}\n",
                    {problem.workload()}, trainers, seed);
  };
  problem.find_best(spec_of(0));
  auto to_regret = nlohmann::json::array();
  auto at_cost = nlohmann::json::array();
  auto decayed = nlohmann::json::array();
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto found = study_course<Problem>{spec_of(seed), problem, trainers}
                         .run(Problem::costs.back());
    auto& to = to_regret.emplace_back(nlohmann::json::array());
    auto& branches = decayed.emplace_back(nlohmann::json::array());
    for (const auto x : Problem::regrets) {
      auto [cost, count] = cost_of(found, x);
      to.push_back(std::move(cost));
      branches.push_back(std::move(count));
    }
    auto& at = at_cost.emplace_back(nlohmann::json::array());
    for (const auto x : Problem::costs)
      at.push_back(regret_at(found, x));
  }
  std::printf("%s\n",
              nlohmann::json{{"algorithm", to_json_text(spec_of(0).algorithm)},
                             {"cost_to_regret", to_regret},
                             {"decayed_to_regret", decayed},
                             {"regret_at_cost", at_cost}}
                .dump()
                .c_str());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv + 1, argv + argc};
  const auto what = words.empty() ? std::string{} : words[0];
  if (words.size() != 5
      || (what != "resnet" && what != "ranges" && what != "quadratic"
          && what != "decays"))
    fail("usage: schedules resnet|ranges|quadratic|decays ALGORITHM TRAINERS"
         " SEEDS TRIALS");
  const auto trainers = whole(words[2]), seeds = whole(words[3]);
  whole(words[4]);
  const auto run = [&](auto problem) {
    return search(std::move(problem), words[1], trainers, seeds, words[4]);
  };
  return what == "quadratic" ? run(quadratic{})
         : what == "decays"  ? run(decays{})
         : what == "ranges"  ? run(resnet{ranges})
                             : run(resnet{schedules});
}
