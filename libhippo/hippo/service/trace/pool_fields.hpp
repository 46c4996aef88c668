#pragma once

#include "hippo/service/pool/events.hpp"
#include "hippo/service/pool/options.hpp"
#include "hippo/service/trace/noun_fields.hpp"

// The fields of the events and effects of the pool.

namespace hippo::trace {

template <class F>
void fields(F& inspector, pool_options& pool_options) {
  inspector("heartbeat_interval", pool_options.heartbeat_interval);
  inspector("silence_max", pool_options.silence_max);
  inspector("placement", pool_options.placement);
  inspector("machines", pool_options.machines);
}
template <class F>
void fields(F& inspector, pool_event::registered& event) {
  inspector("what", event.what);
  inspector("known", event.known);
}
template <class F>
void fields(F& inspector, pool_event::heard& event) {
  inspector("what", event.what);
}
template <class F>
void fields(F& inspector, pool_event::leaving& event) {
  inspector("trainer", event.trainer);
}
template <class F>
void fields(F& inspector, pool_event::disconnected& event) {
  inspector("trainer", event.trainer);
  inspector("in_order", event.in_order);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, pool_event::introduced& event) {
  inspector("merger", event.merger);
  inspector("need", event.need);
}
template <class F>
void fields(F& inspector, pool_event::demanded& event) {
  inspector("merger", event.merger);
  inspector("weight", event.weight);
  inspector("trainers", event.trainers);
  inspector("kinds", event.kinds);
  inspector("facts", event.facts);
  inspector("helpers", event.helpers);
}
template <class F>
void fields(F& inspector, pool_event::merger_ended& event) {
  inspector("merger", event.merger);
}
template <class F>
void fields(F& inspector, pool_event::released& event) {
  inspector("trainer", event.trainer);
}
template <class F>
void fields(F& inspector, pool_event::stalled& event) {
  inspector("trainer", event.trainer);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, pool_event::cooled_down& event) {
  inspector("trainer", event.trainer);
  inspector("span", event.span);
  inspector("unable", event.unable);
  inspector("joined", event.joined);
}
template <class F>
void fields(F& inspector, pool_event::blamed& event) {
  inspector("trainer", event.trainer);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, pool_event::lease_failed& event) {
  inspector("trainer", event.trainer);
  inspector("why", event.why);
}
template <class F>
void fields(F& inspector, pool_event::alive& event) {
  inspector("trainer", event.trainer);
}
template <class F>
void fields(F& inspector, pool_event::review_due& event) {
  inspector("ends_cool_down", event.ends_cool_down);
}
template <class F>
void fields(F&, pool_event::ticked&) {}
template <class F>
void fields(F& inspector, pool_effect::answer_hello& order) {
  inspector("what", order.what);
}
template <class F>
void fields(F& inspector, pool_effect::dismiss& order) {
  inspector("trainer", order.trainer);
}
template <class F>
void fields(F& inspector, pool_effect::watch& order) {
  inspector("trainer", order.trainer);
}
template <class F>
void fields(F& inspector, pool_effect::unwatch& order) {
  inspector("trainer", order.trainer);
}
template <class F>
void fields(F& inspector, pool_effect::grant& order) {
  inspector("merger", order.merger);
  inspector("trainer", order.trainer);
  inspector("kind", order.kind);
  inspector("seconds_between_interruptions",
            order.seconds_between_interruptions);
  inspector("price", order.price);
  inspector("name", order.name);
  inspector("at_once", order.at_once);
  inspector("code_at_once", order.code_at_once);
  inspector("seconds_left", order.seconds_left);
  inspector("gang", order.gang);
  inspector("ranks", order.ranks);
}
template <class F>
void fields(F& inspector, pool_effect::ask_to_yield& order) {
  inspector("merger", order.merger);
  inspector("trainer", order.trainer);
}
template <class F>
void fields(F& inspector, pool_effect::notify_lost& order) {
  inspector("merger", order.merger);
  inspector("trainer", order.trainer);
  inspector("why", order.why);
}
template <class F>
void fields(F& inspector, pool_effect::notify_back& order) {
  inspector("merger", order.merger);
  inspector("name", order.name);
}
template <class F>
void fields(F& inspector, pool_effect::tell_able& order) {
  inspector("merger", order.merger);
  inspector("trainers", order.trainers);
}
template <class F>
void fields(F& inspector, pool_effect::forward_heartbeat& order) {
  inspector("merger", order.merger);
  inspector("what", order.what);
}
template <class F>
void fields(F& inspector, pool_effect::review_after& due) {
  inspector("span", due.span);
  inspector("ends_cool_down", due.ends_cool_down);
}
template <class F>
void fields(F& inspector, pool_effect::log_line& order) {
  inspector("is_warning", order.is_warning);
  inspector("text", order.text);
}

} // namespace hippo::trace
