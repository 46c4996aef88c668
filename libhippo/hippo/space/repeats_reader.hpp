#pragma once

#include "hippo/space/study.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// Reads the `repeats` of a study file: a number of seeds, or a map with
/// `seeds` and `summary`. Errors are noted.
/// @param study whose workload and metrics have been read
repeat_spec read_repeats(const document& repeats, const study_spec& study,
                         diagnostics& notes);

/// The repeats of a study with all that it takes to train them.
repeat_plan repeats_of(const study_spec& study);

} // namespace hippo
