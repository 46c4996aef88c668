#pragma once

#include "hippo/service/trace/noun_fields.hpp"
#include "hippo/service/trainer/events.hpp"

// The fields of the events and effects of a trainer.

namespace hippo::trace {

template <class F>
void fields(F& inspector, resent& again) {
  inspector("workload_key", again.workload_key);
  inspector("report", again.report);
}

template <class F>
void fields(F& inspector, trainer_event::connected& event) {
  inspector("is_same", event.is_same);
  inspector("gang", event.gang);
}

template <class F>
void fields(F& inspector, trainer_event::disconnected& event) {
  inspector("why", event.why);
}

template <class F>
void fields(F& inspector, trainer_event::answered& event) {
  inspector("registration", event.registration);
  inspector("what", event.what);
}

template <class F>
void fields(F& inspector, trainer_event::unanswered& event) {
  inspector("registration", event.registration);
  inspector("why", event.why);
}

template <class F>
void fields(F&, trainer_event::given_up&) {}

template <class F>
void fields(F& inspector, trainer_event::left& event) {
  inspector("is_last", event.is_last);
}

template <class F>
void fields(F& inspector, trainer_event::leased& event) {
  inspector("owner", event.owner);
  inspector("work", event.work);
}

template <class F>
void fields(F& inspector, trainer_event::malformed& event) {
  inspector("owner", event.owner);
  inspector("lease", event.lease);
  inspector("why", event.why);
}

template <class F>
void fields(F& inspector, trainer_event::stop_asked& event) {
  inspector("what", event.what);
}

template <class F>
void fields(F& inspector, trainer_event::cancel_asked& event) {
  inspector("lease", event.lease);
}

template <class F>
void fields(F& inspector, trainer_event::acked& event) {
  inspector("what", event.what);
}

template <class F>
void fields(F& inspector, trainer_event::reported& event) {
  inspector("what", event.what);
}

template <class F>
void fields(F& inspector, trainer_event::ended& event) {
  inspector("end", event.end);
}

template <class F>
void fields(F& inspector, trainer_event::stuck& event) {
  inspector("end", event.end);
}

template <class F>
void fields(F&, trainer_event::leave_asked&) {}

template <class F>
void fields(F& inspector, trainer_event::greeting_due& event) {
  inspector("registration", event.registration);
}

template <class F>
void fields(F& inspector, trainer_event::beat_due& event) {
  inspector("registration", event.registration);
}

template <class F>
void fields(F&, trainer_effect::watch&) {}

template <class F>
void fields(F&, trainer_effect::unwatch&) {}

template <class F>
void fields(F& inspector, trainer_effect::send_hello& order) {
  inspector("registration", order.registration);
}

template <class F>
void fields(F& inspector, trainer_effect::send_heartbeat& order) {
  inspector("what", order.what);
}

template <class F>
void fields(F& inspector, trainer_effect::send_resent& order) {
  inspector("what", order.what);
}

template <class F>
void fields(F& inspector, trainer_effect::send_goodbye& order) {
  inspector("trainer", order.trainer);
  inspector("is_last", order.is_last);
}

template <class F>
void fields(F& inspector, trainer_effect::send_report& order) {
  inspector("owner", order.owner);
  inspector("report", order.report);
}

template <class F>
void fields(F& inspector, trainer_effect::send_end& order) {
  inspector("owner", order.owner);
  inspector("end", order.end);
}

template <class F>
void fields(F& inspector, trainer_effect::drop_owner& order) {
  inspector("owner", order.owner);
}

template <class F>
void fields(F& inspector, trainer_effect::start_lease& order) {
  inspector("owner", order.owner);
  inspector("work", order.work);
}

template <class F>
void fields(F& inspector, trainer_effect::add_stop& order) {
  inspector("what", order.what);
}

template <class F>
void fields(F& inspector, trainer_effect::wind_down& order) {
  inspector("lease", order.lease);
  inspector("begin", order.begin);
  inspector("end", order.end);
}

template <class F>
void fields(F& inspector, trainer_effect::cancel& order) {
  inspector("lease", order.lease);
}

template <class F>
void fields(F& inspector, trainer_effect::quit& order) {
  inspector("why", order.why);
}

template <class F>
void fields(F& inspector, trainer_effect::greet_after& order) {
  inspector("span", order.span);
  inspector("registration", order.registration);
}

template <class F>
void fields(F& inspector, trainer_effect::beat_after& order) {
  inspector("span", order.span);
  inspector("registration", order.registration);
}

template <class F>
void fields(F& inspector, trainer_effect::log_line& order) {
  inspector("severity", order.severity);
  inspector("text", order.text);
}

} // namespace hippo::trace
