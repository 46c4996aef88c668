// What searches find on functions, with the tuner alone: no service, no
// trainers.
//
//   search run FUNCTION ALGORITHM SEEDS MARK...
//   search serve FUNCTION SEED
//   search bandit gaussian|bernoulli sub-sampling|ucb1 SEEDS PULLS...
//
// A trial is trained up to 81 steps; going on costs what is left. `run`
// studies a function once for each seed, one trial at a time, until the cost of
// the last mark is spent, in trainings of 81 steps. Prints a line of JSON: for
// each seed and mark the regret of the incumbent, which is the trial that
// measured best at step 81 (null: none has come there), and of the trial that
// measured best at any step, and how many trials have failed or broken a limit:
// some functions let trials fail at their first measurement, which costs its
// steps, and some have a limit. What breaks it is no incumbent.
//
// `serve` lets others measure: it reads lines of a step and of values, and
// answers each with what that measures and what its regret is.
//
// `bandit` pulls arms by a rule, and prints for each seed the regret after so
// many pulls, added up, and whether every arm was pulled as often as
// sub-sampling promises.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/hash.hpp"
#include "hippo/search/algorithm/sub_sampling.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/space/study.hpp"
#include "test_functions.hpp"

namespace {

using namespace hippo;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "search: %s\n", why.c_str());
  std::exit(2);
}

std::uint64_t whole(const std::string& text) {
  char* end = nullptr;
  const auto result = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0')
    fail("'" + text + "' is no whole number");
  return result;
}

const test_function& function_of(const std::string& name) {
  const auto* found = test_functions::find(name);
  if (found == nullptr)
    fail("there is no function '" + name + "'");
  return *found;
}

double regret_of(const test_function& f, const std::vector<double>& x) {
  return f.exact(x) - f.least;
}

// -- studies ------------------------------------------------------------------

std::string name_of(std::size_t i) { return "x" + std::to_string(i); }

/// @param algorithm as a study file writes it, without its budget
/// @param every steps between two measurements
study_spec study_of(const test_function& f, const std::string& algorithm,
                    std::uint64_t seed, const std::string& trials,
                    step_t every) {
  workload_descriptor workload;
  workload.name = "function";
  workload.metrics = {{"value", direction::minimize, "of the function"}};
  std::string constraints;
  if (f.slack != nullptr) {
    workload.metrics.push_back({"slack", direction::maximize, "of its limit"});
    constraints = "constraints: ['slack >= 0']\n";
  }
  std::string space;
  for (std::size_t i = 0; i < f.ranges + f.choices; ++i) {
    parameter_descriptor parameter;
    parameter.name = name_of(i);
    parameter.fallback = 0.0;
    workload.hyper_parameters.push_back(parameter);
    space += "  " + name_of(i)
             + (i < f.ranges ? ": {uniform: [0, 1]}\n"
                             : ": {choice: [0, 1]}\n");
  }
  const auto read =
    read_study("study: search\nworkload: function\nobjective: {metric: value}\n"
                 + constraints + "eval_every: " + std::to_string(every)
                 + "\nmax_steps: " + std::to_string(test_steps) + "\nspace:\n"
                 + space + "algorithm: " + algorithm + "\nbudget: {trials: "
                 + trials + "}\nseed: " + std::to_string(seed) + "\n",
               "search.yaml", {workload});
  if (!read.study)
    fail(to_text(read.errors.front()));
  if (const auto found = check_algorithm(*read.study); !found.errors.empty())
    fail(found.errors.front().path + ": " + found.errors.front().message);
  return *read.study;
}

/// The best of what was measured, and what it is really worth.
struct incumbent {
  double value = std::numeric_limits<double>::infinity();
  std::optional<double> regret;

  void compete(double measured, double own_regret) {
    if (measured < value) {
      value = measured;
      regret = own_regret;
    }
  }
};

nlohmann::json shown(const std::optional<double>& x) {
  return x ? nlohmann::json(*x) : nlohmann::json(nullptr);
}

/// A study on one trainer, which trains what was asked for first.
class study_course {
public:
  study_course(const test_function& f, const study_spec& study,
               const std::vector<std::uint64_t>& marks)
    : f_(f), seed_(study.seed), tuner_(study, read_search(study), {}),
      marks_(marks) {}

  void run() {
    take(tuner_.start());
    while (at_last_.size() < marks_.size()) {
      if (todo_.empty() && tuner_.wants_capacity())
        take(tuner_.widen(1));
      if (todo_.empty())
        fail("the study ended before the last mark: more trials");
      const auto [trial, to] = todo_.front();
      todo_.pop_front();
      train(trial, to);
    }
  }

