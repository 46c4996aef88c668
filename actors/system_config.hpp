#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "caf/all.hpp"
#include "caf/io/all.hpp"

#include "hippo/core/error.hpp"
#include "hippo/keys/credentials.hpp"
#include "messages.hpp"

namespace hippo {

/// How every Hippo process sets up CAF.
struct system_config : caf::actor_system_config {
  /// @param silence_max how long a peer may be silent, as the pool watches it
  explicit system_config(std::chrono::milliseconds silence_max
                         = std::chrono::seconds(15));
  system_config(const system_config&) = delete;
  system_config& operator=(const system_config&) = delete;
  ~system_config() override;

  /// Makes `publish` and `find_published` speak TLS: nodes show `shown` to each
  /// other and end the connection unless one of its authorities knows the
  /// other. Call before the system is made.
  ///
  /// CAF reads keys from files, anew for each connection, and takes no further
  /// one once that has failed; so it gets files in memory, which nobody can
  /// remove. What changes on disk counts from the next start on.
  /// @returns `errc::io_failed` if there is no room for them
  std::optional<error> use_tls(const credentials& shown);

private:
  std::vector<int> files_; ///< open as long as CAF may read them
};

} // namespace hippo
