#include <iostream>
#include <memory>
#include <string>

#include "hippo/core/number.hpp"
#include "outcome.hpp"
#include "stored_weights.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct best_arguments {
  study_argument of;
  weights_options how;
  std::string weights; ///< file to export to; empty: do not
  std::string format = "table";
};

/// Prints a study's best trial, as JSON or for people.
void print_best(const study_summary& study, const trial_summary& trial,
                const best_measurement& best, bool json) {
  const auto params = nlohmann::ordered_json::parse(trial.params);
  if (json) {
    const nlohmann::ordered_json shown{{"study", study.name},
                                       {"trial", trial.trial},
                                       {"state", to_string(trial.state)},
                                       {"step", best.step},
                                       {"metric", study.metric},
                                       {"value", best.value},
                                       {"params", params}};
    std::cout << shown.dump(2) << '\n';
    return;
  }
  std::cout << "study " << study.name << ": trial " << trial.trial << " ("
            << to_string(trial.state) << ") at step " << best.step << ", "
            << study.metric << ' ' << to_text(best.value) << '\n';
  for (const auto& [name, value] : params.items())
    std::cout << "  " << name << ": " << value.dump() << '\n';
}

int best(const best_arguments& x, study_handle& study) {
  const auto known = study.describe();
  if (!known)
    return refuse(known.failure());
  const auto trial = study.best();
  if (!trial)
    return fail(trial.failure(), exit_failed); // it may come yet
  const auto value = trial->best.value_or(best_measurement{});
  print_best(known->summary, *trial, value, x.format == "json");
  if (x.weights.empty())
    return exit_done;
  if (auto why = export_weights(
        study, {trial->trial, value.step, x.weights}, x.how))
    return fail(*why, exit_failed);
  std::cerr << "weights: " << x.weights << '\n';
  return exit_done;
}

} // namespace

void add_best(verb_table& verbs) {
  const auto x = std::make_shared<best_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "best", "Show a study's best trial, export its weights",
    "hippo best lr-schedules --export model.pt", [x] {
      if (auto why = x->of.server.know(x->how.common))
        return fail(*why, exit_bad_input);
      return with_study(x->of, [&](client&, study_handle& study) {
        return best(*x, study);
      });
    }));
  x->of.server.add_state_to(*verb);
  verb->add_option("--export", x->weights,
                   "Write the weights here, for Python's torch.load");
  add_format(*verb, x->format);
  x->how.add_to(*verb);
}

} // namespace hippo
