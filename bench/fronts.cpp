// What searches for fronts find on functions of two values, with the tuner
// alone: no service, no trainers.
//
//   fronts FUNCTION ALGORITHM SEEDS MARK...
//
// FUNCTION is zdt1, zdt2 or zdt3 (Zitzler, Deb and Thiele, *Comparison of
// Multiobjective Evolutionary Algorithms*, 2000), of six variables here. A
// trial is trained up to 27 steps; before the last one both values are off by
// what is smooth in the variables and falls with the step, as curves are. Going
// on costs what is left. One trial at a time is trained, until the cost of the
// last mark is spent, in trainings of 27 steps. Prints a line of JSON: for each
// seed and mark all that was measured at the last step. bench/peers/zdt.py has
// the same functions.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/space/study.hpp"

namespace {

using namespace hippo;

constexpr step_t last_step = 27;
constexpr std::size_t variables = 6;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "fronts: %s\n", why.c_str());
  std::exit(2);
}

using pair = std::pair<double, double>;

pair measured(const std::string& function, const std::vector<double>& x,
              step_t at) {
  double sum = 0;
  for (std::size_t i = 1; i < x.size(); ++i)
    sum += x[i];
  const auto g = 1 + 9 * sum / static_cast<double>(x.size() - 1);
  const auto share = x[0] / g;
  double second = 0;
  if (function == "zdt1")
    second = g * (1 - std::sqrt(share));
  else if (function == "zdt2")
    second = g * (1 - share * share);
  else if (function == "zdt3")
    second = g
             * (1 - std::sqrt(share)
                - share * std::sin(10 * std::numbers::pi * x[0]));
  else
    fail("there is no function '" + function + "'");
  const auto left = 1 - static_cast<double>(at) / last_step;
  return {x[0] + 0.3 * left * (1 - x[1]), second + 2 * left * (1 + x[2])};
}

std::string name_of(std::size_t i) { return "x" + std::to_string(i); }

study_spec study_of(const std::string& algorithm, std::uint64_t seed) {
  workload_descriptor workload;
  workload.name = "function";
  workload.metrics = {{"f", direction::minimize, "one value"},
                      {"g", direction::minimize, "the other"}};
  std::string space;
  for (std::size_t i = 0; i < variables; ++i) {
    parameter_descriptor parameter;
    parameter.name = name_of(i);
    parameter.fallback = 0.0;
    workload.hyper_parameters.push_back(parameter);
    space += "  " + name_of(i) + ": {uniform: [0, 1]}\n";
  }
  const auto steps = std::to_string(last_step);
  const auto read = read_study(
    "study: fronts\nworkload: function\nobjective: [{metric: f}, {metric: g}]\n"
    "eval_every: "
      + steps + "\nmax_steps: " + steps + "\nspace:\n" + space
      + "algorithm: " + algorithm
      + "\nbudget: {trials: 100000}\nseed: " + std::to_string(seed) + "\n",
    "fronts.yaml", {workload});
  if (!read.study)
    fail(to_text(read.errors.front()));
  if (const auto found = check_algorithm(*read.study); !found.errors.empty())
    fail(found.errors.front().path + ": " + found.errors.front().message);
  return *read.study;
}

/// What was measured at the last step by each mark.
nlohmann::json course(const std::string& function, const study_spec& study,
                      const std::vector<std::uint64_t>& marks) {
  tuner search{study, read_search(study), {}};
  std::deque<advance> todo;
  std::map<trial_no, step_t> reached;
  std::set<trial_no> ended;
  std::uint64_t spent = 0;
  auto points = nlohmann::json::array(), at_marks = points;
  const auto take = [&](const turn& x) {
    todo.insert(todo.end(), x.asked.begin(), x.asked.end());
    ended.insert(x.pruned.begin(), x.pruned.end());
  };
  take(search.start());
  while (at_marks.size() < marks.size()) {
    if (todo.empty() && search.wants_capacity())
      take(search.widen(1));
    if (todo.empty())
      fail("the study ended before the last mark");
    const auto [trial, to] = todo.front();
    todo.pop_front();
    std::vector<double> x;
    const auto values = search.parameters(trial);
    for (std::size_t i = 0; i < variables; ++i)
      x.push_back(std::get<double>(values.sequences.at(name_of(i)).at(0)));
    auto& here = reached[trial];
    while (here < to && !ended.contains(trial)) {
      const auto next = search.when().next(here);
      spent += next - here;
      here = next;
      while (at_marks.size() < marks.size()
             && spent > marks[at_marks.size()] * last_step)
        at_marks.push_back(points);
      const auto [f, g] = measured(function, x, here);
      if (here == last_step)
        points.push_back({f, g});
      take(search.on_result(trial, here, metrics{{"f", f}, {"g", g}}));
    }
  }
  return at_marks;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5)
    fail("fronts FUNCTION ALGORITHM SEEDS MARK...");
  std::vector<std::uint64_t> marks;
  for (int i = 4; i < argc; ++i)
    marks.push_back(std::strtoull(argv[i], nullptr, 10));
  auto result = nlohmann::json::array();
  for (std::uint64_t seed = 0; seed < std::strtoull(argv[3], nullptr, 10);
       ++seed)
    result.push_back(course(argv[1], study_of(argv[2], seed), marks));
  std::printf("%s\n", nlohmann::json{{"points", result}}.dump().c_str());
  return 0;
}
