#pragma once

#include "hippo/service/coordinator/events.hpp"
#include "hippo/service/trace/study_fields.hpp"

// The fields of the events and effects of the coordinator.

namespace hippo::trace {

template <class F>
void fields(F& inspector, coordinator_event::submitted& event) {
  inspector("request", event.request);
  inspector("stored", event.stored);
  inspector("has_ended", event.has_ended);
  inspector("name", event.name);
  inspector("workload_key", event.workload_key);
  inspector("first_bytes", event.first_bytes);
  inspector("by_client", event.by_client);
  inspector("refusal", event.refusal);
}
template <class F>
void fields(F& inspector, coordinator_event::stored& event) {
  inspector("request", event.request);
}
template <class F>
void fields(F& inspector, coordinator_event::unstored& event) {
  inspector("request", event.request);
}
template <class F>
void fields(F& inspector, coordinator_event::plan_read& event) {
  inspector("key", event.key);
  inspector("failure", event.failure);
}
template <class F>
void fields(F& inspector, coordinator_event::not_spawned& event) {
  inspector("id", event.id);
  inspector("request", event.request);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, coordinator_event::started& event) {
  inspector("id", event.id);
  inspector("request", event.request);
  inspector("number", event.number);
}
template <class F>
void fields(F& inspector, coordinator_event::not_started& event) {
  inspector("id", event.id);
  inspector("request", event.request);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, coordinator_event::not_resubmitted& event) {
  inspector("id", event.id);
  inspector("unreadable", event.unreadable);
}
template <class F>
void fields(F& inspector, coordinator_event::restore_failed& event) {
  inspector("id", event.id);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, coordinator_event::row_unreadable& event) {
  inspector("id", event.id);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, coordinator_event::study_ended& event) {
  inspector("end", event.end);
}
template <class F>
void fields(F& inspector, coordinator_event::study_retired& event) {
  inspector("id", event.id);
  inspector("end", event.end);
}
template <class F>
void fields(F& inspector, coordinator_event::study_stays& event) {
  inspector("id", event.id);
}
template <class F>
void fields(F& inspector, coordinator_event::study_down& event) {
  inspector("id", event.id);
  inspector("is_of_journal", event.is_of_journal);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, coordinator_event::merger_down& event) {
  inspector("key", event.key);
  inspector("is_of_journal", event.is_of_journal);
  inspector("why", event.why);
  inspector("study", event.study);
  inspector("fault_text", event.fault_text);
}
template <class F>
void fields(F& inspector, coordinator_event::cancel_asked& event) {
  inspector("request", event.request);
  inspector("id", event.id);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, coordinator_event::asked& event) {
  inspector("request", event.request);
  inspector("id", event.id);
}
template <class F>
void fields(F& inspector, coordinator_event::commanded& event) {
  inspector("request", event.request);
  inspector("id", event.id);
}
template <class F>
void fields(F& inspector, coordinator_event::reopened& event) {
  inspector("request", event.request);
  inspector("id", event.id);
}
template <class F>
void fields(F& inspector, coordinator_event::not_reopened& event) {
  inspector("id", event.id);
}
template <class F>
void fields(F& inspector, coordinator_event::retirement_asked& event) {
  inspector("request", event.request);
}
template <class F>
void fields(F& inspector, coordinator_event::command_answered& event) {
  inspector("id", event.id);
  inspector("is_failure", event.is_failure);
}
template <class F>
void fields(F&, coordinator_event::begun&) {}
template <class F>
void fields(F&, coordinator_event::going&) {}
template <class F>
void fields(F&, coordinator_event::halted&) {}
template <class F>
void fields(F&, coordinator_event::ticked&) {}
template <class F>
void fields(F&, coordinator_event::memory_due&) {}
template <class F>
void fields(F& inspector, coordinator_event::study_measured& event) {
  inspector("id", event.id);
  inspector("bytes", event.bytes);
}
template <class F>
void fields(F& inspector, coordinator_event::plan_measured& event) {
  inspector("key", event.key);
  inspector("bytes", event.bytes);
  inspector("segments", event.segments);
}
template <class F>
void fields(F& inspector, coordinator_effect::store_submission& order) {
  inspector("request", order.request);
  inspector("id", order.id);
  inspector("is_new", order.is_new);
  inspector("lease_epoch", order.lease_epoch);
}
template <class F>
void fields(F& inspector, coordinator_effect::accept_submission& order) {
  inspector("request", order.request);
  inspector("id", order.id);
}
template <class F>
void fields(F& inspector, coordinator_effect::refuse_submission& order) {
  inspector("request", order.request);
  inspector("why", order.why);
}
template <class F>
void fields(F& inspector, coordinator_effect::refuse_unstored& order) {
  inspector("request", order.request);
}
template <class F>
void fields(F& inspector, coordinator_effect::read_plan& order) {
  inspector("request", order.request);
  inspector("key", order.key);
  inspector("lease_epoch", order.lease_epoch);
}
template <class F>
void fields(F& inspector, coordinator_effect::make_merger& order) {
  inspector("key", order.key);
}
template <class F>
void fields(F& inspector, coordinator_effect::start_merger& order) {
  inspector("key", order.key);
}
template <class F>
void fields(F& inspector, coordinator_effect::halt_merger& order) {
  inspector("key", order.key);
}
template <class F>
void fields(F& inspector, coordinator_effect::retire_merger& order) {
  inspector("key", order.key);
}
template <class F>
void fields(F& inspector, coordinator_effect::tell_death& order) {
  inspector("key", order.key);
  inspector("why", order.why);
  inspector("is_again", order.is_again);
  inspector("study", order.study);
}
template <class F>
void fields(F& inspector, coordinator_effect::spawn_study& order) {
  inspector("request", order.request);
  inspector("id", order.id);
  inspector("key", order.key);
}
template <class F>
void fields(F& inspector, coordinator_effect::start_study& order) {
  inspector("id", order.id);
  inspector("request", order.request);
}
template <class F>
void fields(F& inspector, coordinator_effect::exit_study& order) {
  inspector("id", order.id);
}
template <class F>
void fields(F& inspector, coordinator_effect::drop_study& order) {
  inspector("id", order.id);
}
template <class F>
void fields(F& inspector, coordinator_effect::end_study& order) {
  inspector("id", order.id);
  inspector("name", order.name);
  inspector("how", order.how);
  inspector("why", order.why);
  inspector("submitter", order.submitter);
  inspector("canceller", order.canceller);
}
template <class F>
void fields(F& inspector, coordinator_effect::submit_again& order) {
  inspector("id", order.id);
  inspector("submitter", order.submitter);
}
template <class F>
void fields(F& inspector, coordinator_effect::retire_study& order) {
  inspector("id", order.id);
  inspector("end", order.end);
}
template <class F>
void fields(F& inspector, coordinator_effect::tell_end& order) {
  inspector("end", order.end);
}
template <class F>
void fields(F& inspector, coordinator_effect::command_study& order) {
  inspector("request", order.request);
  inspector("id", order.id);
}
template <class F>
void fields(F& inspector, coordinator_effect::reopen_study& order) {
  inspector("request", order.request);
  inspector("id", order.id);
}
template <class F>
void fields(F& inspector, coordinator_effect::refuse_command& order) {
  inspector("request", order.request);
  inspector("why", order.why);
}
template <class F>
void fields(F& inspector, coordinator_effect::answer_question& order) {
  inspector("request", order.request);
  inspector("id", order.id);
  inspector("is_there", order.is_there);
}
template <class F>
void fields(F& inspector, coordinator_effect::answer_retirement& order) {
  inspector("request", order.request);
  inspector("is_idle", order.is_idle);
}
template <class F>
void fields(F& inspector, coordinator_effect::refuse_cancel& order) {
  inspector("request", order.request);
}
template <class F>
void fields(F&, coordinator_effect::divide_space&) {}
template <class F>
void fields(F&, coordinator_effect::trim_memory&) {}
template <class F>
void fields(F&, coordinator_effect::look_after&) {}
template <class F>
void fields(F& inspector, coordinator_effect::tell_room& order) {
  inspector("id", order.id);
  inspector("why", order.why);
}
template <class F>
void fields(F& inspector, coordinator_effect::ask_study_memory& order) {
  inspector("id", order.id);
}
template <class F>
void fields(F& inspector, coordinator_effect::ask_merger_memory& order) {
  inspector("key", order.key);
}
template <class F>
void fields(F&, coordinator_effect::quit&) {}
template <class F>
void fields(F& inspector, coordinator_effect::log_line& order) {
  inspector("severity", order.severity);
  inspector("text", order.text);
}
template <class F>
void fields(F& inspector, coordinator_begin& begun) {
  inspector("keep_ended", begun.keep_ended);
  inspector("restores", begun.restores);
  inspector("has_store", begun.has_store);
  inspector("limits_space", begun.limits_space);
  inspector("memory_bytes_max", begun.memory_bytes_max);
  inspector("idle_merger_max", begun.idle_merger_max);
  inspector("last_study", begun.last_study);
  inspector("last_lease_epoch", begun.last_lease_epoch);
  inspector("awaited", begun.awaited);
}

} // namespace hippo::trace
