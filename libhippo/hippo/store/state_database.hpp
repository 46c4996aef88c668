#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "hippo/base/error.hpp"
#include "hippo/store/sqlite.hpp"

// The common part of the reader and the writer of a state folder.

namespace hippo {

/// The database of the state folder `path`.
std::string state_database_of(const std::string& path);

/// The database of a copy that is not whole yet.
std::string unfinished_copy_of(const std::string& path);

/// Makes a state folder, private to the user, if it is missing.
/// @returns `errc::invalid_argument` if it holds things, but no state
expected<std::monostate> make_state_folder(const std::string& path);

/// The kinds of events that are no commands.
inline constexpr auto measured_kind = "measured";
inline constexpr auto failed_kind = "failed";
inline constexpr auto chosen_kind = "chosen";

error file_error(const std::string& what, const std::error_code& reason);

error damaged(const std::string& path, const std::string& what);

/// @returns the version, if `may_migrate` an older one too, or
///          `errc::incompatible_version`; `errc::io_failed` if there is none
expected<std::uint64_t> check_version(sql_database& database,
                                      const std::string& path,
                                      bool may_migrate);

} // namespace hippo
