#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace hippo {

/// The first descriptor that no program gets as one of its own.
inline constexpr int own_descriptors_begin = 10;

/// Moves a descriptor out of the way of those that are copied to a program's
/// own: one that had such a number would be overwritten before it is copied.
/// @returns it, closed on exec; -1 as it came, or if there are too many
inline int above_standard(int fd) noexcept {
  if (fd < 0 || fd >= own_descriptors_begin)
    return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, own_descriptors_begin);
  ::close(fd);
  return moved;
}

} // namespace hippo
