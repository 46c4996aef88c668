#pragma once

#include "hippo/space/study.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// Reads the `notify` of a study file: a map with `url` and, if only some of
/// the events matter, `on`. Errors are noted.
/// @param study whose objective has been read
notify_request read_notify(const document& notify, const study_spec& study,
                           diagnostics& notes);

} // namespace hippo
