#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <kj/async.h>
#include <kj/timer.h>

#include "gateway/limits.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

/// Wakes those who wait for something to be stored.
///
/// While anybody waits it asks SQLite, for all of them, whether there has been
/// a commit: a matter of microseconds, and right whoever writes and however.
/// Who is woken looks for what it wants and, if it is not there, waits again.
class commit_watcher {
public:
  /// REQUIRES: `store` is used by nobody else; `timer` outlives this.
  commit_watcher(std::unique_ptr<state_reader> store, kj::Timer& timer)
    : store_(std::move(store)), timer_(timer) {}

  /// Returns what `after` is given: take it before looking.
  std::uint64_t version();

  /// Returns once something has been stored since `version`, or it is
  /// `deadline`.
  kj::Promise<void> after(std::uint64_t version, kj::TimePoint deadline);

private:
  struct waiter {
    std::uint64_t version = 0;
    kj::Own<kj::PromiseFulfiller<void>> wake;
  };

  /// Looks again and again until nobody waits.
  kj::Promise<void> look();

  std::unique_ptr<state_reader> store_;
  kj::Timer& timer_;
  std::vector<waiter> waiters_;
  bool looking_ = false;
  kj::Promise<void> task_ = nullptr;
};

} // namespace hippo
