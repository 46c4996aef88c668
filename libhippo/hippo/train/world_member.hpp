#pragma once

#include <string>

#include "hippo/base/endpoint.hpp"
#include "hippo/train/stoppable.hpp"

namespace hippo {

/// The ranks of a trial that have been started together, and find each other at
/// one place, as `torch.distributed` has it.
struct rank_world {
  std::string id;   ///< no two worlds have the same
  endpoint master;  ///< where the first rank listens
  std::string host; ///< where other machines reach that of this member
};

/// A workload of which this process has some ranks, while other members of its
/// gang have the others.
class world_member : public stoppable {
public:
  /// Returns the world that its ranks are in; empty: there is none, or one of
  /// them does not wait for a call.
  [[nodiscard]] virtual std::string world() const = 0;

  /// Ends its ranks, and starts those of a world. `workload::prepare` waits for
  /// them. Throws if they cannot be started.
  virtual void enter(const rank_world& world) = 0;

  /// Ends its ranks at once.
  virtual void leave() noexcept = 0;
};

} // namespace hippo
