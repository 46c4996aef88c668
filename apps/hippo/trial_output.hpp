#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hippo/core/error.hpp"
#include "hippo/core/types.hpp"

namespace hippo {

/// A part of what was printed while a trial was trained.
struct trial_output {
  std::string text;
  step_t next = 0;    ///< the step from which to ask on
  bool ended = false; ///< whether the trial has
};

/// Prints all parts.
/// @param read returns the part from a step on; no progress: there is none yet
/// @param follow whether to wait for what is yet to come
/// @returns nothing, or why the rest cannot be had
std::optional<error>
print_output(bool follow,
             const std::function<expected<trial_output>(step_t)>& read);

/// Prints what a state folder has of it.
std::optional<error> print_stored_output(const std::string& state,
                                         const std::string& study,
                                         std::uint64_t trial, bool follow);

} // namespace hippo
