#pragma once

#include <optional>

#include "hippo/base/types.hpp"

namespace hippo {

/// The next thing that all members of a gang do: they train steps, or measure
/// the state that they are in.
struct gang_order {
  step_t from = 0;
  step_t to = 0;
  bool measures = false; ///< and trains nothing
};

/// The lead of a gang, as another member sees it. Each call throws `gang_lost`
/// if it is gone or has failed.
class gang_lead {
public:
  virtual ~gang_lead() = default;

  /// Waits for the next order. @returns nothing once the lease has ended
  virtual std::optional<gang_order> next() = 0;

  /// Says that this member is in the lease's first state, and later that it has
  /// carried out the last order.
  /// @param leaves whether the lease is to end, since this member leaves
  virtual void tell_done(bool leaves) = 0;
};

} // namespace hippo
