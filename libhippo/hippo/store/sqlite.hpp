#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace hippo {

class file_witness;

/// The remedy for a damaged database, for people.
std::string damage_remedy(const std::string& file);

/// A prepared SQL statement. Parameters count from 1, columns from 0. Each is
/// bound to a copy of the value; every parameter is bound anew for each run.
class sql_statement {
public:
  sql_statement() = default;
  /// @param witness of a database that is read without locks; null: of others
  explicit sql_statement(sqlite3_stmt* handle,
                         std::shared_ptr<const file_witness> witness = nullptr)
    : handle_(handle), witness_(std::move(witness)) {}

  sql_statement& bind(int parameter, std::uint64_t value); ///< as 64 bits
  template <any_id Id>
  sql_statement& bind(int parameter, Id value) {
    return bind(parameter, number_of(value));
  }
  /// Binds what rows are compared with, or counted by: what no INTEGER of
  /// SQLite holds is more than any of them.
  sql_statement& bind_bound(int parameter, std::uint64_t value);
  sql_statement& bind_real(int parameter, double value); ///< NaN is NULL
  sql_statement& bind_null(int parameter);
  sql_statement& bind_text(int parameter, std::string_view value);
  sql_statement& bind_blob(int parameter, std::string_view value);

  /// Runs the statement to its next row.
  /// @returns whether there is one, or `errc::io_failed`; without a row the
  ///          statement is ready to be bound and run again
  expected<bool> step();

  /// Shows each row that is left to `use`, as this statement. `use` returns an
  /// `std::optional<error>`; the first error ends the run.
  template <class Use>
  expected<std::monostate> for_each(Use&& use) {
    for (;;) {
      const auto more = step();
      if (!more)
        return more.failure();
      if (!*more)
        return std::monostate{};
      if (std::optional<error> why = use(*this))
        return std::move(*why);
    }
  }

  /// Runs a statement that gives no rows, and makes it ready for the next run.
  expected<std::monostate> run();

  /// Ends a run before its last row.
  sql_statement& reset();

  /// The values of the present row; a view lives until the next `step`.
  [[nodiscard]] std::uint64_t number(int column) const;
  template <any_id Id>
  [[nodiscard]] Id id_in(int column) const {
    return static_cast<Id>(number(column));
  }
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view text(int column) const; ///< or a blob's bytes
  [[nodiscard]] bool is_null(int column) const;

private:
  struct closer {
    void operator()(sqlite3_stmt* handle) const noexcept;
  };
  std::unique_ptr<sqlite3_stmt, closer> handle_;
  std::shared_ptr<const file_witness> witness_;
};

/// A connection to an SQLite database. One thread at a time.
class sql_database {
public:
  /// How a database is opened.
  enum class access { read, write };

  sql_database() = default;

  /// Opens `path`; for `write` it is created if missing. Whether it is a
  /// database at all shows only when it is used.
  ///
  /// A file that may only be read, or has no room for more, is read as it is
  /// if nobody works with it; `step` fails once somebody does. If its log holds
  /// more than it, this reads a copy of both in a temporary folder, as of now.
  static expected<sql_database> open(const std::string& path, access how);

  /// Runs statements that take no parameters and whose rows do not matter.
  expected<std::monostate> run(const std::string& sql);

  expected<sql_statement> prepare(std::string_view sql);

  /// Shows each row of a query without parameters to `function`, as a
  /// `sql_statement`.
  template <class F>
  expected<std::monostate> for_each(std::string_view sql, F&& function) {
    auto query = prepare(sql);
    if (!query)
      return query.failure();
    return query->for_each([&](sql_statement& row) -> std::optional<error> {
      function(row);
      return std::nullopt;
    });
  }

  /// Copies all that is committed, as of one moment, over what is in `to`.
  /// Others may write meanwhile, if this is in WAL mode.
  expected<std::monostate> copy_to(sql_database& to);

  /// How many rows the last insert, update or delete changed.
  [[nodiscard]] int changes() const;

  /// The id of the last row that was inserted into a table that has ids.
  [[nodiscard]] std::uint64_t last_id() const;

private:
  /// As `open` for what cannot be opened in the usual way.
  /// @param why as that said
  static expected<sql_database> open_still(const std::string& path, error why);
  /// @param flags of SQLite
  static expected<sql_database> open_as(const std::string& name, int flags);

  struct closer {
    void operator()(sqlite3* handle) const noexcept;
  };
  std::unique_ptr<sqlite3, closer> handle_;
  /// Of a database that is read without locks; null: of others.
  std::shared_ptr<const file_witness> witness_;
};

} // namespace hippo
