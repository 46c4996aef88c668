#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "hippo/base/error.hpp"
#include "hippo/model/records.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

// The meaning of rows of a state folder's database.

/// The columns that `study_in` reads, in its order, of a database of that
/// version.
std::string study_columns_of(std::uint64_t version);

/// Writes the tags of a study as JSON.
std::string tags_text(const std::vector<std::string>& tags);

/// Writes the parts of a checkpoint as JSON: the size of its table, then name,
/// size and digest of each other file; empty if it has no table.
std::string parts_text(const checkpoint& checkpoint);

/// Reads what `parts_text` wrote. @returns whether it is that
bool read_parts(std::string_view text, checkpoint& to);

/// The greatest number that a study may have.
inline constexpr std::uint64_t study_number_max = 1ull << 53;

/// Reads a study, without its text. One whose row is damaged has failed: its
/// `reason` says what is damaged, and nothing else of it is odd.
stored_study study_in(const sql_statement& row);

/// The columns that `trial_in` reads, in its order.
inline const std::string trial_columns
  = "trial, state, params, asked_to, steps, best_step, best_value, failure,"
    " shared, chosen, predicted, untrained";

expected<stored_trial> trial_in(const sql_statement& row);

/// The condition that an event is more than a part of one, of a trial of which
/// other seeds have yet to measure the step.
inline const std::string is_whole = "(code IS NULL OR text IS NOT NULL)";

/// Reads the columns that `state_reader::load_events` selects: an event, a
/// measurement without its values.
expected<stored_event> event_in(const sql_statement& row);

/// The columns that `timing_in` reads, in its order.
inline const std::string timing_columns
  = "device, what, speed, stages, count, seconds, squared_log_deviations,"
    " operations, parameters, samples";

/// Reads what was measured of a time; nothing: it is damaged.
std::optional<timing> timing_in(const sql_statement& row);

/// Reads a node: its number, parent, begin, strand and configuration.
/// @returns it, or `errc::malformed_message` with what is damaged
expected<stored_node> node_in(const sql_statement& row);

/// Reads what was measured at states. Those that come in the order of the table
/// cost one pass over it, others a search each.
/// `read` fails with `errc::malformed_message` if what is there is damaged, and
/// may be called again then; other failures are of the database.
class metrics_reader {
public:
  static expected<metrics_reader> make(sql_database& database);

  expected<metrics> read(std::uint64_t workload, node_id node, step_t step);

private:
  using place = std::tuple<std::uint64_t, node_id, step_t>;

  explicit metrics_reader(sql_statement query) : query_(std::move(query)) {}

  expected<std::monostate> go_on();

  sql_statement query_;
  std::optional<place> next_; ///< of the row that it stands at
};

} // namespace hippo
