#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/core/types.hpp"

namespace hippo {

/// Whose weights are wanted, and who knows the workload.
struct weights_request {
  std::string state; ///< folder
  std::uint64_t study = 0;
  std::uint64_t trial = 0;
  step_t step = 0;  ///< where the trial was measured
  std::string file; ///< to be written, for Python's torch.load
  std::string trainer_program;
  std::vector<std::string> libraries;
};

/// Writes the weights that a trial had at a step. Where the state of that very
/// step was not kept, it is trained again from the nearest checkpoint before
/// it, which gives the same weights bit for bit.
/// @returns why they cannot be had
std::optional<error> export_weights(const weights_request& x);

} // namespace hippo
