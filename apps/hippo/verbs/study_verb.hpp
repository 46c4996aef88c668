#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

/// A verb that gives studies a command.
struct study_verb {
  std::string name; ///< of the verb
  std::string what; ///< it does
  std::string done; ///< what is said once a study has accepted it
  /// @param reason as given, perhaps empty
  /// @returns why the service did not do it
  std::function<std::optional<error>(study_handle&, const std::string& reason)>
    send;
};

/// What such a verb is given.
struct study_verb_arguments {
  service_address server;
  std::vector<std::string> studies;
  std::string reason;
};

/// Adds a verb that gives a command to each of some studies. Its exit code is
/// that of the first one that fails.
/// @returns the verb, for further options
CLI::App*
add_study_verb(verb_table& verbs, const study_verb& command,
               const std::shared_ptr<study_verb_arguments>& arguments);

} // namespace hippo
