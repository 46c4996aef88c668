#pragma once

#include <kj/async.h>
#include <kj/timer.h>

namespace hippo {

/// Notices that a peer has been silent for too long.
class silence_watch {
public:
  /// @param limit how long it may be silent, from now on
  /// REQUIRES: `timer` outlives `*this`.
  silence_watch(kj::Timer& timer, kj::Duration limit);

  /// Notes that something of the peer has been received.
  void note_received();

  /// When that was last, or the begin.
  [[nodiscard]] kj::TimePoint last() const noexcept { return last_; }

  /// Returns a promise that is kept once the peer has been silent for so long.
  /// REQUIRES: `*this` outlives it.
  kj::Promise<void> expired();

private:
  kj::Timer& timer_;
  const kj::Duration limit_;
  kj::TimePoint last_;
};

} // namespace hippo
