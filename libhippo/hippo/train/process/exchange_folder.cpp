#include "hippo/train/process/exchange_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "hippo/base/file_descriptor.hpp"

namespace hippo {

scratch_folder make_exchange_folder() {
  auto made = scratch_folder::make("hippo-states");
  if (!made)
    throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

std::string read_exchanged(const std::string& path, std::uint64_t bytes_max) {
  const auto cannot = [&](const std::string& why) {
    return std::runtime_error("cannot read " + path + ": " + why);
  };
  const file_descriptor file{
    ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  struct stat about {};
  if (!file || ::fstat(file.number(), &about) != 0)
    throw cannot(std::strerror(errno));
  if (!S_ISREG(about.st_mode))
    throw cannot("it is no regular file");
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (size > bytes_max)
    throw cannot("it has " + std::to_string(size) + " bytes, more than "
                 + std::to_string(bytes_max));
  std::string result(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const auto n
      = ::read(file.number(), result.data() + done, result.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      throw cannot(std::strerror(errno));
    if (n == 0)
      throw cannot("it became shorter meanwhile");
    done += static_cast<std::size_t>(n);
  }
  return result;
}

void write_exchanged(const std::string& path, std::string_view bytes) {
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    throw std::runtime_error("cannot write " + path);
}

} // namespace hippo
