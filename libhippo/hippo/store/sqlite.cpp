#include "hippo/store/sqlite.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <sqlite3.h>

#include "hippo/store/still_database.hpp"

namespace hippo {

namespace {

/// How long to wait for another connection's lock, in milliseconds.
constexpr int busy_timeout_ms = 5000;

error failure_of(sqlite3* handle) {
  std::string file;
  if (const char* path = sqlite3_db_filename(handle, "main"))
    file = path;
  const std::string said = sqlite3_errmsg(handle);
  const auto code = sqlite3_errcode(handle);
  // What is asked for is there in every database that is whole.
  const bool is_damaged
    = code == SQLITE_CORRUPT || code == SQLITE_NOTADB
      || (code == SQLITE_ERROR && said.starts_with("no such "));
  return {errc::io_failed,
          "database " + file + ": " + said
            + (is_damaged ? "; " + damage_remedy(file) : std::string{})};
}

/// Whether a database cannot be read for want of files beside it that cannot
/// be made: in a folder that may only be read, or on a disk that is full.
bool lacks_files(int code) {
  return (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY
         || (code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE
         || code == SQLITE_IOERR_SHMOPEN || code == SQLITE_IOERR_SHMMAP;
}

/// A path as an address that SQLite reads, of a file that nobody changes.
std::string address_of(const std::string& path) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result = "file:";
  for (const char c : path)
    if (c == '%' || c == '?' || c == '#') {
      const auto code = static_cast<unsigned char>(c);
      result += {'%', digits[code / 16], digits[code % 16]};
    } else {
      result += c;
    }
  return result + "?immutable=1";
}

} // namespace

std::string damage_remedy(const std::string& file) {
  return "restore a backup (hippo restore), or save what can be read of it: "
         "sqlite3 " + file + " .recover | sqlite3 NEW";
}

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
                      SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

sql_statement& sql_statement::bind_blob(int parameter, std::string_view value) {
  sqlite3_bind_blob64(handle_.get(), parameter, value.data(), value.size(),
                      SQLITE_TRANSIENT);
  return *this;
}

expected<bool> sql_statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (witness_ && !witness_->holds()) { // whatever was read, or seemed to be
    sqlite3_reset(handle_.get());
    return witness_->broken();
  }
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

expected<sql_database> sql_database::open_as(const std::string& name,
                                             int flags) {
  sqlite3* handle = nullptr;
  // Without a mutex, which every look at a column would take.
  const int code = sqlite3_open_v2(name.c_str(), &handle,
                                   flags | SQLITE_OPEN_NOMUTEX, nullptr);
  sql_database result;
  result.handle_.reset(handle);
  if (code != SQLITE_OK)
    return {errc::io_failed, "database " + name + ": " + sqlite3_errstr(code)};
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  return result;
}

expected<sql_database> sql_database::open(const std::string& path,
                                          access how) {
  if (how == access::write)
    return open_as(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  auto result = open_as(path, SQLITE_OPEN_READONLY);
  if (!result)
    return result;
  // What is beside it is opened when it is read for the first time.
  auto* const handle = result->handle_.get();
  if (sqlite3_exec(handle, "SELECT 1 FROM sqlite_master LIMIT 1", nullptr,
                   nullptr, nullptr)
        != SQLITE_OK
      && lacks_files(sqlite3_extended_errcode(handle)))
    return open_still(path, failure_of(handle));
  return result;
}

expected<sql_database> sql_database::open_still(const std::string& path,
                                                error why) {
  if (!is_database_file(path))
    return why;
  auto witness = std::make_shared<const file_witness>(path);
  if (!witness->has_log()) {
    auto result
      = open_as(address_of(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    if (result)
      result->witness_ = std::move(witness);
    return result;
  }
  const auto copy = copy_database_files(path);
  if (!copy)
    return copy.failure();
  auto taken_in = open_as(copy->path, SQLITE_OPEN_READWRITE);
  if (taken_in)
    if (auto set = taken_in->run("PRAGMA journal_mode = DELETE"); !set)
      taken_in = set.failure();
  // It is there for as long as it is open.
  return taken_in ? open_as(copy->path, SQLITE_OPEN_READONLY)
                  : std::move(taken_in);
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
  return sql_statement{handle, witness_};
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
