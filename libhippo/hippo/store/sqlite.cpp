#include "hippo/store/sqlite.hpp"

#include <algorithm>
#include <limits>

#include <sqlite3.h>

namespace hippo {

namespace {

/// How long to wait for another connection's lock, in milliseconds.
constexpr int busy_timeout_ms = 5000;

error failure_of(sqlite3* handle) {
  std::string file;
  if (const char* path = sqlite3_db_filename(handle, "main"))
    file = path;
  return {errc::io_failed, "database " + file + ": " + sqlite3_errmsg(handle)};
}

} // namespace

// -- statements ---------------------------------------------------------------

void sql_statement::closer::operator()(sqlite3_stmt* handle) const noexcept {
  sqlite3_finalize(handle);
}

// A bind fails for want of memory, or where a caller miscounts: what was not
// bound is NULL, which no column takes, so that the run fails.

sql_statement& sql_statement::bind(int parameter, std::uint64_t value) {
  sqlite3_bind_int64(handle_.get(), parameter,
                     static_cast<sqlite3_int64>(value));
  return *this;
}

sql_statement& sql_statement::bind_bound(int parameter, std::uint64_t value) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  return bind(parameter, std::min(value, most));
}

sql_statement& sql_statement::bind_real(int parameter, double value) {
  sqlite3_bind_double(handle_.get(), parameter, value);
  return *this;
}

sql_statement& sql_statement::bind_null(int parameter) {
  sqlite3_bind_null(handle_.get(), parameter);
  return *this;
}

sql_statement& sql_statement::bind_text(int parameter, std::string_view value) {
  sqlite3_bind_text64(handle_.get(), parameter, value.data(), value.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

sql_statement& sql_statement::bind_blob(int parameter, std::string_view value) {
  sqlite3_bind_blob64(handle_.get(), parameter, value.data(), value.size(),
                      SQLITE_STATIC);
  return *this;
}

expected<bool> sql_statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW)
    return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(handle_.get());
    return false;
  }
  auto reason = failure_of(sqlite3_db_handle(handle_.get()));
  sqlite3_reset(handle_.get());
  return reason;
}

expected<std::monostate> sql_statement::run() {
  if (auto more = step(); !more)
    return more.failure();
  return std::monostate{};
}

sql_statement& sql_statement::reset() {
  sqlite3_reset(handle_.get());
  return *this;
}

std::uint64_t sql_statement::number(int column) const {
  return static_cast<std::uint64_t>(
    sqlite3_column_int64(handle_.get(), column));
}

double sql_statement::real(int column) const {
  return sqlite3_column_double(handle_.get(), column);
}

std::string_view sql_statement::text(int column) const {
  const auto* bytes = sqlite3_column_blob(handle_.get(), column);
  const auto size = sqlite3_column_bytes(handle_.get(), column);
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

bool sql_statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

// -- databases ----------------------------------------------------------------

void sql_database::closer::operator()(sqlite3* handle) const noexcept {
  sqlite3_close_v2(handle);
}

expected<sql_database> sql_database::open(const std::string& path,
                                          access how) {
  // Without a mutex, which every look at a column would take.
  const int flags = SQLITE_OPEN_NOMUTEX
                    | (how == access::read
                         ? SQLITE_OPEN_READONLY
                         : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  sql_database result;
  result.handle_.reset(handle);
  if (code != SQLITE_OK)
    return {errc::io_failed, "database " + path + ": " + sqlite3_errstr(code)};
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  return result;
}

expected<std::monostate> sql_database::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr)
      != SQLITE_OK)
    return failure_of(handle_.get());
  return std::monostate{};
}

expected<sql_statement> sql_database::prepare(std::string_view sql) {
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.data(),
                         static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &handle, nullptr)
      != SQLITE_OK)
    return failure_of(handle_.get());
  return sql_statement{handle};
}

expected<std::monostate> sql_database::copy_to(sql_database& to) {
  auto* const to_handle = to.handle_.get();
  auto* const backup
    = sqlite3_backup_init(to_handle, "main", handle_.get(), "main");
  if (backup == nullptr)
    return failure_of(to_handle);
  // In one step, for else it would begin again whenever somebody commits.
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK)
    return failure_of(to_handle);
  return std::monostate{};
}

int sql_database::changes() const { return sqlite3_changes(handle_.get()); }

std::uint64_t sql_database::last_id() const {
  return static_cast<std::uint64_t>(
    sqlite3_last_insert_rowid(handle_.get()));
}

} // namespace hippo
