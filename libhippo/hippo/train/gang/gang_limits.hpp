#pragma once

#include <chrono>

namespace hippo {

/// How long members of a gang wait for each other.
struct gang_limits {
  using duration = std::chrono::milliseconds;

  /// A member of which nothing has come for so long, while another one waits
  /// for it, is lost. As long has each until it has come.
  duration silence = std::chrono::seconds{30};
  /// The same once the lease of the one that waits was cancelled.
  duration hurry = std::chrono::seconds{1};
  /// Between two attempts to connect: the other one may not have its lease yet.
  duration retry = std::chrono::milliseconds{100};
  /// Once a rank has failed: another member may be gone, and that was why.
  duration aftermath = std::chrono::seconds{2};
  /// For the greeting of a peer.
  duration greeting = std::chrono::seconds{10};

  /// Between two signs of life of a member that computes.
  [[nodiscard]] duration beat() const { return silence / 6; }
};

} // namespace hippo
