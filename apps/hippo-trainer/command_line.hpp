#pragma once

#include <optional>

#include "options.hpp"

namespace hippo {

/// Reads the command line; says on stderr what is wrong, and the help on stdout
/// if it is asked for.
/// @returns the exit code if there is nothing more to do
std::optional<int> parse(int argc, char** argv, trainer_options& opts);

} // namespace hippo
