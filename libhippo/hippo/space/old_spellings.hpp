#pragma once

#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// Renames the keys of a study file that had other names in earlier versions:
///
///     steps: {max: N}           max_steps: N
///     objective: {every: N}     eval_every: N
///     concurrent: N             max_concurrent: N, of an algorithm
///
/// Each old name is warned of once, with the command that replaces it. A file
/// with both names of a key is an error that names both places.
/// REQUIRES: a document of `read_document`; afterwards the paths of its values
/// are those of the new names.
void rename_old_keys(document& study, diagnostics& notes);

} // namespace hippo
