#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "hippo/base/error.hpp"

namespace hippo {

/// How a file is written.
struct whole_file_options {
  /// Of a new file, less what the umask takes; a file that is there keeps its
  /// own.
  mode_t mode = 0666;
  bool replaces = true; ///< what is there already; else that is a failure
  /// Whether it is on the disk before anything else happens.
  bool synced = true;
};

/// Writes a file as a whole or not at all: under another name in the same
/// folder, which is renamed in the end. What is there stays as it was until
/// then, and nothing is left behind after a failure. What is no file, such as
/// `/dev/stdout` or a pipe, is written into.
///
/// Everything that is written to stay goes through here, unless it is written
/// in parts (`checkpoint_writer`) or is a database.
/// @returns `errc::in_use` if there is such a file and it is not to be
///          replaced, or `errc::io_failed`
std::optional<error> write_whole(const std::string& path,
                                 std::string_view bytes,
                                 const whole_file_options& how = {});

/// Writes all of `bytes` to an open file. @returns 0, or `errno`
int write_all(int file, std::string_view bytes);

} // namespace hippo
