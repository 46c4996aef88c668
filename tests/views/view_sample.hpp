#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/live_study.hpp"
#include "hippo/model/records.hpp"

namespace hippo {

inline workload_descriptor sample_workload() {
  workload_descriptor result;
  result.name = "sum";
  result.metrics = {{"sum", direction::maximize, "of the learning rates"},
                    {"ms", direction::minimize, "that a step takes"}};
  parameter_descriptor lr;
  lr.name = "lr";
  lr.fallback = 0.1;
  lr.min = 0;
  result.hyper_parameters = {lr};
  return result;
}

/// A state with three studies: one that runs, one that is complete and has two
/// metrics, and one that was cancelled before it had a trial.
/// @param key of `sample_workload`
inline std::vector<journal_record> view_sample(const std::string& key) {
  const auto text = [](const std::string& name, const std::string& rest) {
    return "study: " + name
           + "\nworkload: {name: sum}\nmax_steps: 9\n"
             "space: {lr: {uniform: [0, 1]}}\n"
           + rest;
  };
  stored_study running;
  running.id = study_id{1};
  running.name = "running";
  running.file = "running.yaml";
  running.text = text("running", "objective: {metric: sum}\nalgorithm: random\n"
                                 "budget: {trials: 8, cost: 40}\n");
  running.metric = "sum";
  running.weight = 2;
  running.active_seconds = 12.5;
  running.device_seconds = 40;
  running.cost = 1.25;
  running.submitted = 1.7e9;
  auto complete = running;
  complete.id = study_id{2};
  complete.name = "complete";
  complete.text = text("complete",
                       "objective:\n  - {metric: sum, direction: maximize}\n"
                       "  - {metric: ms, direction: minimize}\n"
                       "algorithm: random\nbudget: {trials: 2}\n");
  complete.state = study_phase::complete;
  complete.weight = 1;
  complete.cost = 0;
  stored_study cancelled;
  cancelled.id = study_id{3};
  cancelled.name = "cancelled";
  cancelled.text = "study: cancelled\n"; // which cannot be read any more
  cancelled.metric = "loss";
  cancelled.direction = direction::minimize;
  cancelled.state = study_phase::cancelled;
  cancelled.reason = "by ada";
  std::vector<journal_record> result{
    node_added{key, {node_id{1}, root_node, 0, 0,
                     {{"lr", form::constant(0.1)}}}},
    result_added{key, {node_id{1}, 6, {{"sum", 0.875}}, "cpu"}},
    study_saved{running}, study_saved{complete}, study_saved{cancelled}};
  const auto add = [&](std::uint64_t study, stored_trial x) {
    result.emplace_back(trial_saved{study_id{study}, std::move(x)});
  };
  stored_trial best;
  best.state = trial_state::paused;
  best.params = R"({"lr":{"step":[0.1,0.2]},"batch_size":64})";
  best.asked_to = 9;
  best.steps = 6;
  best.best = stored_best{6, 0.875};
  best.shared = 2;
  best.why = {"cross of 1, 2, 4", 0.9375, step_t{4}};
  add(1, best);
  stored_trial failed;
  failed.trial = 1;
  failed.state = trial_state::failed;
  failed.params = R"({"lr":0.5})";
  failed.asked_to = 9;
  failed.steps = 1;
  failed.failure = "loss is nan";
  add(1, failed);
  stored_trial pruned;
  pruned.trial = 2;
  pruned.state = trial_state::pruned;
  pruned.params = R"({"lr":0.25})";
  pruned.asked_to = pruned.steps = 3;
  pruned.best = stored_best{3, 0.5};
  add(1, pruned);
  stored_trial done;
  done.state = trial_state::complete;
  done.params = R"({"lr":0.75})";
  done.asked_to = done.steps = 9;
  done.best = stored_best{9, 0.9};
  add(2, done);
  result.emplace_back(front_saved{
    study_id{2},
    R"({"goals":[{"metric":"sum","direction":"maximize"},)"
    R"({"metric":"ms","direction":"minimize"}],"constraints":["ms <= 5"],)"
    R"("points":[{"trial":0,"step":9,"values":{"sum":0.9,"ms":4.5}}],)"
    R"("hypervolume":0.4213,"reference":{"sum":0.1,"ms":9}})"});
  result.emplace_back(event_added{
    study_id{1}, key, trial_measured{0, node_id{1}, 6, {{"sum", 0.875}}}});
  result.emplace_back(steps_trained{key, 40, 20});
  result.emplace_back(study_served{study_id{1}, 40, 1.25});
  return result;
}

/// What runs of it: a trainer trains for the first study, which is late.
inline live_view live_sample(const std::string& key) {
  live_view result;
  auto& study = result.studies[study_id{1}];
  study.view.id = 1;
  study.view.name = "running";
  study.view.workload = key;
  study.view.weight = 1;
  study.view.active_seconds = 13.5;
  study.view.deadline_seconds_left = 100;
  study.waiting_steps = 1000;
  merger_status plan;
  plan.step_seconds = 1;
  plan.figures.asked_steps = plan.figures.unique_steps = 1000;
  plan.running.push_back({.trainer = trainer_id{1},
                          .lane = 0,
                          .config = {{"lr", form::constant(0.1)}},
                          .studies = {study_id{1}},
                          .at = 0,
                          .to = 10});
  plan.hindered = "no room";
  result.mergers.push_back(plan);
  result.merger_of[key] = 0;
  result.pool.trainers.resize(3);
  auto& works = result.pool.trainers[0];
  works.number = 1;
  works.name = "alpha/100";
  works.device = "cuda A100";
  works.machine = "a100";
  works.price = 3.6;
  works.work_seconds = 1000;
  works.idle_seconds = 500;
  works.memory_bytes = 85899345920;
  works.driver = "13.0";
  works.compute_capability = "8.0";
  works.notice_seconds = 120;
  auto& lost = result.pool.trainers[1];
  lost.number = 2;
  lost.name = "alpha/101";
  lost.device = "cpu avx2 1 thread";
  lost.lost = "connection lost";
  auto& held_up = result.pool.trainers[2];
  held_up.number = 3;
  held_up.name = "beta/7";
  held_up.device = "cpu avx2 1 thread";
  held_up.held_up = "does not return since 40 s";
  held_up.sick = "cannot start sum";
  held_up.failures = 2;
  held_up.failed = "no such file";
  held_up.unpriced = "its machine is in no list";
  result.pool.costs.emplace();
  result.pool.costs->push_back({.kind = "a100", .on_each = 2});
  look_ahead(result);
  return result;
}

} // namespace hippo
