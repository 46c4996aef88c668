#pragma once

#include <string>

#include "hippo/base/choice.hpp"
#include "hippo/base/error.hpp"

namespace hippo {

/// Renders a choice as it is stored: JSON.
std::string choice_text(const trial_choice& choice);

/// Reads it. @returns `errc::malformed_message` if it is none
expected<trial_choice> read_choice(const std::string& text);

} // namespace hippo
