#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "caf/all.hpp"

namespace hippo {

/// Finds actors that compute where others wait for their turn: each message is
/// to be dealt with in `limit` of the thread's CPU time, so that a machine that
/// is busy with something else does not matter. What takes longer belongs into
/// a job (hippo/search/think).
class turn_watch {
public:
  using duration = std::chrono::nanoseconds;

  /// Sanitizers make everything some times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr std::chrono::milliseconds limit{100};
#else
  static constexpr std::chrono::milliseconds limit{10};
#endif

  /// Called with whoever took longer, as `study: outcome`; any thread may.
  using listener = std::function<void(const std::string& who, duration took)>;

  /// The default logs it. Called while no actor runs.
  static void listen(listener handler);

  /// How much CPU time this thread has had.
  static duration now() noexcept;

  /// Notes a turn.
  static void note(const char* actor, const std::string& message,
                   duration took);
};

/// Wraps a behaviour so that each of its turns is watched; in release builds
/// nothing is.
caf::behavior watched_behavior(caf::behavior handlers, const char* actor);

template <class Behavior>
Behavior watched(const char* actor, Behavior behavior) {
#ifndef NDEBUG
  behavior.unbox() = watched_behavior(std::move(behavior.unbox()), actor);
#else
  static_cast<void>(actor);
#endif
  return behavior;
}

} // namespace hippo
