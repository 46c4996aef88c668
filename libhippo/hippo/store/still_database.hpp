#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/base/scratch_folder.hpp"

namespace hippo {

/// A database as it lies there, to tell whether anybody has written to it
/// since. Nothing of it says so itself, for what reads it takes no lock.
class file_witness {
public:
  /// @param path of the database, which is there
  explicit file_witness(std::string path);

  /// Whether something is in the log beside it that is not in it yet.
  [[nodiscard]] bool has_log() const { return seen_.log_bytes > 0; }

  /// Whether it and its log are as they were.
  [[nodiscard]] bool holds() const { return look(path_) == seen_; }

  /// @returns why what was read of it is of no use
  [[nodiscard]] error broken() const;

private:
  struct seen {
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;
    std::uint64_t log_bytes = 0;

    bool operator==(const seen&) const = default;
  };

  static seen look(const std::string& path);

  std::string path_;
  seen seen_;
};

/// Whether there is a database on the disk, and not only in a file system of
/// SQLite's.
bool is_database_file(const std::string& path);

/// A copy of a database, and the folder that goes with it.
struct database_copy {
  scratch_folder folder;
  std::string path;
};

/// Copies a database and its log to a new folder that is `path` then, as of one
/// moment: whoever writes to it meanwhile is seen, and waited for.
/// @returns the copy, or `errc::io_failed`
expected<database_copy> copy_database_files(const std::string& path);

} // namespace hippo
