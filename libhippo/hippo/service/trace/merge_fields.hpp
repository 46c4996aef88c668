#pragma once

#include "hippo/service/merge/events.hpp"
#include "hippo/service/merge/options.hpp"
#include "hippo/service/trace/record_fields.hpp"

// The fields of the events and effects of a merger.

namespace hippo::trace {

/// But for what earlier runs have left of its plan.
template <class F>
void fields(F& f, merger_options& x) {
  f("workload", x.workload);
  f("workload_version", x.workload_version);
  f("metrics", x.metrics);
  f("folder", x.folder);
  f("code", x.code);
  f("kept_code_text", x.kept_code_text);
  f("folder_token", x.folder_token);
  f("depot_port", x.depot_port);
  f("policy", x.policy);
  f("merge", x.merge);
  f("speed_names", x.speed_names);
  f("other_steps", x.other_steps);
  f("save_every_seconds", x.save_every_seconds);
  f("checkpoint_bytes_max", x.checkpoint_bytes_max);
  f("attempts_max", x.attempts_max);
  f("stall_max", x.stall_max);
  f("unmeasured_stall_max", x.unmeasured_stall_max);
  f("trained", x.trained);
  f("lease_steps_max", x.lease_steps_max);
  f("lease_bytes_max", x.lease_bytes_max);
  f("unpacked_nodes_max", x.unpacked_nodes_max);
  f("first_lease", x.first_lease);
  f("timings", x.timings);
  f("evicted", x.evicted);
}
template <class F>
void fields(F& f, merge_event::study_added& x) {
  f("study", x.study);
}
template <class F>
void fields(F& f, merge_event::orders_given& x) {
  f("study", x.study);
  f("orders", x.orders);
}
template <class F>
void fields(F& f, merge_event::weight_set& x) {
  f("study", x.study);
  f("weight", x.weight);
}
template <class F>
void fields(F& f, merge_event::paused_set& x) {
  f("study", x.study);
  f("paused", x.paused);
}
template <class F>
void fields(F& f, merge_event::study_left& x) {
  f("study", x.study);
}
template <class F>
void fields(F&, merge_event::started&) {}
template <class F>
void fields(F&, merge_event::halted&) {}
template <class F>
void fields(F&, merge_event::retiring&) {}
template <class F>
void fields(F& f, merge_event::budget_set& x) {
  f("bytes", x.bytes);
}
template <class F>
void fields(F& f, merge_event::committed& x) {
  f("number", x.number);
}
template <class F>
void fields(F&, merge_event::time_passed&) {}
template <class F>
void fields(F& f, merge_event::reported& x) {
  f("report", x.report);
  f("from", x.from);
}
template <class F>
void fields(F& f, merge_event::resent& x) {
  f("report", x.report);
  f("from", x.from);
}
template <class F>
void fields(F& f, merge_event::lease_ended& x) {
  f("end", x.end);
}
template <class F>
void fields(F& f, merge_event::malformed& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, merge_event::granted& x) {
  f("trainer", x.trainer);
  f("kind", x.kind);
  f("seconds_between_interruptions", x.seconds_between_interruptions);
  f("price", x.price);
  f("name", x.name);
  f("at_once", x.at_once);
  f("code_at_once", x.code_at_once);
}
template <class F>
void fields(F& f, merge_event::lost& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, merge_event::trainer_back& x) {
  f("name", x.name);
}
template <class F>
void fields(F& f, merge_event::able_trainers& x) {
  f("trainers", x.trainers);
}
template <class F>
void fields(F& f, merge_event::heartbeat& x) {
  f("trainer", x.trainer);
  f("lease", x.lease);
  f("at", x.at);
}
template <class F>
void fields(F& f, merge_event::yield_asked& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F&, merge_event::demand_answered&) {}
template <class F>
void fields(F& f, commit_request& x) {
  f("number", x.number);
  f("records", x.records);
  f("news", x.news);
  f("files", x.files);
}
template <class F>
void fields(F& f, merge_effect::send_lease& x) {
  f("trainer", x.trainer);
  f("work", x.work);
}
template <class F>
void fields(F& f, merge_effect::send_stop& x) {
  f("trainer", x.trainer);
  f("stop", x.stop);
}
template <class F>
void fields(F& f, merge_effect::send_cancel& x) {
  f("trainer", x.trainer);
  f("lease", x.lease);
}
template <class F>
void fields(F& f, merge_effect::send_ack& x) {
  f("to", x.to);
  f("report", x.report);
}
template <class F>
void fields(F& f, merge_effect::release_trainer& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, merge_effect::cool_down_trainer& x) {
  f("trainer", x.trainer);
  f("span", x.span);
  f("unable", x.unable);
}
template <class F>
void fields(F& f, merge_effect::blame_trainer& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, merge_effect::note_failure& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, merge_effect::give_back_stalled& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, merge_effect::note_alive& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, merge_effect::announce_demand& x) {
  f("weight", x.weight);
  f("trainers", x.trainers);
  f("kinds", x.kinds);
  f("facts", x.facts);
}
template <class F>
void fields(F& f, merge_effect::commit& x) {
  f("what", x.what);
}
template <class F>
void fields(F& f, merge_effect::offer_capacity& x) {
  f("study", x.study);
  f("trials", x.trials);
}
template <class F>
void fields(F& f, merge_effect::notify_quiesced& x) {
  f("study", x.study);
}
template <class F>
void fields(F& f, merge_effect::notify_spent& x) {
  f("study", x.study);
  f("what", x.what);
}
template <class F>
void fields(F& f, merge_effect::retired& x) {
  f("trained_steps", x.trained_steps);
}
template <class F>
void fields(F& f, merge_effect::restore_code& x) {
  f("code", x.code);
}
template <class F>
void fields(F& f, merge_effect::log_line& x) {
  f("severity", x.severity);
  f("text", x.text);
}

} // namespace hippo::trace
