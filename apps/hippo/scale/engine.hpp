#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/deploy/deploy.hpp"
#include "hippo/deploy/scale.hpp"

namespace hippo {

/// A scheduler of a cluster, which runs processes of trainers. Each call
/// blocks, for less than a minute. A failure with `errc::io_failed` may pass,
/// and what was asked for may have been done; with any other code it was not.
class scale_engine {
public:
  virtual ~scale_engine() = default;

  /// All processes of the fleet, those too that a run before this one started.
  virtual expected<std::vector<listed_trainer>> list() = 0;

  /// Starts a process, unless one of that name is there.
  virtual std::optional<error> start(const std::string& name,
                                     const trainer_group& group) = 0;

  /// Tells a process to leave in good order; when it was told before, kills it.
  virtual std::optional<error> end(const listed_trainer& which) = 0;
};

} // namespace hippo
