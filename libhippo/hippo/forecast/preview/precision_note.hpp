#pragma once

#include <optional>

#include "hippo/search/accepted_study.hpp"

namespace hippo {

/// Says that a study leaves its precision to the default, float32, where
/// another one takes less time on a GPU.
/// @returns nothing if it says which, or its workload has no such option
std::optional<diagnostic> precision_note(const study_spec& spec);

} // namespace hippo
