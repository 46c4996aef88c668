#include <cstdint>
#include <memory>
#include <string>

#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct tell_arguments {
  study_argument of;
  std::uint64_t trial = 0;
  trial_outcome outcome;
  std::string state = "COMPLETE";
};

int tell(tell_arguments& x) {
  for (const auto state :
       {trial_state::complete, trial_state::pruned, trial_state::failed})
    if (x.state == to_string(state))
      x.outcome.state = state;
  return with_study(x.of, [&](client&, study_handle& study) {
    return refuse(study.tell(x.trial, x.outcome));
  });
}

} // namespace

void add_tell(verb_table& verbs) {
  const auto x = std::make_shared<tell_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "tell", "End a trial of a study that you drive",
    "hippo tell mine 0 --state PRUNED", [x] { return tell(*x); }));
  verb->add_option("trial", x->trial, "Its number, from ask")->required();
  verb->add_option("--value", x->outcome.value,
                   "Of the objective, if you have measured it yourself");
  verb->add_option("--state", x->state, "How it ends")
    ->check(CLI::IsMember({"COMPLETE", "PRUNED", "FAILED"}))
    ->capture_default_str();
  verb->add_option("--step", x->outcome.step,
                   "At which the value was measured (default: the last)");
}

} // namespace hippo
