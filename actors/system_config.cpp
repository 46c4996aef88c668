#include "system_config.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "caf/openssl/all.hpp"

#include "hippo/keys/tls_calls.hpp"

namespace hippo {

namespace {

/// Returns a file in memory that holds `bytes`, or -1 with `errno`.
int make_memory_file(const char* name, const std::string& bytes) {
  const int file = ::memfd_create(name, MFD_CLOEXEC);
  if (file < 0)
    return -1;
  const auto n = ::write(file, bytes.data(), bytes.size());
  if (n == static_cast<ssize_t>(bytes.size()))
    return file;
  ::close(file);
  return -1;
}

} // namespace

system_config::system_config(std::chrono::milliseconds silence_max) {
  hippo::add_message_types(*this);
  load<caf::io::middleman>();
  // Work stealing polls while there is nothing to do, which costs a trainer
  // beside it a part of its core.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{2});
  // What becomes of a trainer is the pool's decision, which knows whether the
  // service itself has stood still; the connection is closed later. It is all
  // that a trainer has to notice a service that hangs or is cut off.
  set("middleman.heartbeat-interval",
      caf::timespan{std::min<std::chrono::milliseconds>(
        std::chrono::seconds(1), silence_max / 4)});
  set("middleman.connection-timeout", caf::timespan{2 * silence_max});
  set("logger.file-verbosity", caf::atom("quiet"));
  set("logger.console-verbosity", caf::atom("quiet"));
}

system_config::~system_config() {
  for (const int file : files_)
    ::close(file);
}

std::optional<error> system_config::use_tls(const credentials& shown) {
  if (!tls_calls_are_ours())
    return error{errc::io_failed,
                 "this build cannot keep connections apart: its SSL_read is "
                 "not what its libraries call"};
  const auto add = [this](const char* name, const std::string& bytes,
                          std::string& path) {
    const int file = make_memory_file(name, bytes);
    if (file < 0)
      return false;
    files_.push_back(file);
    path = "/proc/self/fd/" + std::to_string(file);
    return true;
  };
  if (!add("hippo key", shown.key, openssl_key)
      || !add("hippo certificate", shown.certificate, openssl_certificate)
      || !add("hippo authorities", shown.authorities, openssl_cafile))
    return error{errc::io_failed,
                 std::string{"cannot keep the keys in memory: "}
                   + std::strerror(errno)};
  load<caf::openssl::manager>();
  return {};
}

} // namespace hippo
