#pragma once

#include "hippo/service/pool/events.hpp"
#include "hippo/service/pool/options.hpp"
#include "hippo/service/trace/noun_fields.hpp"

// The fields of the events and effects of the pool.

namespace hippo::trace {

template <class F>
void fields(F& f, pool_options& x) {
  f("heartbeat_interval", x.heartbeat_interval);
  f("silence_max", x.silence_max);
  f("placement", x.placement);
  f("machines", x.machines);
}
template <class F>
void fields(F& f, pool_event::registered& x) {
  f("what", x.what);
  f("known", x.known);
}
template <class F>
void fields(F& f, pool_event::heard& x) {
  f("what", x.what);
}
template <class F>
void fields(F& f, pool_event::leaving& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, pool_event::disconnected& x) {
  f("trainer", x.trainer);
  f("in_order", x.in_order);
  f("why", x.why);
}
template <class F>
void fields(F& f, pool_event::introduced& x) {
  f("merger", x.merger);
  f("need", x.need);
}
template <class F>
void fields(F& f, pool_event::demanded& x) {
  f("merger", x.merger);
  f("weight", x.weight);
  f("trainers", x.trainers);
  f("kinds", x.kinds);
  f("facts", x.facts);
}
template <class F>
void fields(F& f, pool_event::merger_ended& x) {
  f("merger", x.merger);
}
template <class F>
void fields(F& f, pool_event::released& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, pool_event::stalled& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, pool_event::cooled_down& x) {
  f("trainer", x.trainer);
  f("span", x.span);
  f("unable", x.unable);
}
template <class F>
void fields(F& f, pool_event::blamed& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, pool_event::lease_failed& x) {
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, pool_event::alive& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, pool_event::review_due& x) {
  f("ends_cool_down", x.ends_cool_down);
}
template <class F>
void fields(F&, pool_event::ticked&) {}
template <class F>
void fields(F& f, pool_effect::answer_hello& x) {
  f("what", x.what);
}
template <class F>
void fields(F& f, pool_effect::dismiss& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, pool_effect::watch& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, pool_effect::unwatch& x) {
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, pool_effect::grant& x) {
  f("merger", x.merger);
  f("trainer", x.trainer);
  f("kind", x.kind);
  f("seconds_between_interruptions", x.seconds_between_interruptions);
  f("price", x.price);
  f("name", x.name);
  f("at_once", x.at_once);
  f("code_at_once", x.code_at_once);
}
template <class F>
void fields(F& f, pool_effect::ask_to_yield& x) {
  f("merger", x.merger);
  f("trainer", x.trainer);
}
template <class F>
void fields(F& f, pool_effect::notify_lost& x) {
  f("merger", x.merger);
  f("trainer", x.trainer);
  f("why", x.why);
}
template <class F>
void fields(F& f, pool_effect::notify_back& x) {
  f("merger", x.merger);
  f("name", x.name);
}
template <class F>
void fields(F& f, pool_effect::tell_able& x) {
  f("merger", x.merger);
  f("trainers", x.trainers);
}
template <class F>
void fields(F& f, pool_effect::forward_heartbeat& x) {
  f("merger", x.merger);
  f("what", x.what);
}
template <class F>
void fields(F& f, pool_effect::review_after& x) {
  f("span", x.span);
  f("ends_cool_down", x.ends_cool_down);
}
template <class F>
void fields(F& f, pool_effect::log_line& x) {
  f("is_warning", x.is_warning);
  f("text", x.text);
}

} // namespace hippo::trace
