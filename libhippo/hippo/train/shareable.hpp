#pragma once

#include "hippo/train/gang.hpp"

namespace hippo {

/// A workload whose iterations have parts, which members of a gang may share:
/// each of them has a workload of the same spec, in the same state. They share
/// measuring as well, so all of them measure when one does. The bits of a state
/// and of metrics do not depend on their number.
class shareable {
public:
  virtual ~shareable() = default;

  /// Computes the parts of one member from now on. Leaves the state as it is.
  /// Throws `std::invalid_argument` if there are more members than parts.
  /// @param members the place of this one among them, which is there until the
  ///        next call; null: it computes all parts
  virtual void share(gang* members) = 0;
};

} // namespace hippo
