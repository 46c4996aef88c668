#include <memory>
#include <string>

#include "common_options.hpp"
#include "outcome.hpp"
#include "stored_best.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct best_arguments {
  study_argument of;
  common_options common;
  best_options state;
  std::string format = "table";
};

int best_of_service(study_handle& study, bool json) {
  const auto known = study.describe();
  if (!known)
    return refuse(known.failure());
  const auto trial = study.best();
  if (!trial)
    return fail(trial.failure(), exit_failed); // it may come yet
  const auto value = trial->best.value_or(best_measurement{});
  print_best({known->summary.name, trial->trial, value.step,
              known->summary.metric, value.value, trial->params},
             json);
  return exit_done;
}

int best(best_arguments& x) {
  x.state.json = x.format == "json";
  if (!x.state.state.empty()) {
    x.state.study = x.of.study;
    x.state.trainer_program = x.common.program();
    x.state.libraries = x.common.libraries;
    return best_in_folder(x.state);
  }
  return with_study(x.of, [&](client&, study_handle& study) {
    return best_of_service(study, x.state.json);
  });
}

} // namespace

void add_best(verb_table& verbs) {
  const auto x = std::make_shared<best_arguments>();
  auto* verb = verbs.add(
    service_group, "best", "Show a study's best trial, export its weights",
    "hippo best lr-schedules --state hippo-state --export model.pt",
    [x] { return best(*x); });
  verb->add_option("study", x->of.study, "Its number, or its name")
    ->required();
  auto* server = x->of.server.add_to(*verb);
  auto* state = verb->add_option("--state", x->state.state,
                                 "Look into this state folder instead");
  state->excludes(server);
  verb
    ->add_option("--export", x->state.weights,
                 "Write the weights here, for Python's torch.load")
    ->needs(state);
  add_format(*verb, x->format);
  x->common.add_to(*verb);
}

} // namespace hippo
