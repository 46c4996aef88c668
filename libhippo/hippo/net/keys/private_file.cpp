#include "hippo/net/keys/private_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hippo/base/whole_file.hpp"

namespace hippo {

namespace {

constexpr mode_t others_mask = 077;

error failed(const std::string& verb, const std::string& path) {
  return {errc::io_failed,
          "cannot " + verb + " " + path + ": " + std::strerror(errno)};
}

/// A file that is closed with its owner.
class file_handle {
public:
  explicit file_handle(int file) : file_(file) {}
  file_handle(const file_handle&) = delete;
  file_handle& operator=(const file_handle&) = delete;
  ~file_handle() {
    if (file_ >= 0)
      ::close(file_);
  }

  [[nodiscard]] int get() const { return file_; }

private:
  int file_;
};

error open_to_others(const std::string& path, const std::string& mode) {
  return {errc::not_allowed,
          "others than its owner can read " + path
            + ", so it keeps no secret: chmod " + mode + " " + path};
}

} // namespace

std::optional<error> write_private_file(const std::string& path,
                                        const std::string& bytes,
                                        bool replace) {
  whole_file_options how;
  how.mode = 0600;
  how.replaces = replace;
  return write_whole(path, bytes, how);
}

expected<std::string> read_private_file(const std::string& path) {
  const file_handle file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.get() < 0)
    return errno == ENOENT
             ? error{errc::invalid_argument, "there is no file " + path}
             : failed("read", path);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0)
    return failed("read", path);
  if (!S_ISREG(about.st_mode))
    return {errc::invalid_argument, path + " is no file"};
  if ((about.st_mode & others_mask) != 0)
    return open_to_others(path, "600");
  std::string bytes(private_file_bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const auto n = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed("read", path);
    if (n == 0)
      break;
    size += static_cast<std::size_t>(n);
  }
  if (size > private_file_bytes_max)
    return {errc::invalid_argument,
            path + " has more than " + std::to_string(private_file_bytes_max)
              + " bytes: no file of `hippo keys`"};
  bytes.resize(size);
  return bytes;
}

std::optional<error> make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return failed("make the folder", path);
  return check_private_folder(path);
}

std::optional<error> check_private_folder(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0)
    return errno == ENOENT
             ? error{errc::invalid_argument, "there is no folder " + path}
             : failed("read the folder", path);
  if (!S_ISDIR(about.st_mode))
    return error{errc::invalid_argument, path + " is no folder"};
  if ((about.st_mode & others_mask) != 0)
    return open_to_others(path, "700");
  return {};
}

} // namespace hippo
