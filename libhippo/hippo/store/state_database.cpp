#include "hippo/store/state_database.hpp"

#include "hippo/store/schema.hpp"

namespace hippo {

std::string state_database_of(const std::string& path) {
  return path + "/hippo.db";
}

error file_error(const std::string& what, const std::error_code& reason) {
  return {errc::io_failed, what + ": " + reason.message()};
}

error damaged(const std::string& path, const std::string& what) {
  return {errc::io_failed, "the state in " + path + " is damaged: " + what};
}

expected<std::uint64_t> check_version(sql_database& database,
                                      const std::string& path,
                                      bool may_migrate) {
  const auto version = read_version(database);
  if (!version || *version == state_version)
    return version;
  const bool is_old
    = *version >= oldest_state_version && *version < state_version;
  if (is_old && may_migrate)
    return version;
  return {errc::incompatible_version,
          "the state in " + path + " is of version " + std::to_string(*version)
            + ", this program reads and writes version "
            + std::to_string(state_version)
            + (is_old ? ": run a service on it once, which converts it"
                      : std::string{})};
}

} // namespace hippo
