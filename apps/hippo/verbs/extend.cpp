#include <iostream>
#include <memory>
#include <string>

#include "common_options.hpp"
#include "hippo/base/text.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct extend_arguments {
  study_argument of;
  study_extension more; ///< without device time
  double device_hours = 0;
};

int extend(const extend_arguments& x) {
  auto more = x.more;
  more.device_seconds = x.device_hours * 3600;
  if (more.trials == 0 && more.seconds == 0 && more.deadline_seconds == 0
      && more.device_seconds == 0 && more.cost == 0 && more.budget_steps == 0
      && more.steps == 0)
    return fail({errc::invalid_argument,
                 "give --trials, --steps, --budget-steps, --seconds, "
                 "--deadline-seconds, --device-hours or --cost"},
                exit_bad_input);
  return with_study(x.of, [&](client&, study_handle& study) {
    const auto trials = study.extend(more);
    if (!trials)
      return refuse(trials.failure());
    std::cerr << "study " << x.of.study << " has " << counted(*trials, "trial")
              << (more.steps > 0
                    ? " of " + std::to_string(more.steps) + " steps now\n"
                    : " now\n");
    return exit_done;
  });
}

} // namespace

void add_extend(verb_table& verbs) {
  const auto x = std::make_shared<extend_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "extend",
    "Raise the budget of a study, or the length of its trials",
    "hippo extend lr-schedules --trials 20", [x] { return extend(*x); }));
  verb->add_option("--trials", x->more.trials, "More trials")
    ->check(CLI::Range(1.0, 1e9));
  verb
    ->add_option("--steps", x->more.steps,
                 "The length of its trials from now on")
    ->check(CLI::Range(1.0, 1e9));
  verb
    ->add_option("--budget-steps", x->more.budget_steps,
                 "More of its budget.steps")
    ->check(CLI::Range(1.0, 1e9));
  verb->add_option("--seconds", x->more.seconds,
                   "More of its budget.seconds")
    ->check(above_zero);
  verb->add_option("--deadline-seconds", x->more.deadline_seconds,
                   "The time by which its deadline comes later")
    ->check(above_zero);
  verb
    ->add_option("--device-hours", x->device_hours,
                 "More of its budget.device_hours")
    ->check(above_zero);
  verb->add_option("--cost", x->more.cost, "More of its budget.cost")
    ->check(above_zero);
}

} // namespace hippo
