#include "hippo/base/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace hippo {

namespace {

namespace fs = std::filesystem;

error cannot_write(const std::string& path, int code) {
  return {errc::io_failed, "cannot write " + path + ": " + std::strerror(code)};
}

/// Closes a file. @returns 0, or `errno`: some file systems say only then that
/// there is no room
int close_file(int file) { return ::close(file) == 0 ? 0 : errno; }

int sync_folder(const fs::path& folder) {
  const int file
    = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return errno;
  const auto code = ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
  ::close(file);
  return code;
}

/// Writes into what is no file, and so has no content that could be half.
std::optional<error> write_into(const std::string& path,
                                std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0)
    return cannot_write(path, errno);
  auto code = write_all(file, bytes);
  const auto closed = close_file(file);
  if (code == 0)
    code = closed;
  return code == 0 ? std::nullopt : std::optional{cannot_write(path, code)};
}

/// Makes a file of a name that nobody has. @returns it, or -1 with `errno`
int make_part(const fs::path& folder, mode_t mode, std::string& part) {
  static std::atomic<unsigned> last = 0;
  for (;;) {
    part = folder
           / (".hippo-" + std::to_string(::getpid()) + '-'
              + std::to_string(++last) + ".part");
    const int file = ::open(part.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST)
      return file;
  }
}

} // namespace

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR)
      return errno;
    if (n > 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::optional<error> write_whole(const std::string& path,
                                 std::string_view bytes,
                                 const whole_file_options& how) {
  struct stat about {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (exists && !how.replaces)
    return error{errc::in_use, path + " is there already"};
  if (exists && S_ISDIR(about.st_mode))
    return cannot_write(path, EISDIR);
  if (exists && !S_ISREG(about.st_mode))
    return write_into(path, bytes);
  std::error_code unresolved;
  auto to = exists ? fs::canonical(path, unresolved) : fs::path{path};
  if (unresolved)
    return cannot_write(path, unresolved.value());
  const auto folder = to.has_parent_path() ? to.parent_path() : fs::path{"."};
  std::string part;
  const int file = make_part(folder, how.mode, part);
  if (file < 0)
    return cannot_write(path, errno);
  int code = write_all(file, bytes);
  if (code == 0 && exists && ::fchmod(file, about.st_mode & 07777) != 0)
    code = errno;
  if (code == 0 && how.synced && ::fsync(file) != 0 && errno != EINVAL)
    code = errno;
  if (const auto closed = close_file(file); code == 0)
    code = closed;
  if (code == 0
      && (how.replaces ? ::rename(part.c_str(), to.c_str())
                       : ::link(part.c_str(), to.c_str()))
           != 0)
    code = errno;
  if (code != 0 || !how.replaces)
    ::unlink(part.c_str()); // it has its own name by now, or none
  if (code == EEXIST && !how.replaces)
    return error{errc::in_use, path + " is there already"};
  if (code == 0 && how.synced)
    code = sync_folder(folder);
  return code == 0 ? std::nullopt : std::optional{cannot_write(path, code)};
}

} // namespace hippo
