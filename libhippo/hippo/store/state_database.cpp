#include "hippo/store/state_database.hpp"

#include <filesystem>

#include "hippo/store/schema.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// Whether a fresh state folder may hold an entry of this name: what a service
/// leaves that dies before its database is there.
bool is_ours(const std::string& name) {
  return name == "lock" || name == "waiting" || name == "checkpoints"
         || name == "report" || name.starts_with("hippo.db");
}

} // namespace

std::string state_database_of(const std::string& path) {
  return path + "/hippo.db";
}

std::string unfinished_copy_of(const std::string& path) {
  return state_database_of(path) + ".copy";
}

error file_error(const std::string& what, const std::error_code& reason) {
  return {errc::io_failed, what + ": " + reason.message()};
}

error damaged(const std::string& path, const std::string& what) {
  return {errc::io_failed, "the state in " + path + " is damaged: " + what};
}

expected<std::monostate> make_state_folder(const std::string& path) {
  std::error_code reason;
  if (fs::create_directories(path, reason))
    fs::permissions(path, fs::perms::owner_all, reason);
  if (reason)
    return file_error("cannot make the folder " + path, reason);
  const bool has_state = fs::exists(state_database_of(path), reason);
  fs::directory_iterator entries{path, reason};
  if (reason)
    return file_error("cannot read the folder " + path, reason);
  if (!has_state)
    for (const auto& entry : entries)
      if (!is_ours(entry.path().filename()))
        return {errc::invalid_argument,
                path + " holds no Hippo state, but other things ("
                  + entry.path().filename().string()
                  + "): choose an empty folder or a new name"};
  return std::monostate{};
}

expected<std::uint64_t> check_version(sql_database& database,
                                      const std::string& path,
                                      bool may_migrate) {
  const auto version = read_version(database);
  if (!version || *version == state_version)
    return version;
  if (*version == 0)
    return damaged(path, "its table 'meta' has no version; "
                           + damage_remedy(state_database_of(path)));
  const bool is_old
    = *version >= oldest_state_version && *version < state_version;
  if (is_old && (may_migrate || *version >= oldest_read_version))
    return version;
  return {errc::incompatible_version,
          "the state in " + path + " is of version " + std::to_string(*version)
            + ", this program reads and writes version "
            + std::to_string(state_version)
            + (is_old ? ": run a service on it once, which converts it"
                      : std::string{})};
}

} // namespace hippo
