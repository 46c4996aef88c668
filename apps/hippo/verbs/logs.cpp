#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// How often `-f` asks for what is new.
constexpr auto poll_interval = std::chrono::seconds{1};

struct logs_arguments {
  service_address server;
  std::string study;
  std::optional<std::uint64_t> trial;
  bool follow = false;
};

int print_trial_output(client& service, const logs_arguments& x) {
  auto study = service.study(x.study);
  if (!study)
    return refuse(study.failure());
  for (step_t first = 0;;) {
    const auto part = study->output(*x.trial, first);
    if (!part)
      return refuse(part.failure());
    std::cout << part->text << std::flush;
    if (!std::cout)
      return exit_done; // whoever reads has enough
    const bool is_all = part->next == first;
    first = part->next;
    if (!is_all)
      continue;
    if (!x.follow || part->ended)
      return exit_done;
    std::this_thread::sleep_for(poll_interval);
  }
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
  verb->add_flag("-f,--follow", x->follow, "Go on with what is yet to come");
  x->server.add_to(*verb);
  x->server.add_state_to(*verb);
}

} // namespace hippo
