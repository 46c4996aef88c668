#include "hippo/service/trace/core_trace.hpp"

#include "hippo/base/hash.hpp"
#include "hippo/service/trace/trace_lines.hpp"

namespace hippo {

namespace trace {

namespace {

template <class T>
std::string json_of(const T& x) {
  writer out;
  out.put(x);
  return out.take();
}

} // namespace

std::string text_of(const any_pool_event& event) {
  return event_text(event);
}
std::string text_of(const any_study_event& event) {
  return event_text(event);
}
std::string text_of(const any_merge_event& event) {
  return event_text(event);
}
std::string text_of(const any_trainer_event& event) {
  return event_text(event);
}
std::string text_of(const any_coordinator_event& event) {
  return event_text(event);
}

std::string text_of(const std::vector<any_pool_effect>& xs) {
  return json_of(xs);
}
std::string text_of(const std::vector<any_study_effect>& xs) {
  return json_of(xs);
}
std::string text_of(const std::vector<any_merge_effect>& xs) {
  return json_of(xs);
}
std::string text_of(const std::vector<any_trainer_effect>& xs) {
  return json_of(xs);
}
std::string text_of(const std::vector<any_coordinator_effect>& xs) {
  return json_of(xs);
}

} // namespace trace

namespace {

/// The begin of a line.
std::string line_of(const std::string& name, moment now) {
  return "{\"core\":" + trace::json_of(name)
         + ",\"at\":" + std::to_string(now.time_since_epoch().count()) + ',';
}

} // namespace

void core_trace::begin(const pool_options& options, moment now) {
  if (log_)
    begin("pool", trace::json_of(options), now);
}

void core_trace::begin(const study_options& options, moment now) {
  if (log_)
    begin("study",
          trace::json_of(trace::study_begin{options.stored, options.history,
                                            options.deadline_left,
                                            to_json({options.workload})}),
          now);
}

void core_trace::begin(const merger_options& chosen, moment now) {
  if (!log_)
    return;
  trace::merger_begin begun{chosen, false};
  if (const auto kept = std::exchange(begun.options.kept, nullptr))
    begun.has_plan = kept->plan.size() > search_plan{}.size();
  begin("merger", trace::json_of(begun), now);
}

void core_trace::begin(const hello& trainer, moment now) {
  if (log_)
    begin("trainer", trace::json_of(trainer), now);
}

void core_trace::begin(const coordinator_begin& known, moment now) {
  if (log_)
    begin("coordinator", trace::json_of(known), now);
}

void core_trace::begin(const char* kind, const std::string& options,
                       moment now) {
  log_->write(line_of(name_, now) + "\"begin\":\"" + kind
              + "\",\"options\":" + options + '}');
}

void core_trace::write(const std::string& event, const std::string& effects,
                       moment now) {
  log_->write(line_of(name_, now) + event + ",\"effects\":"
              + (effects.empty() ? "null" : '"' + hash_text(effects) + '"')
              + '}');
}

} // namespace hippo
