#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include <kj/async.h>

namespace hippo {

/// Calls that other threads want made on an event loop of kj, in their order.
class loop_calls {
public:
  /// Has `call` made soon, unless the loop has ended. Any thread may call it.
  void post(std::function<void()> call);

  /// Makes the calls for ever. Called once, on the loop.
  /// REQUIRES: `*this` outlives the promise.
  kj::Promise<void> serve();

  /// Forgets what was not made, and what comes yet. Called on the loop.
  void close();

private:
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
  kj::Maybe<kj::Own<kj::CrossThreadPromiseFulfiller<void>>> sleeper_;
  bool closed_ = false;
};

} // namespace hippo
