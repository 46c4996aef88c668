#pragma once

#include "hippo/model/records.hpp"
#include "hippo/service/merge/orders.hpp"
#include "hippo/service/trace/noun_fields.hpp"

// The fields of records, and of the messages between a study and its
// merger.

namespace hippo::trace {

template <class F>
void fields(F& inspector, choice_reason& reason) {
  inspector("how", reason.how);
  inspector("predicted", reason.predicted);
  inspector("untrained", reason.untrained);
}
template <class F>
void fields(F& inspector, trial_choice& choice) {
  inspector("why", choice.why);
  inspector("decisions", choice.decisions);
}
template <class F>
void fields(F& inspector, trial_measured& report) {
  inspector("trial", report.trial);
  inspector("node", report.node);
  inspector("at", report.at);
  inspector("values", report.values);
  inspector("shared", report.shared);
  inspector("seed_no", report.seed_no);
  inspector("is_part", report.is_part);
}
template <class F>
void fields(F& inspector, trial_failed& failed) {
  inspector("trial", failed.trial);
  inspector("at", failed.at);
  inspector("reason", failed.reason);
}
template <class F>
void fields(F& inspector, study_command& command) {
  inspector("what", command.what);
  inspector("trial", command.trial);
  inspector("at", command.at);
  inspector("text", command.text);
  inspector("token", command.token);
  inspector("dry_run", command.dry_run);
}
template <class F>
void fields(F& inspector, trial_chosen& chosen) {
  inspector("trial", chosen.trial);
  inspector("what", chosen.what);
}
template <class F>
void fields(F& inspector, stored_event& event) {
  inspector("id", event.id);
  inspector("study", event.study);
  inspector("time", event.time);
  inspector("what", event.what);
}
template <class F>
void fields(F& inspector, stored_study& study) {
  inspector("id", study.id);
  inspector("name", study.name);
  inspector("file", study.file);
  inspector("text", study.text);
  inspector("metric", study.metric);
  inspector("direction", study.direction);
  inspector("state", study.state);
  inspector("weight", study.weight);
  inspector("active_seconds", study.active_seconds);
  inspector("device_seconds", study.device_seconds);
  inspector("cost", study.cost);
  inspector("submitted", study.submitted);
  inspector("reason", study.reason);
  inspector("algorithm", study.algorithm);
  inspector("typed", study.typed);
  inspector("trials_ahead", study.trials_ahead);
  inspector("note", study.note);
  inspector("tags", study.tags);
  inspector("removed", study.removed);
}
template <class F>
void fields(F& inspector, stored_best& best) {
  inspector("step", best.step);
  inspector("value", best.value);
}
template <class F>
void fields(F& inspector, stored_trial& stored_trial) {
  inspector("trial", stored_trial.trial);
  inspector("state", stored_trial.state);
  inspector("params", stored_trial.params);
  inspector("asked_to", stored_trial.asked_to);
  inspector("steps", stored_trial.steps);
  inspector("best", stored_trial.best);
  inspector("failure", stored_trial.failure);
  inspector("shared", stored_trial.shared);
  inspector("why", stored_trial.why);
}
template <class F>
void fields(F& inspector, stored_node& node) {
  inspector("id", node.id);
  inspector("parent", node.parent);
  inspector("begin", node.begin);
  inspector("strand", node.strand);
  inspector("config", node.config);
  inspector("is_lost", node.is_lost);
}
template <class F>
void fields(F& inspector, stored_result& stored_result) {
  inspector("node", stored_result.node);
  inspector("step", stored_result.step);
  inspector("values", stored_result.values);
  inspector("device", stored_result.device);
  inspector("trainer", stored_result.trainer);
}
template <class F>
void fields(F& inspector, stored_checkpoint& checkpoint) {
  inspector("node", checkpoint.node);
  inspector("step", checkpoint.step);
  inspector("file", checkpoint.file);
  inspector("device", checkpoint.device);
}
template <class F>
void fields(F& inspector, stored_output& output) {
  inspector("node", output.node);
  inspector("step", output.step);
  inspector("text", output.text);
}
template <class F>
void fields(F& inspector, trained_time& time) {
  inspector("steps", time.steps);
  inspector("device_seconds", time.device_seconds);
}
template <class F>
void fields(F& inspector, node_added& record) {
  inspector("workload_key", record.workload_key);
  inspector("node", record.node);
}
template <class F>
void fields(F& inspector, result_added& record) {
  inspector("workload_key", record.workload_key);
  inspector("result", record.result);
}
template <class F>
void fields(F& inspector, checkpoint_added& record) {
  inspector("workload_key", record.workload_key);
  inspector("checkpoint", record.checkpoint);
}
template <class F>
void fields(F& inspector, checkpoint_removed& record) {
  inspector("workload_key", record.workload_key);
  inspector("node", record.node);
  inspector("step", record.step);
  inspector("file", record.file);
}
template <class F>
void fields(F& inspector, output_added& record) {
  inspector("workload_key", record.workload_key);
  inspector("output", record.output);
}
template <class F>
void fields(F& inspector, notify_request& request) {
  inspector("url", request.url);
  inspector("on", request.on);
}
template <class F>
void fields(F& inspector, study_saved& record) {
  inspector("study", record.study);
  inspector("notify", record.notify);
}
template <class F>
void fields(F& inspector, notification_settled& record) {
  inspector("study", record.study);
  inspector("event", record.event);
  inspector("number", record.number);
  inspector("trouble", record.trouble);
}
template <class F>
void fields(F& inspector, trial_saved& record) {
  inspector("study", record.study);
  inspector("trial", record.trial);
}
template <class F>
void fields(F& inspector, trial_removed& record) {
  inspector("study", record.study);
  inspector("trial", record.trial);
}
template <class F>
void fields(F& inspector, front_saved& record) {
  inspector("study", record.study);
  inspector("front", record.front);
}
template <class F>
void fields(F& inspector, event_added& record) {
  inspector("study", record.study);
  inspector("workload_key", record.workload_key);
  inspector("what", record.what);
}
template <class F>
void fields(F& inspector, steps_trained& record) {
  inspector("workload_key", record.workload_key);
  inspector("steps", record.steps);
  inspector("device_seconds", record.device_seconds);
}
template <class F>
void fields(F& inspector, timing_learned& record) {
  inspector("workload_key", record.workload_key);
  inspector("what", record.what);
}
template <class F>
void fields(F& inspector, study_served& record) {
  inspector("study", record.study);
  inspector("device_seconds", record.device_seconds);
  inspector("cost", record.cost);
}
template <class F>
void fields(F& inspector, lease_epoch_begun& record) {
  inspector("number", record.number);
}

template <class F>
void fields(F& inspector, metric_goal& goal) {
  inspector("metric", goal.metric);
  inspector("direction", goal.direction);
}
template <class F>
void fields(F& inspector, metric_constraint& constraint) {
  inspector("metric", constraint.metric);
  inspector("is_at_most", constraint.is_at_most);
  inspector("limit", constraint.limit);
}
template <class F>
void fields(F& inspector, goals& wanted) {
  inspector("metrics", wanted.metrics);
  inspector("constraints", wanted.constraints);
}
template <class F>
void fields(F& inspector, repeat_spec& spec) {
  inspector("seeds", spec.seeds);
  inspector("summary", spec.summary);
}
template <class F>
void fields(F& inspector, repeat_plan& repeats) {
  inspector("spec", repeats.spec);
  inspector("first_seed", repeats.first_seed);
  inspector("wanted", repeats.wanted);
}
template <class F>
void fields(F& inspector, study_registration& registration) {
  inspector("id", registration.id);
  inspector("when", registration.when);
  inspector("weight", registration.weight);
  inspector("paused", registration.paused);
  inspector("settings", registration.settings);
  inspector("device_seconds", registration.device_seconds);
  inspector("complexity", registration.complexity);
  inspector("cost", registration.cost);
  inspector("repeats", registration.repeats);
}
template <class F>
void fields(F& inspector, segment& segment) {
  inspector("begin", segment.begin);
  inspector("config", segment.config);
}
template <class F>
void fields(F& inspector, study_orders::trial& trial_number) {
  inspector("no", trial_number.no);
  inspector("segments", trial_number.segments);
  inspector("fork_of", trial_number.fork_of);
  inspector("responsive", trial_number.responsive);
}
template <class F>
void fields(F& inspector, study_orders::request& request) {
  inspector("no", request.no);
  inspector("to", request.to);
  inspector("known_to", request.known_to);
  inspector("is_over", request.is_over);
  inspector("known_shared", request.known_shared);
  inspector("again", request.again);
}
template <class F>
void fields(F& inspector, study_orders& orders) {
  inspector("added", orders.added);
  inspector("rerouted", orders.rerouted);
  inspector("dropped", orders.dropped);
  inspector("asked", orders.asked);
  inspector("wants_capacity", orders.wants_capacity);
  inspector("acked", orders.acked);
  inspector("when", orders.when);
}

} // namespace hippo::trace
