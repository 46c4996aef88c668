#include "hippo/store/state_rows.hpp"

#include <string_view>
#include <utility>

#include "hippo/core/trial_result.hpp"
#include "hippo/store/choice_text.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/state_database.hpp"

namespace hippo {

namespace {

/// Finds the enumerator of a name, the first being `first` and the last `last`.
template <class Enum>
expected<Enum> named(std::string_view name, Enum first, Enum last) {
  for (auto i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
    if (name == to_string(static_cast<Enum>(i)))
      return static_cast<Enum>(i);
  return {errc::io_failed, "the state is damaged: nothing is called '"
                             + std::string{name} + "'"};
}

} // namespace

expected<stored_study> study_in(const sql_statement& row) {
  const auto state
    = named(row.text(5), study_phase::running, study_phase::cancelled);
  if (!state)
    return state.failure();
  stored_study result;
  result.id = row.id_in<study_id>(0);
  result.name = row.text(1);
  result.file = row.text(2);
  result.metric = row.text(3);
  result.direction = row.text(4) == "minimize" ? direction::minimize
                                               : direction::maximize;
  result.state = *state;
  result.weight = row.real(6);
  result.active_seconds = row.real(7);
  result.reason = row.text(8);
  result.device_seconds = row.real(9);
  result.algorithm = row.text(10);
  result.cost = row.real(11);
  result.submitted = row.real(12);
  return result;
}

expected<stored_trial> trial_in(const sql_statement& row) {
  const auto state
    = named(row.text(1), trial_state::pending, trial_state::cancelled);
  if (!state)
    return state.failure();
  stored_trial result;
  result.trial = row.number(0);
  result.state = *state;
  result.params = row.text(2);
  result.asked_to = row.number(3);
  result.steps = row.number(4);
  // States of before kept what trials that failed had measured.
  if (!row.is_null(5) && has_result(*state))
    result.best = stored_best{row.number(5), row.real(6)};
  result.failure = row.text(7);
  result.shared = row.number(8);
  result.why.how = row.text(9);
  if (!row.is_null(10))
    result.why.predicted = row.real(10);
  if (!row.is_null(11))
    result.why.untrained = row.number(11);
  return result;
}

expected<stored_event> event_in(const sql_statement& row) {
  stored_event result;
  result.id = row.number(0);
  result.time = row.real(1);
  const auto kind = row.text(2);
  const auto trial = row.number(3);
  const auto step = row.number(4);
  const std::string text{row.text(7)};
  if (kind == measured_kind) {
    result.what
      = trial_measured{trial, row.id_in<node_id>(5), step, {}, row.number(9)};
  } else if (kind == failed_kind) {
    result.what = trial_failed{
      trial, step, error{static_cast<errc>(row.number(6)), text}};
  } else if (kind == chosen_kind) {
    auto what = read_choice(text);
    if (!what)
      return what.failure();
    result.what = trial_chosen{trial, std::move(*what)};
  } else {
    using verb = study_command::verb;
    const auto what = named(kind, verb::ask, verb::finish);
    if (!what)
      return what.failure();
    result.what = study_command{*what, trial, step, text};
  }
  return result;
}

expected<timing> timing_in(const sql_statement& row) {
  timing result;
  const auto what = timed_from(row.text(1));
  if (!what)
    return {errc::io_failed, "a time is of nothing that is known"};
  result.device = row.text(0);
  result.what = *what;
  result.speed_key = row.text(2);
  result.stages = row.number(3);
  result.count = row.real(4);
  result.seconds = row.real(5);
  result.squared_log_deviations = row.real(6);
  result.size = {row.real(7), row.real(8), row.real(9)};
  return result;
}

expected<stored_node> node_in(const sql_statement& row,
                              const std::string& path) {
  auto config = decode_configuration(row.text(4));
  if (!config)
    return damaged(path, "node " + std::to_string(row.number(0)) + ": "
                           + config.failure().message);
  return stored_node{row.id_in<node_id>(0), row.id_in<node_id>(1),
                     row.number(2), row.number(3), std::move(*config)};
}

expected<metrics_reader> metrics_reader::make(sql_database& database) {
  auto query = database.prepare(
    "SELECT workload, node, step, name, value, bits FROM metrics"
    " WHERE (workload, node, step) >= (?, ?, ?)"
    " ORDER BY workload, node, step, name");
  if (!query)
    return query.failure();
  return metrics_reader{std::move(*query)};
}

expected<metrics> metrics_reader::read(std::uint64_t workload, node_id node,
                                       step_t step) {
  const place wanted{workload, node, step};
  if (next_ != wanted) {
    query_.reset().bind(1, workload).bind(2, node).bind(3, step);
    if (auto done = go_on(); !done)
      return done.failure();
  }
  metrics result;
  while (next_ == wanted) {
    result.emplace_hint(result.end(), query_.text(3), exact_real(query_, 4));
    if (auto done = go_on(); !done)
      return done.failure();
  }
  return result;
}

expected<std::monostate> metrics_reader::go_on() {
  auto more = query_.step();
  if (!more)
    return more.failure();
  next_.reset();
  if (*more)
    next_
      = place{query_.number(0), query_.id_in<node_id>(1), query_.number(2)};
  return std::monostate{};
}

} // namespace hippo
