#pragma once

#include "hippo/service/merge/events.hpp"
#include "hippo/service/merge/options.hpp"
#include "hippo/service/trace/record_fields.hpp"

// The fields of the events and effects of a merger.

namespace hippo::trace {

/// But for what earlier runs have left of its plan.
template <class F>
void fields(F& inspector, merger_options& chosen) {
  inspector("workload", chosen.workload);
  inspector("workload_version", chosen.workload_version);
  inspector("metrics", chosen.metrics);
  inspector("folder", chosen.folder);
  inspector("code", chosen.code);
  inspector("kept_code_text", chosen.kept_code_text);
  inspector("folder_token", chosen.folder_token);
  inspector("depot_port", chosen.depot_port);
  inspector("policy", chosen.policy);
  inspector("merge", chosen.merge);
  inspector("speed_names", chosen.speed_names);
  inspector("other_steps", chosen.other_steps);
  inspector("save_every_seconds", chosen.save_every_seconds);
  inspector("checkpoint_bytes_max", chosen.checkpoint_bytes_max);
  inspector("attempts_max", chosen.attempts_max);
  inspector("stall_max", chosen.stall_max);
  inspector("unmeasured_stall_max", chosen.unmeasured_stall_max);
  inspector("trained", chosen.trained);
  inspector("lease_steps_max", chosen.lease_steps_max);
  inspector("lease_bytes_max", chosen.lease_bytes_max);
  inspector("unpacked_nodes_max", chosen.unpacked_nodes_max);
  inspector("first_lease", chosen.first_lease);
  inspector("parts", chosen.parts);
  inspector("gang_key", chosen.gang_key);
  inspector("timings", chosen.timings);
  inspector("evicted", chosen.evicted);
}
template <class F>
void fields(F& inspector, merge_event::study_added& event) {
  inspector("study", event.study);
}
template <class F>
void fields(F& inspector, merge_event::orders_given& event) {
  inspector("study", event.study);
  inspector("orders", event.orders);
}
template <class F>
void fields(F& inspector, merge_event::weight_set& event) {
  inspector("study", event.study);
  inspector("weight", event.weight);
}
template <class F>
void fields(F& inspector, merge_event::budget_raised& event) {
  inspector("study", event.study);
  inspector("device_seconds", event.device_seconds);
  inspector("cost", event.cost);
}
template <class F>
void fields(F& inspector, merge_event::paused_set& event) {
  inspector("study", event.study);
  inspector("paused", event.paused);
}
template <class F>
void fields(F& inspector, merge_event::study_left& event) {
  inspector("study", event.study);
}
template <class F>
void fields(F&, merge_event::started&) {}
template <class F>
void fields(F&, merge_event::halted&) {}
template <class F>
void fields(F&, merge_event::retiring&) {}
template <class F>
void fields(F& inspector, merge_event::budget_set& event) {
  inspector("bytes", event.bytes);
}
template <class F>
void fields(F& inspector, merge_event::committed& event) {
  inspector("number", event.number);
}
template <class F>
void fields(F&, merge_event::time_passed&) {}
template <class F>
void fields(F& inspector, merge_event::reported& event) {
  inspector("report", event.report);
  inspector("from", event.from);
}
template <class F>
void fields(F& inspector, merge_event::resent& event) {
  inspector("report", event.report);
  inspector("from", event.from);
}
template <class F>
void fields(F& inspector, merge_event::lease_ended& event) {
  inspector("end", event.end);
}
template <class F>
void fields(F& inspector, merge_event::malformed& event) {
  inspector("trainer", event.trainer);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, merge_event::granted& event) {
  inspector("trainer", event.trainer);
  inspector("kind", event.kind);
  inspector("seconds_between_interruptions",
            event.seconds_between_interruptions);
  inspector("price", event.price);
  inspector("name", event.name);
  inspector("at_once", event.at_once);
  inspector("code_at_once", event.code_at_once);
  inspector("seconds_left", event.seconds_left);
  inspector("gang", event.gang);
  inspector("ranks", event.ranks);
}
template <class F>
void fields(F& inspector, merge_event::lost& event) {
  inspector("trainer", event.trainer);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, merge_event::trainer_back& event) {
  inspector("name", event.name);
}
template <class F>
void fields(F& inspector, merge_event::able_trainers& event) {
  inspector("trainers", event.trainers);
}
template <class F>
void fields(F& inspector, merge_event::heartbeat& event) {
  inspector("trainer", event.trainer);
  inspector("lease", event.lease);
  inspector("at", event.at);
}
template <class F>
void fields(F& inspector, merge_event::yield_asked& event) {
  inspector("trainer", event.trainer);
}
template <class F>
void fields(F&, merge_event::demand_answered&) {}
template <class F>
void fields(F& inspector, commit_request& request) {
  inspector("number", request.number);
  inspector("records", request.records);
  inspector("news", request.news);
  inspector("files", request.files);
}
template <class F>
void fields(F& inspector, merge_effect::send_lease& order) {
  inspector("trainer", order.trainer);
  inspector("work", order.work);
}
template <class F>
void fields(F& inspector, merge_effect::send_stop& order) {
  inspector("trainer", order.trainer);
  inspector("stop", order.stop);
}
template <class F>
void fields(F& inspector, merge_effect::send_cancel& order) {
  inspector("trainer", order.trainer);
  inspector("lease", order.lease);
}
template <class F>
void fields(F& inspector, merge_effect::send_ack& order) {
  inspector("to", order.to);
  inspector("report", order.report);
}
template <class F>
void fields(F& inspector, merge_effect::release_trainer& order) {
  inspector("trainer", order.trainer);
}
template <class F>
void fields(F& inspector, merge_effect::cool_down_trainer& order) {
  inspector("trainer", order.trainer);
  inspector("span", order.span);
  inspector("unable", order.unable);
  inspector("joined", order.joined);
}
template <class F>
void fields(F& inspector, merge_effect::blame_trainer& order) {
  inspector("trainer", order.trainer);
  inspector("why", order.why);
}
template <class F>
void fields(F& inspector, merge_effect::note_failure& order) {
  inspector("trainer", order.trainer);
  inspector("why", order.why);
}
template <class F>
void fields(F& inspector, merge_effect::give_back_stalled& order) {
  inspector("trainer", order.trainer);
  inspector("why", order.why);
}
template <class F>
void fields(F& inspector, merge_effect::note_alive& order) {
  inspector("trainer", order.trainer);
}
template <class F>
void fields(F& inspector, merge_effect::announce_demand& order) {
  inspector("weight", order.weight);
  inspector("trainers", order.trainers);
  inspector("kinds", order.kinds);
  inspector("facts", order.facts);
  inspector("helpers", order.helpers);
}
template <class F>
void fields(F& inspector, merge_effect::commit& order) {
  inspector("what", order.what);
}
template <class F>
void fields(F& inspector, merge_effect::offer_capacity& order) {
  inspector("study", order.study);
  inspector("trials", order.trials);
}
template <class F>
void fields(F& inspector, merge_effect::notify_quiesced& order) {
  inspector("study", order.study);
}
template <class F>
void fields(F& inspector, merge_effect::notify_spent& order) {
  inspector("study", order.study);
  inspector("what", order.what);
  inspector("raises", order.raises);
}
template <class F>
void fields(F& inspector, merge_effect::retired& order) {
  inspector("trained_steps", order.trained_steps);
}
template <class F>
void fields(F& inspector, merge_effect::restore_code& order) {
  inspector("code", order.code);
}
template <class F>
void fields(F& inspector, merge_effect::log_line& order) {
  inspector("severity", order.severity);
  inspector("text", order.text);
}

} // namespace hippo::trace
