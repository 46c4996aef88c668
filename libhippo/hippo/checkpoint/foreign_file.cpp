#include "hippo/checkpoint/foreign_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

namespace hippo {

foreign_file open_foreign_file(const std::string& path, bool writable) {
  using state = foreign_file::state;
  foreign_file result;
  result.file = file_descriptor{
    ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK
                           | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)};
  struct stat about {};
  if (!result.file || ::fstat(result.file.number(), &about) != 0) {
    result.code = errno;
    // A socket, and a pipe or a device that nobody is at, cannot be opened.
    if (result.code == ENOENT)
      result.is = state::missing;
    else if (result.code == ELOOP || result.code == ENXIO
             || result.code == ENODEV || result.code == EISDIR)
      result.is = state::no_file;
    return result;
  }
  if (!S_ISREG(about.st_mode)) {
    result.is = state::no_file;
    result.file = file_descriptor{};
    return result;
  }
  result.is = state::open;
  result.bytes = static_cast<std::uint64_t>(about.st_size);
  return result;
}

bool is_foreign_file_of(const std::string& path,
                        std::uint64_t bytes) noexcept {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode)
         && static_cast<std::uint64_t>(about.st_size) == bytes;
}

bool is_on_own_disk(const std::string& folder) noexcept {
  struct statfs about {};
  if (::statfs(folder.c_str(), &about) != 0)
    return false;
  switch (static_cast<unsigned long>(about.f_type)) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC: return true;
    default: return false;
  }
}

} // namespace hippo
