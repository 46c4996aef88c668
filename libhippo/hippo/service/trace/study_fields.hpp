#pragma once

#include "hippo/service/study/events.hpp"
#include "hippo/service/study/options.hpp"
#include "hippo/service/trace/record_fields.hpp"

// The fields of the events and effects of a study.

namespace hippo::trace {

template <class F>
void fields(F&, study_core_event::registered&) {}
template <class F>
void fields(F& f, study_core_event::capacity_offered& x) {
  f("trials", x.trials);
}
template <class F>
void fields(F&, study_core_event::quiesced&) {}
template <class F>
void fields(F& f, study_core_event::spent& x) {
  f("what", x.what);
}
template <class F>
void fields(F& f, study_core_event::received& x) {
  f("news", x.news);
}
template <class F>
void fields(F& f, study_core_event::commanded& x) {
  f("what", x.what);
  f("from", x.from);
}
template <class F>
void fields(F& f, study_core_event::train_wanted& x) {
  f("trial", x.trial);
  f("to", x.to);
  f("from", x.from);
}
template <class F>
void fields(F& f, study_core_event::filled& x) {
  f("why", x.why);
}
template <class F>
void fields(F&, study_core_event::time_passed&) {}
template <class F>
void fields(F& f, command_answer& x) {
  f("trial", x.trial);
  f("params", x.params);
  f("retried", x.retried);
}
template <class F>
void fields(F& f, trained_answer& x) {
  f("state", x.state);
  f("step", x.step);
  f("values", x.values);
  f("failure", x.failure);
}
template <class F>
void fields(F& f, study_end& x) {
  f("id", x.id);
  f("name", x.name);
  f("state", x.state);
}
template <class F>
void fields(F& f, best_so_far& x) {
  f("trial", x.trial);
  f("value", x.value);
}
template <class F>
void fields(F& f, front_so_far& x) {
  f("points", x.points);
  f("hypervolume", x.hypervolume);
}
template <class F>
void fields(F& f, trial_event& x) {
  f("study", x.study);
  f("trial", x.trial);
  f("state", x.state);
  f("step", x.step);
  f("value", x.value);
  f("params", x.params);
  f("failure", x.failure);
  f("best", x.best);
  f("values", x.values);
  f("front", x.front);
}
template <class F>
void fields(F& f, study_effect::answer& x) {
  f("to", x.to);
  f("what", x.what);
}
template <class F>
void fields(F& f, study_effect::commit& x) {
  f("records", x.records);
  f("news", x.news);
  f("answers", x.answers);
  f("end", x.end);
}
template <class F>
void fields(F& f, study_effect::send_orders& x) {
  f("orders", x.orders);
}
template <class F>
void fields(F& f, study_effect::set_paused& x) {
  f("paused", x.paused);
}
template <class F>
void fields(F& f, study_effect::set_weight& x) {
  f("weight", x.weight);
}
template <class F>
void fields(F& f, study_effect::notify_trial& x) {
  f("what", x.what);
}
template <class F>
void fields(F& f, study_effect::wake_after& x) {
  f("span", x.span);
}

} // namespace hippo::trace
