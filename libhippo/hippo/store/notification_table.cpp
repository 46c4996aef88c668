#include "hippo/store/notification_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hippo {

namespace {

constexpr auto table_sql = R"(
  CREATE TABLE IF NOT EXISTS notifications (
    study INTEGER NOT NULL REFERENCES studies, event TEXT NOT NULL,
    url TEXT NOT NULL, due INTEGER NOT NULL DEFAULT 0,
    number INTEGER NOT NULL DEFAULT 0, value REAL,
    trouble TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (study, event)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS notifications_due ON notifications (due)
    WHERE due = 1;
)";

} // namespace

expected<std::monostate> notification_table::make(sql_database& database) {
  return database.run(table_sql);
}

expected<std::monostate> notification_table::prepare(sql_database& database) {
  const std::array<std::pair<sql_statement*, const char*>, 5> all{{
    {&add_, "INSERT INTO notifications (study, event, url) VALUES (?, ?, ?)"
            " ON CONFLICT DO NOTHING"},
    {&end_,
     "UPDATE notifications SET due = 1, number = number + 1, trouble = ''"
     " WHERE study = ?1 AND (event = 'ended' OR event = ?2)"
     " AND (SELECT state FROM studies WHERE id = ?1)"
     " IN ('RUNNING', 'PAUSED', 'STOPPING')"},
    {&go_on_, "UPDATE notifications SET due = 0"
              " WHERE study = ?1 AND event IN ('ended', 'failed') AND due = 1"},
    {&improve_,
     "UPDATE notifications SET value = ?2, due = 1, number = number + 1,"
     " trouble = '' WHERE study = ?1 AND event = 'best' AND (value IS NULL"
     " OR iif((SELECT direction FROM studies WHERE id = ?1) = 'maximize',"
     " ?2 > value, ?2 < value))"},
    {&settle_, "UPDATE notifications SET due = 0, trouble = ?4"
               " WHERE study = ?1 AND event = ?2 AND number = ?3"},
  }};
  for (const auto& [statement, sql] : all) {
    auto prepared = database.prepare(sql);
    if (!prepared)
      return prepared.failure();
    *statement = std::move(*prepared);
  }
  return std::monostate{};
}

expected<std::monostate> notification_table::add(study_id study,
                                                 const notify_request& wanted) {
  const auto wants = [&wanted](notify_event x) {
    return std::find(wanted.on.begin(), wanted.on.end(), x) != wanted.on.end();
  };
  for (const auto event : wanted.on) {
    if (event == notify_event::failed && wants(notify_event::ended))
      continue; // one end is told once
    add_.bind(1, study).bind_text(2, to_string(event));
    if (auto done = add_.bind_text(3, wanted.url).run(); !done)
      return done;
  }
  return std::monostate{};
}

expected<std::monostate> notification_table::note_state(study_id study,
                                                        study_phase state) {
  if (!has_ended(state))
    return go_on_.bind(1, study).run();
  return end_.bind(1, study)
    .bind_text(2, state == study_phase::failed ? "failed" : "ended")
    .run();
}

expected<std::monostate> notification_table::note_value(study_id study,
                                                        double value) {
  return improve_.bind(1, study).bind_real(2, value).run();
}

expected<std::monostate>
notification_table::settle(const notification_settled& what) {
  return settle_.bind(1, what.study)
    .bind_text(2, to_string(what.event))
    .bind(3, what.number)
    .bind_text(4, what.trouble)
    .run();
}

expected<std::vector<due_notification>>
load_due_notifications(sql_database& database, std::size_t most) {
  auto query = database.prepare("SELECT study, event, url, number"
                                " FROM notifications WHERE due = 1 LIMIT ?");
  if (!query)
    return query.failure();
  std::vector<due_notification> result;
  query->bind_bound(1, most);
  auto done = query->for_each([&result](const sql_statement& row) {
    if (const auto event = notify_event_from(row.text(1)))
      result.push_back({row.id_in<study_id>(0), *event,
                        std::string{row.text(2)}, row.number(3)});
    return std::optional<error>{};
  });
  if (!done)
    return done.failure();
  return result;
}

} // namespace hippo
