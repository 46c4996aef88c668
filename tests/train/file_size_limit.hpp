#pragma once

#include <csignal>
#include <stdexcept>

#include <sys/resource.h>

namespace hippo {

/// While it lives, no file of this process grows beyond so many bytes: writing
/// fails as it does on a full disk, with another reason.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    if (::getrlimit(RLIMIT_FSIZE, &before_) != 0)
      throw std::runtime_error("cannot ask for the limit of file sizes");
    auto limit = before_;
    limit.rlim_cur = bytes;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
      throw std::runtime_error("cannot limit the size of files");
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;
  ~file_size_limit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
  rlimit before_{};
};

} // namespace hippo
