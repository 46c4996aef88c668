#pragma once

#include "hippo/service/study/events.hpp"
#include "hippo/service/study/options.hpp"
#include "hippo/service/trace/record_fields.hpp"

// The fields of the events and effects of a study.

namespace hippo::trace {

template <class F>
void fields(F&, study_core_event::registered&) {}
template <class F>
void fields(F& inspector, study_core_event::capacity_offered& event) {
  inspector("trials", event.trials);
}
template <class F>
void fields(F&, study_core_event::quiesced&) {}
template <class F>
void fields(F& inspector, study_core_event::spent& event) {
  inspector("what", event.what);
  inspector("raises", event.raises);
}
template <class F>
void fields(F& inspector, study_core_event::received& event) {
  inspector("news", event.news);
}
template <class F>
void fields(F& inspector, study_core_event::commanded& event) {
  inspector("what", event.what);
  inspector("from", event.from);
}
template <class F>
void fields(F& inspector, study_core_event::train_wanted& event) {
  inspector("trial", event.trial);
  inspector("to", event.to);
  inspector("from", event.from);
}
template <class F>
void fields(F& inspector, study_core_event::filled& event) {
  inspector("why", event.why);
}
template <class F>
void fields(F&, study_core_event::time_passed&) {}
template <class F>
void fields(F& inspector, command_answer& command_answer) {
  inspector("trial", command_answer.trial);
  inspector("params", command_answer.params);
  inspector("retried", command_answer.retried);
  inspector("trials", command_answer.trials);
}
template <class F>
void fields(F& inspector, trained_trial& trained_trial) {
  inspector("state", trained_trial.state);
  inspector("step", trained_trial.step);
  inspector("values", trained_trial.metrics);
  inspector("failure", trained_trial.failure);
}
template <class F>
void fields(F& inspector, study_end& end) {
  inspector("id", end.id);
  inspector("name", end.name);
  inspector("state", end.state);
}
template <class F>
void fields(F& inspector, best_so_far& best) {
  inspector("trial", best.trial);
  inspector("value", best.value);
}
template <class F>
void fields(F& inspector, front_so_far& front) {
  inspector("points", front.points);
  inspector("hypervolume", front.hypervolume);
}
template <class F>
void fields(F& inspector, trial_event& event) {
  inspector("study", event.study);
  inspector("trial", event.trial);
  inspector("state", event.state);
  inspector("step", event.step);
  inspector("value", event.value);
  inspector("params", event.params);
  inspector("failure", event.failure);
  inspector("violated", event.violated);
  inspector("best", event.best);
  inspector("values", event.values);
  inspector("front", event.front);
}
template <class F>
void fields(F& inspector, study_effect::answer& reply) {
  inspector("to", reply.to);
  inspector("what", reply.what);
}
template <class F>
void fields(F& inspector, study_effect::commit& order) {
  inspector("records", order.records);
  inspector("news", order.news);
  inspector("answers", order.answers);
  inspector("end", order.end);
}
template <class F>
void fields(F& inspector, study_effect::send_orders& order) {
  inspector("orders", order.orders);
}
template <class F>
void fields(F& inspector, study_effect::set_paused& order) {
  inspector("paused", order.paused);
}
template <class F>
void fields(F& inspector, study_effect::set_weight& order) {
  inspector("weight", order.weight);
}
template <class F>
void fields(F& inspector, study_effect::raise_budget& order) {
  inspector("device_seconds", order.device_seconds);
  inspector("cost", order.cost);
}
template <class F>
void fields(F& inspector, study_effect::notify_trial& order) {
  inspector("what", order.what);
}
template <class F>
void fields(F& inspector, study_effect::wake_after& order) {
  inspector("span", order.span);
}

} // namespace hippo::trace
