#pragma once

#include <exception>
#include <functional>
#include <thread>

#include "hippo/base/file_descriptor.hpp"
#include "hippo/train/stoppable.hpp"

namespace hippo {

/// A call of a member's own workload, on a thread of its own, so that other
/// members are heard meanwhile: where one has failed, the call may wait for it
/// for ever.
class own_call {
public:
  /// @param trains has the call return if that is stopped
  /// REQUIRES: `trains` outlives `*this`.
  own_call(stoppable& trains, std::function<void()> call);

  /// Ends the call by force if it has not returned.
  ~own_call();
  own_call(const own_call&) = delete;
  own_call& operator=(const own_call&) = delete;

  /// The descriptor that can be read once the call has returned.
  [[nodiscard]] int number() const noexcept { return returned_.number(); }

  [[nodiscard]] bool has_returned() const noexcept { return returns_in(0); }

  /// Waits for the call, and throws what it has thrown.
  void get();

private:
  [[nodiscard]] bool returns_in(int wait_ms) const noexcept;

  stoppable& trains_;
  const file_descriptor returned_;
  std::exception_ptr thrown_;
  std::thread thread_; ///< last: it uses the above
};

} // namespace hippo
