#include "hippo/base/content_source.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hippo {

namespace {

error cannot_read(const std::string& path, const std::string& why) {
  return {errc::io_failed, "cannot read " + path + ": " + why};
}

} // namespace

std::optional<error> memory_source::read(std::uint64_t offset, void* to,
                                         std::size_t size) const {
  assert(offset <= bytes_.size() && size <= bytes_.size() - offset);
  std::memcpy(to, bytes_.data() + offset, size);
  return std::nullopt;
}

expected<file_source> file_source::open(const std::string& path) {
  file_descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  struct stat about {};
  if (!file || ::fstat(file.number(), &about) != 0)
    return cannot_read(path, std::generic_category().message(errno));
  if (!S_ISREG(about.st_mode))
    return cannot_read(path, "it is no regular file");
  return file_source{path, std::move(file),
                     static_cast<std::uint64_t>(about.st_size)};
}

std::optional<error> file_source::read(std::uint64_t offset, void* to,
                                       std::size_t size) const {
  for (std::size_t done = 0; done < size;) {
    const auto n = ::pread(file_.number(), static_cast<char*>(to) + done,
                           size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return cannot_read(path_, n < 0 ? std::generic_category().message(errno)
                                      : "it became shorter");
    done += static_cast<std::size_t>(n);
  }
  return std::nullopt;
}

expected<file_writer> file_writer::create(const std::string& path) {
  file_descriptor file{
    ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  if (!file)
    return error{errc::io_failed, "cannot write " + path + ": "
                                    + std::generic_category().message(errno)};
  return file_writer{path, std::move(file)};
}

std::optional<error> file_writer::append(const char* data, std::size_t size) {
  while (size > 0) {
    const auto n = ::write(file_.number(), data, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return error{errc::io_failed, "cannot write " + path_ + ": "
                                      + std::generic_category().message(errno)};
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return std::nullopt;
}

std::optional<error> pass_on(const content_source& source,
                             const byte_taker& take) {
  const auto most = std::min<std::uint64_t>(source.size(), source_piece_bytes);
  const auto piece = std::make_unique_for_overwrite<char[]>(most);
  for (std::uint64_t at = 0; at < source.size(); at += most) {
    const auto size = static_cast<std::size_t>(
      std::min<std::uint64_t>(source.size() - at, most));
    if (auto why = source.read(at, piece.get(), size))
      return why;
    if (auto why = take(piece.get(), size))
      return why;
  }
  return std::nullopt;
}

} // namespace hippo
