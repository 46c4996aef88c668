#include <iostream>
#include <memory>
#include <vector>

#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct retry_arguments {
  study_argument of;
  std::vector<std::uint64_t> trials;
  bool all = false;
};

int retry(const retry_arguments& x) {
  return with_study(x.of, [&](client&, study_handle& study) {
    const auto retried = study.retry(x.trials, x.all);
    if (!retried)
      return refuse(retried.failure());
    std::cerr << "study " << x.of.study << ": " << *retried
              << (*retried == 1 ? " trial is" : " trials are")
              << " tried again\n";
    return exit_done;
  });
}

} // namespace

void add_retry(verb_table& verbs) {
  const auto x = std::make_shared<retry_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(service_group, "retry", "Try again what has failed",
              "hippo retry lr-schedules 7", [x] { return retry(*x); }));
  verb->add_option("trials", x->trials,
                   "Their numbers; none: all that have failed");
  verb->add_flag("--all", x->all,
                 "Also what does not pass: what diverged, and what three "
                 "trainers said alike");
}

} // namespace hippo
