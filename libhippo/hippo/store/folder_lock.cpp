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
  const auto failed = [](const char* verb, const std::string& what) {
    return error{errc::io_failed, std::string{"cannot "} + verb + " " + what
                                    + ": " + std::strerror(errno)};
  };
  const auto held = [&](int file) {
    const auto holder = file < 0 ? std::string{} : holder_of(file);
    return error{errc::in_use,
                 folder + " is in use by "
                   + (holder.empty() ? "another process"
                                     : "process " + holder)};
  };
  folder_lock result{-1, -1};
  // Close-on-exec: a trainer started by the service must not inherit the locks.
  result.folder_
    = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (result.folder_ < 0)
    return failed("open", folder);
  if (::flock(result.folder_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      result.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      return held(result.file_);
    }
    // NFS and others know locks of files alone.
    ::close(std::exchange(result.folder_, -1));
  }
  result.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (result.file_ < 0)
    return failed("open", path);
  if (::flock(result.file_, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? held(result.file_) : failed("lock", path);
  const auto text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(result.file_, 0) != 0
      || ::pwrite(result.file_, text.data(), text.size(), 0)
           != static_cast<ssize_t>(text.size()))
    return failed("write", path);
  return result;
}

folder_lock::folder_lock(folder_lock&& other) noexcept
  : folder_(std::exchange(other.folder_, -1)),
    file_(std::exchange(other.file_, -1)) {}

folder_lock& folder_lock::operator=(folder_lock&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(file_, other.file_);
  return *this;
}

folder_lock::~folder_lock() {
  for (const auto x : {file_, folder_})
    if (x >= 0)
      ::close(x);
}

} // namespace hippo
