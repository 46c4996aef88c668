#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <variant>

#include "hippo/service/trace/coordinator_fields.hpp"
#include "hippo/service/trace/merge_fields.hpp"
#include "hippo/service/trace/pool_fields.hpp"
#include "hippo/service/trace/study_fields.hpp"
#include "hippo/service/trace/trace_json.hpp"
#include "hippo/service/trace/trainer_fields.hpp"

// Events by their names.

namespace hippo::trace {

/// The names of a variant's events, in its order.
template <class Variant>
struct names;

template <>
struct names<any_pool_event> {
  static constexpr std::array all{
    "registered", "heard",        "leaving",  "disconnected", "introduced",
    "demanded",   "merger_ended", "released", "stalled",      "cooled_down",
    "blamed",     "lease_failed", "alive",    "review_due",   "ticked"};
};

template <>
struct names<any_study_event> {
  static constexpr std::array all{
    "registered", "capacity_offered", "quiesced", "spent",      "received",
    "commanded",  "train_wanted",     "filled",   "time_passed"};
};

template <>
struct names<any_merge_event> {
  static constexpr std::array all{
    "study_added", "orders_given",    "weight_set",    "paused_set",
    "study_left",  "started",         "halted",        "retiring",
    "budget_set",  "committed",       "time_passed",   "reported",
    "resent",      "lease_ended",     "malformed",     "granted",
    "lost",        "trainer_back",    "able_trainers", "heartbeat",
    "yield_asked", "demand_answered", "budget_raised"};
};

template <>
struct names<any_trainer_event> {
  static constexpr std::array all{
    "connected",    "disconnected", "answered",  "unanswered", "given_up",
    "left",         "leased",       "malformed", "stop_asked", "cancel_asked",
    "acked",        "reported",     "ended",     "stuck",      "leave_asked",
    "greeting_due", "beat_due"};
};

template <>
struct names<any_coordinator_event> {
  static constexpr std::array all{
    "submitted",        "stored",          "unstored",
    "plan_read",        "not_spawned",     "started",
    "not_started",      "not_resubmitted", "restore_failed",
    "row_unreadable",   "study_ended",     "study_retired",
    "study_stays",      "study_down",      "merger_down",
    "cancel_asked",     "asked",           "commanded",
    "reopened",         "not_reopened",    "command_answered",
    "retirement_asked", "begun",           "going",
    "halted",           "ticked",          "memory_due",
    "study_measured",   "plan_measured"};
};

/// The fields of an event in a line: `"event":"NAME","what":{...}`.
template <class Variant>
std::string event_text(const Variant& variant) {
  static_assert(names<Variant>::all.size() == std::variant_size_v<Variant>);
  writer out;
  std::visit([&](const auto& y) { out.put(y); }, variant);
  return std::string{"\"event\":\""} + names<Variant>::all[variant.index()]
         + "\",\"what\":" + out.take();
}

/// Reads an event of a line. Throws as `reader` does.
template <class Variant, std::size_t I = 0>
Variant read_event(const std::string& name, const nlohmann::json& what) {
  if constexpr (I == std::variant_size_v<Variant>) {
    throw malformed{"there is no event '" + name + "'"};
  } else {
    if (name != names<Variant>::all[I])
      return read_event<Variant, I + 1>(name, what);
    std::variant_alternative_t<I, Variant> result;
    reader{what}.get(result);
    return result;
  }
}

/// The begin of a study. Its text is read anew.
struct study_begin {
  stored_study stored;
  std::vector<stored_event> history;
  std::optional<double> deadline_left;
  std::string workload; ///< its descriptor as JSON
};

template <class F>
void fields(F& inspector, study_begin& begin) {
  inspector("stored", begin.stored);
  inspector("history", begin.history);
  inspector("deadline_left", begin.deadline_left);
  inspector("workload", begin.workload);
}

/// The begin of a merger.
struct merger_begin {
  merger_options options;
  /// Whether earlier runs have left something of its plan, which the trace has
  /// not.
  bool has_plan = false;
};

template <class F>
void fields(F& inspector, merger_begin& begin) {
  inspector("options", begin.options);
  inspector("has_plan", begin.has_plan);
}

} // namespace hippo::trace
