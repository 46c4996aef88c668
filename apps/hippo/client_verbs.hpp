#pragma once

#include <string>
#include <vector>

#include "verb_table.hpp"

namespace hippo {

/// Adds the verbs that ask a service: submit, ls, show, ...
void add_client_verbs(verb_table& verbs);

/// Prints what a service says that each study would train there.
/// @returns the exit code
int preview_by_service(const std::string& address,
                       const std::vector<std::string>& files, bool json);

} // namespace hippo
