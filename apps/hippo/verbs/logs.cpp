#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "outcome.hpp"
#include "trial_output.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// How often `-f` asks for what is new.
constexpr auto poll_interval = std::chrono::seconds{1};

struct logs_arguments {
  service_address server;
  std::string state;
  std::string study;
  std::optional<std::uint64_t> trial;
  bool follow = false;
};

int print_trial_output(client& service, const logs_arguments& x) {
  auto study = service.study(x.study);
  if (!study)
    return refuse(study.failure());
  return refuse(print_output(
    x.follow, [&](step_t first) -> expected<trial_output> {
      auto part = study->output(*x.trial, first);
      if (!part)
        return part.failure();
      return trial_output{std::move(part->text), part->next, part->ended};
    }));
}

int print_service_log(client& service, bool follow) {
  for (std::uint64_t after = 0;;) {
    const auto part = service.logs(after);
    if (!part)
      return refuse(part.failure());
    std::cout << part->text << std::flush;
    if (!std::cout)
      return exit_done; // the reader has closed the pipe
    after = part->next;
    if (!part->text.empty())
      continue;
    if (!follow)
      return exit_done;
    std::this_thread::sleep_for(poll_interval);
  }
}

int logs(const logs_arguments& x) {
  if (x.study.empty() == x.trial.has_value())
    return fail({errc::invalid_argument,
                 "give a study and the number of one of its trials"},
                exit_bad_input);
  if (!x.state.empty() && !x.trial)
    return fail({errc::invalid_argument,
                 "--state goes with a study and one of its trials; the log of "
                 "a service is hippo.log in that folder"},
                exit_bad_input);
  if (!x.state.empty())
    return refuse(print_stored_output(x.state, x.study, *x.trial, x.follow));
  return with_service(x.server, [&](client& service) {
    return x.trial ? print_trial_output(service, x)
                   : print_service_log(service, x.follow);
  });
}

} // namespace

void add_logs(verb_table& verbs) {
  const auto x = std::make_shared<logs_arguments>();
  auto* verb = verbs.add(service_group, "logs",
                         "Print a service's log, or what a trial has printed",
                         "hippo logs -f lr-schedules 7",
                         [x] { return logs(*x); });
  verb->add_option("study", x->study, "Number or name of a study");
  verb->add_option("trial", x->trial,
                   "One of its trials: what the training code has printed");
  verb->add_option("--state", x->state, "Look into this state folder instead");
  verb->add_flag("-f,--follow", x->follow, "Go on with what is yet to come");
  x->server.add_to(*verb);
}

} // namespace hippo
