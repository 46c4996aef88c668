#pragma once

#include "hippo/model/records.hpp"
#include "hippo/service/merge/orders.hpp"
#include "hippo/service/trace/noun_fields.hpp"

// The fields of records, and of the messages between a study and its
// merger.

namespace hippo::trace {

template <class F>
void fields(F& f, choice_reason& x) {
  f("how", x.how);
  f("predicted", x.predicted);
  f("untrained", x.untrained);
}
template <class F>
void fields(F& f, trial_choice& x) {
  f("why", x.why);
  f("decisions", x.decisions);
}
template <class F>
void fields(F& f, trial_measured& x) {
  f("trial", x.trial);
  f("node", x.node);
  f("at", x.at);
  f("values", x.values);
  f("shared", x.shared);
}
template <class F>
void fields(F& f, trial_failed& x) {
  f("trial", x.trial);
  f("at", x.at);
  f("reason", x.reason);
}
template <class F>
void fields(F& f, study_command& x) {
  f("what", x.what);
  f("trial", x.trial);
  f("at", x.at);
  f("text", x.text);
  f("token", x.token);
}
template <class F>
void fields(F& f, trial_chosen& x) {
  f("trial", x.trial);
  f("what", x.what);
}
template <class F>
void fields(F& f, stored_event& x) {
  f("id", x.id);
  f("study", x.study);
  f("time", x.time);
  f("what", x.what);
}
template <class F>
void fields(F& f, stored_study& x) {
  f("id", x.id);
  f("name", x.name);
  f("file", x.file);
  f("text", x.text);
  f("metric", x.metric);
  f("direction", x.direction);
  f("state", x.state);
  f("weight", x.weight);
  f("active_seconds", x.active_seconds);
  f("device_seconds", x.device_seconds);
  f("cost", x.cost);
  f("submitted", x.submitted);
  f("reason", x.reason);
  f("algorithm", x.algorithm);
  f("typed", x.typed);
  f("trials_ahead", x.trials_ahead);
}
template <class F>
void fields(F& f, stored_best& x) {
  f("step", x.step);
  f("value", x.value);
}
template <class F>
void fields(F& f, stored_trial& x) {
  f("trial", x.trial);
  f("state", x.state);
  f("params", x.params);
  f("asked_to", x.asked_to);
  f("steps", x.steps);
  f("best", x.best);
  f("failure", x.failure);
  f("shared", x.shared);
  f("why", x.why);
}
template <class F>
void fields(F& f, stored_node& x) {
  f("id", x.id);
  f("parent", x.parent);
  f("begin", x.begin);
  f("strand", x.strand);
  f("config", x.config);
  f("is_lost", x.is_lost);
}
template <class F>
void fields(F& f, stored_result& x) {
  f("node", x.node);
  f("step", x.step);
  f("values", x.values);
  f("device", x.device);
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, stored_checkpoint& x) {
  f("node", x.node);
  f("step", x.step);
  f("file", x.file);
  f("device", x.device);
}
template <class F>
void fields(F& f, stored_output& x) {
  f("node", x.node);
  f("step", x.step);
  f("text", x.text);
}
template <class F>
void fields(F& f, trained_time& x) {
  f("steps", x.steps);
  f("device_seconds", x.device_seconds);
}
template <class F>
void fields(F& f, node_added& x) {
  f("workload_key", x.workload_key);
  f("node", x.node);
}
template <class F>
void fields(F& f, result_added& x) {
  f("workload_key", x.workload_key);
  f("result", x.result);
}
template <class F>
void fields(F& f, checkpoint_added& x) {
  f("workload_key", x.workload_key);
  f("checkpoint", x.checkpoint);
}
template <class F>
void fields(F& f, checkpoint_removed& x) {
  f("workload_key", x.workload_key);
  f("node", x.node);
  f("step", x.step);
  f("file", x.file);
}
template <class F>
void fields(F& f, output_added& x) {
  f("workload_key", x.workload_key);
  f("output", x.output);
}
template <class F>
void fields(F& f, study_saved& x) {
  f("study", x.study);
}
template <class F>
void fields(F& f, trial_saved& x) {
  f("study", x.study);
  f("trial", x.trial);
}
template <class F>
void fields(F& f, front_saved& x) {
  f("study", x.study);
  f("front", x.front);
}
template <class F>
void fields(F& f, event_added& x) {
  f("study", x.study);
  f("workload_key", x.workload_key);
  f("what", x.what);
}
template <class F>
void fields(F& f, steps_trained& x) {
  f("workload_key", x.workload_key);
  f("steps", x.steps);
  f("device_seconds", x.device_seconds);
}
template <class F>
void fields(F& f, timing_learned& x) {
  f("workload_key", x.workload_key);
  f("what", x.what);
}
template <class F>
void fields(F& f, study_served& x) {
  f("study", x.study);
  f("device_seconds", x.device_seconds);
  f("cost", x.cost);
}
template <class F>
void fields(F& f, lease_epoch_begun& x) {
  f("number", x.number);
}

template <class F>
void fields(F& f, study_registration& x) {
  f("id", x.id);
  f("when", x.when);
  f("weight", x.weight);
  f("paused", x.paused);
  f("settings", x.settings);
  f("device_seconds", x.device_seconds);
  f("complexity", x.complexity);
  f("cost", x.cost);
}
template <class F>
void fields(F& f, segment& x) {
  f("begin", x.begin);
  f("config", x.config);
}
template <class F>
void fields(F& f, study_orders::trial& x) {
  f("no", x.no);
  f("segments", x.segments);
  f("fork_of", x.fork_of);
  f("responsive", x.responsive);
}
template <class F>
void fields(F& f, study_orders::request& x) {
  f("no", x.no);
  f("to", x.to);
  f("known_to", x.known_to);
  f("is_over", x.is_over);
  f("known_shared", x.known_shared);
  f("again", x.again);
}
template <class F>
void fields(F& f, study_orders& x) {
  f("added", x.added);
  f("rerouted", x.rerouted);
  f("dropped", x.dropped);
  f("asked", x.asked);
  f("wants_capacity", x.wants_capacity);
  f("acked", x.acked);
}

} // namespace hippo::trace
