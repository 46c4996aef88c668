#pragma once

#include <cstdint>

#include "hippo/base/types.hpp"
#include "hippo/model/workload_spec.hpp"

namespace hippo {

/// The mean of weights that is measured in place of the weights themselves:
/// those at the last `of` steps that are multiples of `every`. Before the first
/// of these it is the weights as they are.
///
/// Source: Tian et al., "WSM: Decay-Free Learning Rate Schedule via Checkpoint
/// Merging for LLM Pre-training" (2507.17634).
struct averaging {
  std::uint64_t of = 0; ///< 0: the weights are measured as they are
  step_t every = 1;
  friend bool operator==(const averaging&, const averaging&) = default;

  /// Whether the weights at a step are a part of means.
  [[nodiscard]] bool takes(step_t step) const {
    return of > 0 && step > 0 && step % every == 0;
  }
};

/// The most states that are averaged.
inline constexpr std::uint64_t averaged_max = 100;

// The options of a workload that hold these; a workload that measures its
// weights as they are has none of them, and the key that it had before there
// were any.
inline constexpr const char* averaged_option = "average.of";
inline constexpr const char* averaged_every_option = "average.every";

/// Returns the averaging of a workload.
averaging averaging_of(const workload_spec& spec);

} // namespace hippo
