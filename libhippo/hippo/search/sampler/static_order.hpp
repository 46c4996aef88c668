#pragma once

#include <cstdint>
#include <optional>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/search/sampler/permutation.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Which combination each trial gets if nothing is learned: the next one of a
/// grid; or a random one, without replacement in a finite space (a
/// pseudo-random permutation of its combinations), independently in a
/// continuous one. A study with more trials goes on where this one ends.
class static_order {
public:
  /// @param shuffled else it counts through; REQUIRES a finite space then
  static_order(search_space space, std::uint64_t seed, bool shuffled);

  /// Returns what decides the values of trial `trial`. Trials beyond the size
  /// of a finite space begin again.
  [[nodiscard]] leaf_decider operator()(trial_no trial) const;

private:
  search_space space_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> size_;
  std::optional<permutation> order_; ///< set if shuffled and finite
};

} // namespace hippo
