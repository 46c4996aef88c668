#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/model/records.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// An event of a study that is to be posted.
struct due_notification {
  study_id study{};
  notify_event event = notify_event::ended;
  std::string url;
  std::uint64_t number = 0; ///< how often it has happened
  friend bool operator==(const due_notification&,
                         const due_notification&) = default;
};

/// The table of the events of studies that somebody wants to be notified of: a
/// row for each, with whether it is due. Rows change in the transaction of the
/// change that they tell of, so that none is lost or told without it.
class notification_table {
public:
  /// Makes the table, if there is none. Older programs need not know of it.
  static expected<std::monostate> make(sql_database& database);

  /// Prepares the statements. REQUIRES: the table was made.
  expected<std::monostate> prepare(sql_database& database);

  /// Adds the rows of a study that is added.
  expected<std::monostate> add(study_id study, const notify_request& wanted);

  /// A study is about to be stored as it stands: its end is due if it had not
  /// ended before, and no longer is if it goes on.
  expected<std::monostate> note_state(study_id study, study_phase state);

  /// A trial's best measurement is `value`: due if it is the best of all.
  expected<std::monostate> note_value(study_id study, double value);

  expected<std::monostate> settle(const notification_settled& what);

private:
  sql_statement add_, end_, go_on_, improve_, settle_;
};

/// Returns the events that are due, no more than `most`.
/// @complexity O(those that are due)
expected<std::vector<due_notification>>
load_due_notifications(sql_database& database, std::size_t most);

} // namespace hippo
