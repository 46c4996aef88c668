#include "hippo/train/process/captured_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/train/process/exchange_folder.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// Between two looks at a file, at first and at last.
constexpr std::chrono::milliseconds look_first{1}, look_last{50};

/// Of a process's reason for a file that is not whole.
constexpr std::uint64_t reason_bytes_max = 64 << 10;

std::int64_t size_of(int file) {
  struct stat found {};
  return ::fstat(file, &found) == 0 ? found.st_size : 0;
}

} // namespace

captured_file::captured_file(std::string path,
                             std::chrono::milliseconds silence_max)
  : path_(std::move(path)), silence_max_(silence_max),
    lock_(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (lock_ < 0)
    throw std::runtime_error("cannot make " + path_ + ": "
                             + std::strerror(errno));
}

captured_file::~captured_file() {
  ::close(lock_);
  std::error_code ignored;
  for (const auto* end : {"", ".whole", ".failed"})
    fs::remove(path_ + end, ignored);
}

file_source captured_file::wait(std::uint64_t bytes_max) const {
  using clock = std::chrono::steady_clock;
  auto pause = look_first;
  auto size = size_of(lock_);
  auto changed = clock::now();
  // Nothing tells of a lock that is given up; to wait for it could take
  // forever.
  while (::flock(lock_, LOCK_SH | LOCK_NB) != 0) {
    if (const auto now = size_of(lock_); now != size) {
      size = now;
      changed = clock::now();
    }
    if (clock::now() - changed > silence_max_)
      throw std::runtime_error(
        "the workload's process has written nothing to a state's file for "
        + to_text(static_cast<double>(silence_max_.count()) / 1000) + " s");
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, look_last);
  }
  if (fs::exists(path_ + ".whole"))
    return open_exchanged(path_ + ".whole", bytes_max);
  throw std::runtime_error(
    fs::exists(path_ + ".failed")
      ? to_utf8(read_exchanged(path_ + ".failed", reason_bytes_max))
      : "the workload's process ended before the state was written");
}

} // namespace hippo