  /// The regrets at the marks.
  [[nodiscard]] const std::vector<nlohmann::json>& at_last() const {
    return at_last_;
  }
  [[nodiscard]] const std::vector<nlohmann::json>& at_any() const {
    return at_any_;
  }
  /// The trials that had failed, or broken a limit, at the marks.
  [[nodiscard]] const std::vector<std::uint64_t>& failed() const {
    return failed_at_;
  }

private:
  void train(trial_no trial, step_t to) {
    const auto values = tuner_.parameters(trial);
    std::vector<double> x;
    for (std::size_t i = 0; i < f_.ranges + f_.choices; ++i)
      x.push_back(std::get<double>(values.sequences.at(name_of(i)).at(0)));
    const auto when = tuner_.when();
    auto& here = reached_[trial];
    while (here < to && !ended_.contains(trial)) {
      const auto next = when.next(here);
      spent_ += next - here;
      here = next;
      while (at_last_.size() < marks_.size()
             && spent_ > marks_[at_last_.size()] * test_steps) {
        at_last_.push_back(shown(last_.regret));
        at_any_.push_back(shown(any_.regret));
        failed_at_.push_back(failed_);
      }
      if (f_.fails != nullptr && f_.fails(x)) {
        ++failed_;
        ended_.insert(trial);
        take(tuner_.on_failure(trial));
        return;
      }
      const auto slack = f_.slack != nullptr ? f_.slack(x) : 0;
      const auto value = f_.measured(x, here, seed_);
      const auto regret = regret_of(f_, x);
      if (slack >= 0) {
        any_.compete(value, regret);
        if (here == test_steps)
          last_.compete(value, regret);
      } else if (broken_.insert(trial).second) {
        ++failed_;
      }
      take(tuner_.on_result(trial, here,
                            metrics{{"value", value}, {"slack", slack}}));
    }
  }

  void take(const turn& turn) {
    todo_.insert(todo_.end(), turn.asked.begin(), turn.asked.end());
    ended_.insert(turn.pruned.begin(), turn.pruned.end());
  }

  const test_function& f_;
  std::uint64_t seed_;
  tuner tuner_;
  std::vector<std::uint64_t> marks_;
  std::uint64_t spent_ = 0; ///< steps
  std::deque<advance> todo_;
  std::map<trial_no, step_t> reached_;
  std::set<trial_no> ended_, broken_;
  incumbent last_, any_;
  std::vector<nlohmann::json> at_last_, at_any_;
  std::uint64_t failed_ = 0;
  std::vector<std::uint64_t> failed_at_;
};

/// So many trials cost, by successive halving, as much as so many that are
/// trained in full.
std::uint64_t trials_by_halving(std::uint64_t cost) {
  std::uint64_t result = 1;
  const auto steps_of = [](std::uint64_t trials) {
    std::uint64_t steps = 0, from = 0;
    for (step_t at = 1; at <= test_steps; at *= 3) {
      steps += trials * (at - from);
      from = at;
      trials = std::max<std::uint64_t>(1, trials / 3);
    }
    return steps;
  };
  while (steps_of(result) <= cost * test_steps)
    ++result;
  return result;
}

int run(const std::vector<std::string>& words) {
  const auto& f = function_of(words[0]);
  const auto& algorithm = words[1];
  std::vector<std::uint64_t> marks;
  for (std::size_t i = 3; i < words.size(); ++i)
    marks.push_back(whole(words[i]));
  // A budget that is not used up, but where it decides how many begin.
  const auto trials = algorithm.starts_with("sha")
                          || algorithm.starts_with("{sha")
                        ? trials_by_halving(marks.back())
                        : 100'000;
  // Rules that look at each measurement are given each.
  const bool looks = algorithm.find("median") != std::string::npos
                     || algorithm.find("boss") != std::string::npos
                     || algorithm.find("sub-sampling") != std::string::npos;
  nlohmann::json last = nlohmann::json::array(), any = last, failed = last;
  for (std::uint64_t seed = 0; seed < whole(words[2]); ++seed) {
    study_course x{f,
                   study_of(f, algorithm, seed, std::to_string(trials),
                            looks ? 1 : test_steps),
                   marks};
    x.run();
    last.push_back(x.at_last());
    any.push_back(x.at_any());
    failed.push_back(x.failed());
  }
  std::printf("%s\n", nlohmann::json{{"regret", last},
                                     {"regret_of_any_step", any},
                                     {"failed", failed}}
                        .dump()
                        .c_str());
  return 0;
}

int serve(const test_function& f, std::uint64_t seed) {
  if (f.fails != nullptr || f.slack != nullptr)
    fail("'" + f.name
         + "' has failures or a limit, which `serve` does not"
           " tell");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in{line};
    step_t at = 0;
    in >> at;
    std::vector<double> x;
    for (double value = 0; in >> value;)
      x.push_back(value);
    if (at < 1 || at > test_steps || x.size() != f.ranges + f.choices)
      fail("a line must be a step from 1 to 81 and "
           + std::to_string(f.ranges + f.choices) + " values, found " + line);
    std::printf("%.17g %.17g\n", f.measured(x, at, seed), regret_of(f, x));
    std::fflush(stdout);
  }
  return 0;
}

// -- bandits ------------------------------------------------------------------

/// Arms that give rewards of which the last one's are the best.
struct bandit {
  std::vector<double> means;
  bool is_gaussian = true;
  std::uint64_t seed = 0;

