#pragma once

#include <future>
#include <thread>
#include <utility>

#include <kj/async-io.h>

namespace hippo {

/// An event loop looks for new input after so many events, even if there is
/// always another one: kj looks for none before it has nothing to do.
inline constexpr unsigned busy_poll_interval = 64;

/// A thread with an event loop of kj, for who has none.
class event_thread {
public:
  /// Throws `kj::Exception` if the system has no resources for a loop.
  event_thread();

  /// Ends the loop after the calls that are under way.
  /// REQUIRES: whatever belongs to the loop has been destroyed on it.
  ~event_thread();

  event_thread(const event_thread&) = delete;
  event_thread& operator=(const event_thread&) = delete;

  /// Calls `function(kj::AsyncIoContext&)` on the thread and waits for what it
  /// returns; if that is a promise, for its result.
  /// Throws what `function` throws as a `kj::Exception`. Thread-safe.
  template <class F>
  auto run(F&& function) {
    return executor_->executeSync([&] { return function(*io_); });
  }

  /// Calls `function()` on the thread, for a caller that has an event loop
  /// itself.
  /// @returns a promise of its result; to drop it waits until `function` is
  /// done
  template <class F>
  auto start(F&& function) {
    return executor_->executeAsync(std::forward<F>(function));
  }

private:
  void loop(std::promise<void>& ready);

  // Set by the thread before it says that it is ready.
  kj::AsyncIoContext* io_ = nullptr;
  kj::Own<const kj::Executor> executor_;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop_;

  std::thread thread_; ///< last: it uses all of the above
};

} // namespace hippo
