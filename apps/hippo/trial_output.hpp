#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hippo/store/trial_output.hpp"

namespace hippo {

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
