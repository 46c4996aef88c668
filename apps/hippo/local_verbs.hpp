#pragma once

#include "verb_table.hpp"

namespace hippo {

/// Adds the verbs that work on this machine: run, serve, simulate, ....
void add_local_verbs(verb_table& verbs);

} // namespace hippo
