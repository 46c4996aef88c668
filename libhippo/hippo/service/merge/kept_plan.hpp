#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>

#include "hippo/base/file_memory.hpp"
#include "hippo/model/records.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/service/merge/device_kinds.hpp"

namespace hippo {

/// A plan, and which kinds of device its trees are of: what is made of what
/// earlier runs have left, part by part, so that never all of it is in memory.
struct kept_plan {
  /// @param any_device whether any device may go on with everything
  /// @param file where all is that nobody waits for; null: in memory
  explicit kept_plan(waiting_limits waits = {}, bool any_device = false,
                     std::shared_ptr<file_memory> file = nullptr);

  /// Puts back what was stored.
  /// @param part nodes that follow on those that were put back, and all that
  ///             was stored of them; the first has what is of the root
  /// @complexity O(what is in it)
  void restore(stored_plan part);

  /// Where all is that nobody waits for.
  [[nodiscard]] std::pmr::memory_resource* resource() const {
    return cold ? cold.get() : std::pmr::get_default_resource();
  }

  /// About how much of it is in memory, in bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const;

  std::shared_ptr<file_memory> cold; ///< null: all is in memory
  search_plan plan;
  device_kinds kinds;
  std::uint64_t checkpoint_bytes = 0; ///< of what was put back
  checkpoint base{}; ///< of that, the first that can be one (`retention`)
  bool any_device;
};

} // namespace hippo
