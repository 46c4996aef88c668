// Lets others measure the trials of a study, with the tuner alone: no service,
// no trainers.
//
//   play STUDY.yaml WORKERS NAME[=WORD,WORD...]...
//
// The study's workload is `public`, with a metric `value` and hyper-parameters
// of these names, which are numbers or one of some words.
//
// Reads commands, one a line, and answers each with a line of JSON:
//
//   next WORKER         the next work of a worker that rests: an object with
//                       "trial", "from", "to" and "values"; null if there is
//                       none before another worker has told a value
//   told WORKER VALUE   the value of the objective at the state "to" of that
//                       work; `failed` in place of VALUE ends the trial
//
// A worker trains its trial up to where the algorithm wants it, measurement by
// measurement, unless the trial is ended. Other work begins in the order in
// which the algorithm has asked for it.

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/search/automatic.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/space/study.hpp"

namespace {

using namespace hippo;
using json = nlohmann::json;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "play: %s\n", why.c_str());
  std::exit(2);
}

/// @param text NAME or NAME=WORD,WORD...
parameter_descriptor parameter_of(const std::string& text) {
  parameter_descriptor result;
  std::istringstream in{text};
  std::getline(in, result.name, '=');
  for (std::string word; std::getline(in, word, ',');)
    result.words.push_back(word);
  result.fallback = 0.0;
  if (!result.words.empty())
    result.fallback = result.words.front();
  return result;
}

study_spec read(const std::string& path, std::size_t workers,
                const std::vector<std::string>& hyper_parameters) {
  std::ifstream file{path};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  workload_descriptor workload;
  workload.name = "public";
  workload.metrics = {{"value", direction::maximize, "of the objective"}};
  for (const auto& x : hyper_parameters)
    workload.hyper_parameters.push_back(parameter_of(x));
  auto read = read_study(text, path, {workload});
  if (!read.study)
    fail(to_text(read.errors.front()));
  auto& study = *read.study;
  if (study.algorithm.name == automatic_name)
    study.algorithm = choose_algorithm(study, workers).algorithm;
  if (const auto found = check_algorithm(study); !found.errors.empty())
    fail(found.errors.front().path + ": " + found.errors.front().message);
  return study;
}

/// The constant values of a trial.
json shown(const trial_parameters& x) {
  json result = json::object();
  for (const auto& [name, values] : x.sequences)
    std::visit([&](const auto& value) { result[name] = value; }, values.at(0));
  return result;
}

class players {
public:
  players(const study_spec& study, std::size_t workers)
    : tuner_(study, read_search(study), {}), work_(workers) {
    take(tuner_.start());
  }

  json next(std::size_t worker) {
    auto& own = work_.at(worker);
    if (!own || !goes_on(*own))
      own = begun();
    if (!own)
      return nullptr;
    const auto from = reached_[own->trial];
    const auto to = tuner_.when().next(from);
    return {{"trial", own->trial},
            {"from", from},
            {"to", to},
            {"values", shown(tuner_.parameters(own->trial))}};
  }

  json told(std::size_t worker, std::optional<double> value) {
    const auto trial = work_.at(worker).value().trial;
    if (value) {
      auto& here = reached_[trial];
      here = tuner_.when().next(here);
      take(tuner_.on_result(trial, here, *value));
    } else {
      ended_.insert(trial);
      take(tuner_.on_failure(trial));
    }
    return {{"done", tuner_.done()}};
  }

private:
  [[nodiscard]] bool goes_on(const advance& x) {
    return reached_[x.trial] < x.to && !ended_.contains(x.trial);
  }

  /// The work that was asked for first, or a new trial's.
  std::optional<advance> begun() {
    for (bool may_widen = true;; may_widen = false) {
      while (!todo_.empty()) {
        const auto result = todo_.front();
        todo_.pop_front();
        if (goes_on(result))
          return result;
      }
      if (!may_widen || !tuner_.wants_capacity())
        return {};
      take(tuner_.widen(1));
    }
  }

  void take(const turn& turn) {
    todo_.insert(todo_.end(), turn.asked.begin(), turn.asked.end());
    ended_.insert(turn.pruned.begin(), turn.pruned.end());
  }

  tuner tuner_;
  std::vector<std::optional<advance>> work_; ///< by worker
  std::deque<advance> todo_;
  std::map<trial_no, step_t> reached_;
  std::set<trial_no> ended_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 4)
    fail("usage: play STUDY.yaml WORKERS NAME[=WORD,WORD...]...");
  const auto workers = std::strtoull(argv[2], nullptr, 10);
  if (workers == 0)
    fail("WORKERS must be at least 1");
  players x{read(argv[1], workers, {argv + 3, argv + argc}), workers};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in{line};
    std::string verb, value;
    std::size_t worker = 0;
    in >> verb >> worker >> value;
    if (worker >= workers || (verb == "next") != value.empty())
      fail("'" + line + "' is no command");
    if (verb != "next" && verb != "told")
      fail("'" + line + "' is no command");
    std::optional<double> measured;
    if (value != "failed")
      measured = std::strtod(value.c_str(), nullptr);
    const auto answer
      = verb == "next" ? x.next(worker) : x.told(worker, measured);
    std::printf("%s\n", answer.dump().c_str());
    std::fflush(stdout);
  }
}
