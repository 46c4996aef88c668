#include "hippo/store/still_database.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <sys/stat.h>

#include "hippo/base/scratch_folder.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// How often a copy is begun before its database counts as never at rest.
constexpr int attempts_max = 5;

/// Names one round of SQLite's log: all that it holds is of that.
constexpr std::size_t log_header_bytes = 32;

std::string log_of(const std::string& path) { return path + "-wal"; }

std::string first_bytes(const std::string& path, std::size_t most) {
  std::ifstream in{path, std::ios::binary};
  std::string result(most, '\0');
  in.read(result.data(), static_cast<std::streamsize>(most));
  result.resize(static_cast<std::size_t>(in.gcount()));
  return result;
}

std::error_code copy_over(const std::string& from, const std::string& to) {
  std::error_code reason;
  fs::remove(to, reason); // an earlier attempt's
  fs::copy_file(from, to, reason);
  if (!reason) // it has the mode of what may only be read
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, reason);
  return reason;
}

} // namespace

// -- file_witness -------------------------------------------------------------

file_witness::file_witness(std::string path)
  : path_(std::move(path)), seen_(look(path_)) {}

file_witness::seen file_witness::look(const std::string& path) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  struct stat about {};
  seen result;
  if (::stat(path.c_str(), &about) == 0) {
    result.inode = about.st_ino;
    result.bytes = static_cast<std::uint64_t>(about.st_size);
    result.changed_ns
      = about.st_mtim.tv_sec * second_ns + about.st_mtim.tv_nsec;
  }
  if (::stat(log_of(path).c_str(), &about) == 0)
    result.log_bytes = static_cast<std::uint64_t>(about.st_size);
  return result;
}

error file_witness::broken() const {
  return {errc::io_failed, "database " + path_
                             + " was written to while it was read: a service "
                               "has started there; try again"};
}

// -- copies -------------------------------------------------------------------

bool is_database_file(const std::string& path) {
  const std::string beginning{"SQLite format 3"};
  return first_bytes(path, beginning.size()) == beginning;
}

expected<database_copy> copy_database_files(const std::string& path) {
  auto folder = scratch_folder::make("hippo-copy");
  if (!folder)
    return folder.failure();
  auto copy = folder->file(fs::path{path}.filename());
  std::error_code reason;
  for (int i = 0; i < attempts_max && !reason; ++i) {
    // What is written to the database meanwhile is in the log, which is copied
    // after it: of the same round, it makes up for what was torn.
    const auto round = first_bytes(log_of(path), log_header_bytes);
    if ((reason = copy_over(path, copy))
        || (reason = copy_over(log_of(path), log_of(copy))))
      break;
    if (first_bytes(log_of(path), log_header_bytes) == round
        && first_bytes(log_of(copy), log_header_bytes) == round)
      return database_copy{std::move(*folder), std::move(copy)};
  }
  return {errc::io_failed,
          "database " + path + " cannot be read where it lies, nor copied to "
            + folder->path() + ": "
            + (reason ? reason.message()
                      : "it is written to all the time; try again")};
}

} // namespace hippo