  [[nodiscard]] double pull(std::size_t arm, std::uint64_t n) const {
    const auto unit = [&](std::uint64_t i) {
      const std::uint64_t address[]{arm, n, i};
      return static_cast<double>(hash_bytes(address, sizeof(address), seed)
                                 >> 11)
             * 0x1p-53;
    };
    if (!is_gaussian)
      return unit(0) < means[arm] ? 1 : 0;
    return means[arm]
           + std::sqrt(-2 * std::log(1 - unit(0)))
               * std::cos(2 * std::numbers::pi * unit(1));
  }
};

/// What was pulled, and what it has cost not to pull the best arm.
struct bandit_record {
  const bandit& of;
  std::vector<std::uint64_t> marks;
  std::vector<std::uint64_t> pulls = std::vector<std::uint64_t>(
    of.means.size(), 0);
  double regret = 0;
  std::vector<double> at_marks = {};
  bool forgets_none = true; ///< n_k >= sqrt(ln n) - 1 at each mark

  [[nodiscard]] bool is_over() const { return at_marks.size() == marks.size(); }

  double pull(std::size_t arm) {
    const auto reward = of.pull(arm, pulls[arm]++);
    regret += of.means.back() - of.means[arm];
    const auto total = std::accumulate(pulls.begin(), pulls.end(),
                                       std::uint64_t{0});
    if (!is_over() && total == marks[at_marks.size()]) {
      at_marks.push_back(regret);
      for (auto own : pulls)
        forgets_none = forgets_none
                       && static_cast<double>(own) + 1
                            >= std::sqrt(std::log(static_cast<double>(total)));
    }
    return reward;
  }
};

void pull_by_sub_sampling(bandit_record& x) {
  std::vector<step_t> rungs(x.marks.back() + 1); // one for each pull
  std::iota(rungs.begin(), rungs.end(), step_t{1});
  sub_sampling rule{x.pulls.size(), rungs, direction::maximize};
  auto wanted = rule.open(x.pulls.size());
  while (!x.is_over()) {
    std::vector<action> next;
    for (const auto& y : wanted) {
      const auto& go = std::get<advance>(y);
      next = rule.on_result(go.trial, go.to, x.pull(go.trial));
    }
    wanted = std::move(next);
  }
}

/// UCB1 (Auer, Cesa-Bianchi, Fischer, Machine Learning 47, 2002), which is told
/// how far rewards scatter.
void pull_by_ucb1(bandit_record& x) {
  std::vector<double> sums(x.pulls.size(), 0);
  for (std::size_t arm = 0; arm < sums.size(); ++arm)
    sums[arm] += x.pull(arm);
  for (auto n = static_cast<double>(sums.size()); !x.is_over(); ++n) {
    std::size_t best = 0;
    const auto bound = [&](std::size_t arm) {
      const auto own = static_cast<double>(x.pulls[arm]);
      const auto scatter = x.of.is_gaussian ? 1 : 0.5;
      return sums[arm] / own + scatter * std::sqrt(2 * std::log(n) / own);
    };
    for (std::size_t arm = 1; arm < sums.size(); ++arm)
      if (bound(arm) > bound(best))
        best = arm;
    sums[best] += x.pull(best);
  }
}

int pull(const std::vector<std::string>& words) {
  const bool is_gaussian = words[0] == "gaussian";
  if (!is_gaussian && words[0] != "bernoulli")
    fail("arms are gaussian or bernoulli, found '" + words[0] + "'");
  if (words[1] != "ucb1" && words[1] != "sub-sampling")
    fail("a rule is sub-sampling or ucb1, found '" + words[1] + "'");
  bandit arms{{0.8, 0.9}, is_gaussian};
  if (is_gaussian) {
    arms.means.clear();
    for (int i = 0; i < 10; ++i)
      arms.means.push_back(0.1 * i);
  }
  std::vector<std::uint64_t> marks;
  for (std::size_t i = 3; i < words.size(); ++i)
    marks.push_back(whole(words[i]));
  nlohmann::json regrets = nlohmann::json::array();
  bool forgets_none = true;
  for (arms.seed = 0; arms.seed < whole(words[2]); ++arms.seed) {
    bandit_record x{arms, marks};
    if (words[1] == "ucb1")
      pull_by_ucb1(x);
    else
      pull_by_sub_sampling(x);
    regrets.push_back(x.at_marks);
    forgets_none = forgets_none && x.forgets_none;
  }
  std::printf("%s\n",
              nlohmann::json{{"regret", regrets},
                             {"forgets_none", forgets_none}}
                .dump()
                .c_str());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv + 1, argv + argc};
  const std::vector<std::string> rest{
    words.begin() + std::min<std::ptrdiff_t>(1, argc - 1), words.end()};
  if (words.size() >= 5 && words[0] == "run")
    return run(rest);
  if (words.size() == 3 && words[0] == "serve")
    return serve(function_of(rest[0]), whole(rest[1]));
  if (words.size() >= 5 && words[0] == "bandit")
    return pull(rest);
  fail("usage: search run FUNCTION ALGORITHM SEEDS MARK... | serve FUNCTION"
       " SEED | bandit gaussian|bernoulli sub-sampling|ucb1 SEEDS PULLS...");
}
