#pragma once

#include <string>

#include "hippo/model/run_record.hpp"

namespace hippo {

/// A trial with one result per step, `value` at the last of them.
inline trial_record sample_trial(std::uint64_t id, step_t steps, double value) {
  trial_record x;
  x.id = id;
  x.state = trial_state::complete;
  x.params = {{"lr", 0.1}, {"batch_size", 64 + id}};
  x.steps = steps;
  x.shared_steps = steps / 2;
  for (step_t i = 1; i <= steps; ++i)
    x.results.push_back({i,
                         {{"accuracy", i == steps ? value : 0.1},
                          {"loss", 1.0 / static_cast<double>(i)}}});
  return x;
}

/// Two studies that share a root, two trainers.
inline run_record sample_run() {
  run_record x;
  study_record study;
  study.name = "first";
  study.algorithm = "asha";
  study.metric = "accuracy";
  study.asked_steps = 10;
  study.delivered_steps = 10;
  study.shared_steps = 5;
  study.unique_steps = 8;
  study.trials = {sample_trial(0, 4, 0.1 + 0.2), sample_trial(1, 6, 1.0 / 3)};
  study.best = best_record{1, 6, 1.0 / 3, study.trials[1].params};
  x.studies.push_back(study);
  study.name = "second";
  study.algorithm = "sha";
  x.studies.push_back(study);
  x.asked_steps = 20;
  x.delivered_steps = 18;
  x.shared_steps = 10;
  x.unique_steps = 10;
  x.trained_steps = 9;
  x.reused_steps = 1;
  x.merge_rate = 2;
  x.k_wise_merge_rate = 1.6;
  x.wall_seconds = 12.5;
  x.device_seconds = 20.25;
  x.alone_device_seconds = 39.5;
  x.saved_device_seconds = 19.75;
  x.scheduler = "critical-path";
  x.stages = {{1, 0, 0, 2, "lr=0.1;momentum=0.9", {0, 1}, 4, "mlp"},
              {2, 1, 2, 4, "lr=0.1;momentum=0.9", {0}, 2, "mlp"},
              {3, 1, 2, 6, "lr=0.01;momentum=0.9", {1}, 2, "mlp"}};
  x.timeline = {{1, 0.5, 6, 1, 0, 2, 0.1, 4, 1, 0.2, 0},
                {2, 6, 12, 3, 2, 6, 0.1, 5, 0.5, 0.2, 0}};
  x.trainers
    = {{1, "host:1", "cpu avx2", "", false, "", "", "", 0, "", 0, "", ""},
       {2, "host:2", "cuda H100", "killed by signal 9", false, "", "", "", 0,
        "", 1ull << 36, "13.0", "9.0"}};
  x.load_seconds = 0.2;
  x.train_seconds = 9;
  x.evaluate_seconds = 1.5;
  x.save_seconds = 0.4;
  x.dispatch_seconds = 0.3;
  x.idle_seconds = 4.5;
  return x;
}

/// A full tree: `fan` children below each stage, `depth` stages deep.
inline run_record deep_run(std::size_t fan, std::size_t depth, step_t length) {
  run_record x;
  std::uint64_t leaves = 1;
  for (std::size_t i = 0; i < depth; ++i)
    leaves *= fan;
  std::uint64_t first = 0; // of the level above, as an index
  for (std::size_t level = 0; level < depth; ++level) {
    const auto above = x.stages.size();
    const auto parents = level == 0 ? 1 : above - first;
    leaves /= fan;
    for (std::size_t i = 0; i < parents * fan; ++i) {
      stage_record stage;
      stage.id = x.stages.size() + 1;
      stage.parent = level == 0 ? 0 : x.stages[first + i / fan].id;
      stage.begin = level * length;
      stage.end = stage.begin + length;
      stage.config = "lr=" + std::to_string(i);
      stage.studies = {0};
      stage.trials = leaves;
      stage.workload = "mlp";
      x.stages.push_back(stage);
    }
    first = above;
  }
  return x;
}

} // namespace hippo
