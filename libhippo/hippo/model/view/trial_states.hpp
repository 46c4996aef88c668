#pragma once

#include <string_view>

#include "hippo/base/types.hpp"

namespace hippo {

/// Returns the state of a trial that a message names, as `to_string` does.
/// @throws kj::Exception with `errc::malformed_message` if there is none
trial_state trial_state_of(std::string_view name);

} // namespace hippo
