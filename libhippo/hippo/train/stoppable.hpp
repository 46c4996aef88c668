#pragma once

#include <cstdint>

namespace hippo {

/// How a call is ended that does not return.
enum class stop_force : std::uint8_t {
  terminate, ///< SIGTERM: what trains may still tidy up
  kill,      ///< SIGKILL, with all that it has started
};

/// A workload whose calls can be ended from outside, since something else than
/// this process trains. The call that runs fails then.
class stoppable {
public:
  virtual ~stoppable() = default;

  /// Ends what trains. Returns at once. Any thread may call it, also while
  /// another one is in a call of the workload.
  virtual void stop(stop_force how) noexcept = 0;
};

} // namespace hippo
