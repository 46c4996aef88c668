#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hippo/base/types.hpp"

namespace hippo {

/// A call that all members of a gang make. Where they share parts of each
/// iteration, they train and measure together, and the lead does the rest.
enum class gang_call : std::uint8_t {
  train,    ///< some steps
  enter,    ///< a world of ranks: `world_member::enter`
  prepare,  ///< that and the next ones as of `workload`
  init,     ///< to the state at step 0
  load,     ///< the lease's first state, which each member reads by itself
  evaluate, ///< all of them, or their ranks; the lead's metrics count
  save,     ///< the ranks' parts of a state
  give,     ///< what was saved, to the lead
};

/// An order of a gang's lead.
struct gang_order {
  step_t from = 0; ///< steps to train
  step_t to = 0;
  gang_call what = gang_call::train;
  std::string world{}; ///< to enter: id, space, HOST:PORT of its first rank
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
