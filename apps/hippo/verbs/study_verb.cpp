#include "verbs/study_verb.hpp"

#include <iostream>

#include "outcome.hpp"

namespace hippo {

namespace {

int send_to_all(client& service, const study_verb_arguments& x,
                const study_verb& command) {
  int result = exit_done;
  for (const auto& name : x.studies) {
    auto study = service.study(name);
    const auto why = study ? command.send(*study, x.reason)
                           : std::optional<error>{study.failure()};
    if (!why) {
      std::cerr << "study " << name << ": " << command.done << '\n';
      continue;
    }
    const auto code = refuse(*why);
    if (result == exit_done)
      result = code;
  }
  return result;
}

} // namespace

CLI::App*
add_study_verb(verb_table& verbs, const study_verb& command,
               const std::shared_ptr<study_verb_arguments>& arguments) {
  auto* verb = verbs.add(
    service_group, command.name, command.what,
    "hippo " + command.name + " lr-schedules 7", [arguments, command] {
      return with_service(arguments->server, [&](client& service) {
        return send_to_all(service, *arguments, command);
      });
    });
  verb->add_option("studies", arguments->studies, "Their numbers, or names")
    ->required();
  arguments->server.add_to(*verb);
  return verb;
}

} // namespace hippo
