#pragma once

#include <vector>

#include "hippo/space/space_node.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// The most trials that a study may begin with.
inline constexpr std::size_t first_trials_max = 1'000;

/// Reads the `first` of a study file: a list of maps, each of which has the
/// value of every hyper-parameter with something to choose. Numbers are
/// compared by their 12 significant digits, as they are trained with.
/// @returns the decisions that make these values; errors are noted, also of a
///          trial that is there twice
std::vector<leaf_decisions>
read_first(const document& list, const space_node& space, diagnostics& notes);

} // namespace hippo
