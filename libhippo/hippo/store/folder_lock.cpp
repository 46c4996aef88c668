#include "hippo/store/folder_lock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace hippo {

namespace {

/// Reads who holds the lock; empty if the holder is just about to write it.
std::string holder_of(int file) {
  std::array<char, 32> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  std::string result{text.data(),
                     size > 0 ? static_cast<std::size_t>(size) : 0};
  return result.substr(0, result.find('\n'));
}

} // namespace

expected<folder_lock> folder_lock::take(const std::string& folder) {
  const auto path = folder + "/lock";
  const auto failed = [&path](const char* verb) {
    return error{errc::io_failed, std::string{"cannot "} + verb + " " + path
                                    + ": " + std::strerror(errno)};
  };
  // Close-on-exec: a trainer started by the service must not inherit the lock.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0)
    return failed("open");
  folder_lock result{file};
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return failed("lock");
    const auto holder = holder_of(file);
    return {errc::in_use, folder + " is in use by "
                            + (holder.empty() ? "another process"
                                              : "process " + holder)};
  }
  const auto text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file, 0) != 0
      || ::pwrite(file, text.data(), text.size(), 0)
           != static_cast<ssize_t>(text.size()))
    return failed("write");
  return result;
}

folder_lock::folder_lock(folder_lock&& other) noexcept
  : file_(std::exchange(other.file_, -1)) {}

folder_lock& folder_lock::operator=(folder_lock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

folder_lock::~folder_lock() {
  if (file_ >= 0)
    ::close(file_);
}

} // namespace hippo
