#pragma once

#include <cstdint>
#include <string>

#include "hippo/base/file_descriptor.hpp"

namespace hippo {

/// A file that somebody else may have made, or put something else in place of.
struct foreign_file {
  enum class state : std::uint8_t {
    open,
    missing,
    no_file, ///< there is a pipe, a link, a device, a folder
    failed,  ///< it cannot be opened, see `code`
  };

  state is = state::failed;
  file_descriptor file;    ///< if it is open
  std::uint64_t bytes = 0; ///< likewise, its size
  int code = 0;            ///< `errno`, if it has failed

  explicit operator bool() const noexcept { return is == state::open; }
};

/// Opens a file for reading as one opens a message: only if it is a regular
/// file, following no link that has its name, and without waiting for anybody,
/// as one would for who writes into a pipe. Its size is known before anything
/// is read.
///
/// Whatever lies in a folder that trainers, or people, can write is opened so.
/// @param writable opens it for writing, too, as some locks need
foreign_file open_foreign_file(const std::string& path, bool writable = false);

/// Whether there is a regular file of that size, as far as its folder says.
bool is_foreign_file_of(const std::string& path, std::uint64_t bytes) noexcept;

/// Whether a folder is on a disk of this machine, so that to look whether a
/// file is there takes no time. A file system that another machine serves may
/// let one wait for ever.
bool is_on_own_disk(const std::string& folder) noexcept;

} // namespace hippo
