#pragma once

#include "hippo/space/space_node.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo {

/// The most combinations of one hyper-parameter that are all checked.
inline constexpr int checked_combinations_max = 4096;

/// How many further combinations are drawn and checked where not all are.
inline constexpr int checked_samples = 300;

/// The most forms that the stages of one trial may have in all: one of each
/// hyper-parameter wherever one of them goes on with another piece.
inline constexpr std::size_t trial_forms_max = 200'000;

/// Checks the values of every hyper-parameter in `root`, and that no trial can
/// have one twice.
///
/// A hyper-parameter with up to `checked_combinations_max` combinations is
/// checked in all of them. Else so many are checked as let every option and
/// both ends of every range have their turn, and `checked_samples` more. One
/// with so many options that this takes too long is an error.
void check_space(const space_node& root, const workload_descriptor* workload,
                 diagnostics& notes);

} // namespace hippo
