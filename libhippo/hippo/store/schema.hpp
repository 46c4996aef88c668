#pragma once

#include <cstdint>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// The version of what a state folder holds. Grows whenever an older program
/// could not read it. docs/state.md describes the tables.
inline constexpr std::uint64_t state_version = 13;

/// The oldest version that is read as it is, without `migrate`.
inline constexpr std::uint64_t oldest_read_version = 8;

/// The oldest version that `migrate` understands.
inline constexpr std::uint64_t oldest_state_version = 1;

/// Makes the tables; that of the version is there already.
expected<std::monostate> make_tables(sql_database& database);

/// Gives each study, those to come too, what stands for it outside: a random
/// number, made once. Older programs need not know of it, and keep to it.
expected<std::monostate> make_identities(sql_database& database);

/// Whether `make_identities` was ever called for a database.
expected<bool> has_identities(sql_database& database);

/// Reads the version of a database; 0 if it says none.
expected<std::uint64_t> read_version(sql_database& database);

/// Brings a database of an older version to the present one, in one
/// transaction: after a failure it is what it was.
/// @param checkpoints the folder with a folder for each workload
/// REQUIRES: its version is `oldest_state_version` or later, foreign keys are
/// not enforced.
expected<std::monostate> migrate(sql_database& database,
                                 const std::string& checkpoints);

inline constexpr auto add_metric_sql
  = "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)";

/// Binds the two columns of a double that is kept bit for bit.
sql_statement& bind_exactly(sql_statement& to, int parameter, double value);

/// Whether the two columns are as `bind_exactly` writes them.
bool holds_exact_real(const sql_statement& from, int column);

/// Reads what `bind_exactly` has written.
double exact_real(const sql_statement& from, int column);

} // namespace hippo
