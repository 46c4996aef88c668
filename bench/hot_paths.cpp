// The pure hot paths, one at a time, for counting instructions.
//
//   hot_paths            names them
//   hot_paths NAME       prepares one and then calls `hot_path`
//
// `bench/run --check` runs each under callgrind, which counts while `hot_path`
// runs: how many instructions that takes does not depend on the machine's load.

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checked.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "told_sampler.hpp"
#include "waiting_trials.hpp"

/// What is counted; found by its name.
extern "C" [[gnu::noipa]] void hot_path(const std::function<void()>& work) {
  work();
}

namespace {

using namespace hippo;

constexpr std::uint64_t trials = 2000;
constexpr std::uint64_t decisions = 500;

/// A plan in which all trials wait, and what follows it.
struct waiting_plan {
  search_plan plan;
  time_estimates estimates{{"batch_size"}};
  scheduler chooser{plan, estimates, policy::critical_path};

  void fill() {
    const auto study = plan.add_study({last_step, {last_step}});
    for (std::uint64_t i = 0; i < trials; ++i)
      plan.ask(plan.add_trial(study, segments_of(i)), last_step);
  }

  void follow() { chooser.update(plan.take_changed()); }

  void decide(std::uint64_t number) {
    lease work;
    work.number = lease_id{number};
    work.stages = chooser.choose().value().stages;
    plan.begin_lease(work);
    follow();
    finish(plan, work);
    follow();
    plan.take_deliveries();
  }
};

void insert_trials() {
  waiting_plan x;
  hot_path([&] { x.fill(); });
}

void follow_plan() {
  waiting_plan x;
  x.fill();
  hot_path([&] { x.follow(); });
}

void decide() {
  waiting_plan x;
  x.fill();
  x.follow();
  hot_path([&] {
    for (std::uint64_t i = 1; i <= decisions; ++i)
      x.decide(i);
  });
}

const std::string study_text = R"(
study: suggest
workload: {name: fashion-cnn}
objective: {metric: val_accuracy, direction: maximize}
max_steps: 9
space:
  lr:
    choice:
      - log_uniform: [1e-5, 0.1]
      - multistep: {initial: 0.1, milestones: [3, 6], gamma: 0.1}
      - warmup: {steps: 2, from: 0.01, to: 0.1, then: {cosine: {horizon: 7}}}
  weight_decay: {log_uniform: [1e-6, 0.1]}
  dropout: {uniform: [0, 0.5]}
  batch_size: {choice: [16, 32, 64, 128, 256]}
budget: {trials: 10000000}
algorithm: tpe
)";

void read_studies() {
  hot_path([] {
    for (int i = 0; i < 20; ++i)
      spec_of(study_text);
  });
}

void suggest() {
  told_sampler x{spec_of(study_text)};
  x.fill(trials);
  hot_path([&] {
    for (trial_no i = trials; i < trials + 20; ++i)
      x.suggest(i);
  });
}

void draw_and_join() {
  told_sampler x{spec_of(study_text)};
  hot_path([&] {
    for (trial_no i = 0; i < 1000; ++i)
      join(x.sampler->draw(i).sequences, x.step);
  });
}

void code_messages() {
  lease work;
  work.number = lease_id{1};
  work.workload.name = "fashion-cnn";
  work.folder = "/checkpoints";
  step_t at = 0;
  for (const auto& x : segments_of(1)) {
    work.stages.push_back({node_id{1}, at, at + 10, x.config});
    at += 10;
  }
  work.stops = {{at, true, true}};
  stop_report report;
  report.lease = lease_id{1};
  report.at = 10;
  report.device = "cpu";
  report.values = {{"val_accuracy", 0.5}, {"val_loss", 0.5}};
  report.saved = checkpoint{"file", 1, 1};
  hot_path([&] {
    for (int i = 0; i < 1000; ++i) {
      checked(decode(encode(work)));
      checked(decode(encode(report)));
    }
  });
}

const std::map<std::string, void (*)()> paths{
  {"code messages", code_messages},
  {"decide", decide},
  {"draw and join", draw_and_join},
  {"follow the plan", follow_plan},
  {"insert trials", insert_trials},
  {"read studies", read_studies},
  {"suggest", suggest},
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    for (const auto& kvp : paths)
      std::printf("%s\n", kvp.first.c_str());
    return 0;
  }
  const auto i = paths.find(argv[1]);
  if (i == paths.end()) {
    std::fprintf(stderr, "there is no hot path '%s'\n", argv[1]);
    return 2;
  }
  i->second();
}
