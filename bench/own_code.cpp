// What a workload in a process of its own costs beside its own code.
//
//   own_code FOLDER CLASS STEPS NAME=VALUE... [-- ARG=NUMBER...]
//
// FOLDER holds a train.py; the interpreter is the python3 of PATH. Measures, in
// one process that is warm, each request by itself, and in turn the steps per
// second of FOLDER's class when it is called by hand (python3 by_hand.py) and
// when a lease is trained (`hippo::run`), five times each.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/train/process/process_workload.hpp"
#include "hippo/train/run.hpp"
#include "train/temporary_folder.hpp"

namespace {

using namespace hippo;
using clock_type = std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr int requests = 200;

double median(std::vector<double> xs) {
  std::sort(xs.begin(), xs.end());
  return xs[xs.size() / 2];
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(
      clock_type::now().time_since_epoch())
      .count());
}

template <class F>
double milliseconds(F&& f) {
  const auto begin = now_ns();
  f();
  return static_cast<double>(now_ns() - begin) / 1e6;
}

std::pair<std::string, double> setting(const std::string& text) {
  const auto i = text.find('=');
  return {text.substr(0, i), std::stod(text.substr(i + 1))};
}

struct task {
  std::string folder, name;
  step_t steps = 0;
  configuration config;
  std::map<std::string, scalar> args;
  std::string words; ///< for by_hand.py
};

std::unique_ptr<workload> start(const task& x) {
  process_options options;
  options.command = {"python3", "-m", "hippo_hpo.workload_process",
                     "train.py:" + x.name};
  options.folder = x.folder;
  auto result = make_process_workload(options, {1, x.args, {}});
  result->prepare();
  return result;
}

/// Prints the medians of single requests; a stage has one of each.
void measure_requests(const task& x, workload& work) {
  work.init();
  work.train(x.config, 0, 1);
  std::vector<double> trains, evaluates, saves, loads;
  std::string state = work.save();
  for (int i = 0; i < requests; ++i) {
    loads.push_back(milliseconds([&] { work.load(state); }));
    trains.push_back(milliseconds([&] { work.train(x.config, 1, 2); }));
    evaluates.push_back(milliseconds([&] { work.evaluate(); }));
    saves.push_back(milliseconds([&] { state = work.save(); }));
  }
  std::printf(
    "state of %zu bytes; medians of %d, ms: load %.3f, train one step "
    "%.3f, evaluate %.3f, save %.3f; a stage %.3f\n",
    state.size(), requests, median(loads), median(trains), median(evaluates),
    median(saves),
    median(loads) + median(trains) + median(evaluates) + median(saves));
}

double steps_per_second(const task& x, workload& work) {
  temporary_folder folder;
  folder_store files{folder.path};
  lease what;
  what.number = lease_id{1};
  what.stages = {{node_id{1}, 0, x.steps, x.config}};
  what.stops = {{x.steps, true, true}};
  part_tables tables;
  parted_store store{what, files, tables};
  lease_control control{what.stops};
  lease_progress progress;
  std::optional<checkpoint> present;
  recent_states kept{0};
  double result = 0;
  const auto end = run(work, present, kept, what, store, "cpu", control,
                       progress, now_ns, [&](const stop_report& y) {
                         result = static_cast<double>(x.steps) * 1e9
                                  / static_cast<double>(y.train_ns);
                       });
  if (end.failure) {
    std::cerr << end.failure->message << '\n';
    std::exit(1);
  }
  return result;
}

double by_hand(const task& x) {
  const auto command = "cd '" + x.folder + "' && python3 " BY_HAND " " + x.name
                       + ' ' + std::to_string(x.steps) + x.words;
  FILE* out = ::popen(command.c_str(), "r");
  double result = 0;
  if (out == nullptr || std::fscanf(out, "%lf", &result) != 1) {
    std::cerr << "cannot run " << command << '\n';
    std::exit(1);
  }
  ::pclose(out);
  return result;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: own_code FOLDER CLASS STEPS NAME=VALUE... "
                 "[-- ARG=VALUE...]\n";
    return 2;
  }
  task x{argv[1], argv[2], std::stoull(argv[3]), {}, {}, {}};
  bool are_args = false;
  for (int i = 4; i < argc; ++i) {
    x.words += std::string{" "} + argv[i];
    if (std::string{argv[i]} == "--") {
      are_args = true;
      continue;
    }
    const auto [name, value] = setting(argv[i]);
    if (are_args)
      x.args.emplace(name, value);
    else
      x.config.emplace(name, form::constant(value));
  }
  // The process has the same environment as the one by hand.
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::setenv("PYTHONHASHSEED", "0", 1);
  const auto work = start(x);
  measure_requests(x, *work);
  std::vector<double> ours, theirs;
  for (int i = 0; i < rounds; ++i) {
    theirs.push_back(by_hand(x));
    ours.push_back(steps_per_second(x, *work));
  }
  std::printf("steps/s, medians of %d in turn: by hand %.2f, in a lease %.2f, "
              "ratio %.3f\n",
              rounds, median(theirs), median(ours),
              median(ours) / median(theirs));
}
