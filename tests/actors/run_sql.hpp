#pragma once

#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace hippo::test {

/// Runs SQL on a state folder's database, behind its service's back.
inline void run_sql(const std::string& folder, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder + "/hippo.db").c_str(), &database), SQLITE_OK);
  sqlite3_busy_timeout(database, 5000);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr),
            SQLITE_OK)
    << sqlite3_errmsg(database);
  sqlite3_close(database);
}

/// Lets the database of a service refuse what it hears, as a full disk would,
/// until `accept_events`.
inline void refuse_events(const std::string& folder) {
  run_sql(folder, "CREATE TRIGGER refuse BEFORE INSERT ON events"
                  " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
}

inline void accept_events(const std::string& folder) {
  run_sql(folder, "DROP TRIGGER refuse");
}

} // namespace hippo::test
