#include "hippo/store/state_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/base/limits.hpp"
#include "hippo/base/name.hpp"
#include "hippo/base/trial_result.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/model/repeats.hpp"
#include "hippo/store/choice_text.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/state_database.hpp"
#include "hippo/store/summary_text.hpp"

namespace hippo {

namespace {

bool is_amount(double x) { return std::isfinite(x) && x >= 0; }

/// Text that may be shown and sent, whatever is stored.
std::string shown_text(std::string_view x) {
  return utf8_prefix(x) == x.size() && x.find('\0') == x.npos ? std::string{x}
                                                              : to_utf8(x);
}

/// Says what is damaged in the row of a study; empty: nothing.
std::string damage_of_study(const sql_statement& row) {
  const auto found = [&](int column) {
    return "'" + excerpt(to_utf8(row.text(column))) + "'";
  };
  const auto id = row.number(0);
  if (id == 0 || id > study_number_max)
    return "its number is none that a study gets";
  if (refused_study_name(row.text(1), name_rules::of_before))
    return "its name is " + found(1);
  if (row.text(4) != "minimize" && row.text(4) != "maximize")
    return "its direction is " + found(4);
  if (const auto weight = row.real(6); !is_amount(weight) || weight == 0)
    return "its weight is " + found(6);
  for (const auto& [column, what] :
       {std::pair{7, "time"}, {9, "device time"}, {11, "cost"},
        {12, "time of submission"}})
    if (!is_amount(row.real(column)))
      return std::string{"its "} + what + " is " + found(column);
  return {};
}

/// Finds the enumerator of a name, the first being `first` and the last `last`.
template <class Enum>
expected<Enum> named(std::string_view name, Enum first, Enum last) {
  for (auto i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
    if (name == to_string(static_cast<Enum>(i)))
      return static_cast<Enum>(i);
  return {errc::io_failed, "the state is damaged: nothing is called '"
                             + excerpt(to_utf8(name)) + "'"};
}

} // namespace

std::string study_columns_of(std::uint64_t version) {
  return std::string{"id, name, file, metric, direction, state, weight,"
                     " active_seconds, reason, device_seconds, algorithm,"
                     " cost, submitted, "}
         + (version < 9 ? "0" : "typed")
         + (version < 10 ? ", 4096" : ", trials_ahead")
         + (version < 13 ? ", '', '[]', 0" : ", note, tags, removed");
}

std::string parts_text(const checkpoint& checkpoint) {
  if (checkpoint.table_bytes == 0)
    return {};
  auto result = nlohmann::json::array({checkpoint.table_bytes});
  for (const auto& x : checkpoint.part_files)
    result.push_back({x.file, x.bytes, x.digest});
  return result.dump();
}

bool read_parts(std::string_view text, checkpoint& to) {
  if (text.empty())
    return true;
  const auto read = nlohmann::json::parse(text, nullptr, false);
  if (!read.is_array() || read.empty() || !read[0].is_number_unsigned()
      || read.size() > part_files_max + 1)
    return false;
  to.table_bytes = read[0];
  for (std::size_t i = 1; i < read.size(); ++i) {
    const auto& x = read[i];
    if (!x.is_array() || x.size() != 3 || !x[0].is_string()
        || !x[1].is_number_unsigned() || !x[2].is_number_unsigned())
      return false;
    to.part_files.push_back({x[0], x[1], x[2]});
  }
  return to.table_bytes > 0;
}

std::string tags_text(const std::vector<std::string>& tags) {
  return nlohmann::json(tags).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

namespace {

/// Reads what `tags_text` wrote; damage has no tags.
std::vector<std::string> tags_in(std::string_view text) {
  std::vector<std::string> result;
  const auto read = nlohmann::json::parse(text, nullptr, false);
  if (read.is_array())
    for (const auto& x : read)
      if (x.is_string())
        result.push_back(shown_text(x.get_ref<const std::string&>()));
  return result;
}

} // namespace

stored_study study_in(const sql_statement& row) {
  stored_study result;
  const auto amount = [&](int column, double otherwise) {
    const auto x = row.real(column);
    return is_amount(x) ? x : otherwise;
  };
  result.id = row.id_in<study_id>(0);
  result.name = shown_text(row.text(1));
  result.file = shown_text(row.text(2));
  result.metric = shown_text(row.text(3));
  result.direction = row.text(4) == "minimize" ? direction::minimize
                                               : direction::maximize;
  result.weight = std::max(amount(6, 1), std::numeric_limits<double>::min());
  result.active_seconds = amount(7, 0);
  result.reason = shown_text(row.text(8));
  result.device_seconds = amount(9, 0);
  result.algorithm = shown_text(row.text(10));
  result.cost = amount(11, 0);
  result.submitted = amount(12, 0);
  result.typed = row.number(13) != 0;
  result.trials_ahead
    = std::clamp<std::uint64_t>(row.number(14), 1, trials_ahead_max);
  result.note = shown_text(row.text(15));
  result.tags = tags_in(row.text(16));
  result.removed = row.number(17) != 0;
  const auto state
    = named(row.text(5), study_phase::running, study_phase::cancelled);
  auto damage = damage_of_study(row);
  if (!state)
    damage = "its state is '" + excerpt(to_utf8(row.text(5))) + "'";
  if (state && damage.empty()) {
    result.state = *state;
    return result;
  }
  result.state = study_phase::failed;
  result.reason = "what is stored of it is damaged: " + damage;
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
  result.params = shown_text(row.text(2));
  result.asked_to = row.number(3);
  result.steps = row.number(4);
  // States of before kept what trials that failed had measured.
  if (!row.is_null(5) && has_result(*state))
    result.best = stored_best{row.number(5), row.real(6)};
  result.failure = shown_text(row.text(7));
  result.shared = row.number(8);
  result.why.how = shown_text(row.text(9));
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
  constexpr auto codes = static_cast<std::uint64_t>(errc::fails_everywhere);
  if (kind == measured_kind) {
    trial_measured what{trial, row.id_in<node_id>(5), step, {}, row.number(9)};
    if (!row.is_null(6)) {
      if (row.number(6) == 0 || row.number(6) > repeats_max)
        return {errc::malformed_message, "there is no such seed"};
      what.seed_no = static_cast<std::uint32_t>(row.number(6));
      what.is_part = row.is_null(7);
    }
    if (what.seed_no > 0 && !what.is_part) {
      auto values = read_summary(text);
      if (!values)
        return values.failure();
      what.values = std::move(*values);
    }
    result.what = std::move(what);
  } else if (kind == failed_kind) {
    if (row.number(6) == 0 || row.number(6) > codes)
      return {errc::malformed_message, "a trial has failed for no reason"};
    result.what = trial_failed{
      trial, step, error{static_cast<errc>(row.number(6)), text}};
  } else if (kind == chosen_kind) {
    auto what = read_choice(text);
    if (!what)
      return what.failure();
    result.what = trial_chosen{trial, std::move(*what)};
  } else {
    using verb = study_command::verb;
    const auto what = named(kind, verb::ask, verb::set_space);
    if (!what)
      return what.failure();
    result.what = study_command{*what, trial, step, text};
  }
  return result;
}

std::optional<timing> timing_in(const sql_statement& row) {
  timing result;
  const auto what = timed_from(row.text(1));
  if (!what)
    return std::nullopt;
  result.device = row.text(0);
  result.what = *what;
  result.speed_key = row.text(2);
  result.stages = row.number(3);
  result.count = row.real(4);
  result.seconds = row.real(5);
  result.squared_log_deviations = row.real(6);
  result.size = {row.real(7), row.real(8), row.real(9)};
  for (const auto x : {result.seconds, result.squared_log_deviations,
                       result.size.operations, result.size.parameters,
                       result.size.samples})
    if (!is_amount(x))
      return std::nullopt;
  if (!is_amount(result.count) || result.count == 0)
    return std::nullopt;
  return result;
}

expected<stored_node> node_in(const sql_statement& row) {
  auto config = decode_configuration(row.text(4));
  if (!config)
    return {errc::malformed_message, config.failure().message};
  if (row.is_null(1))
    return {errc::malformed_message, "it has no parent"};
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
  std::string damage;
  while (next_ == wanted) {
    const auto name = query_.text(3);
    if (const auto why = refused_name(name, name_rules::of_before))
      damage = "the name of a metric " + *why;
    else if (!holds_exact_real(query_, 4))
      damage = "the value of '" + excerpt(std::string{name}) + "' is missing";
    else if (result.size() < max_metrics)
      result.emplace_hint(result.end(), name, exact_real(query_, 4));
    else
      damage = "there are more metrics than a workload may have";
    if (auto done = go_on(); !done)
      return done.failure();
  }
  if (!damage.empty())
    return {errc::malformed_message, damage};
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
