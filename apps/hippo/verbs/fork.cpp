#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "hippo/base/text.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct fork_arguments {
  study_argument of;
  std::uint64_t trial = 0;
  std::uint64_t at = 0;
  std::string params;
};

int fork_trial(const fork_arguments& x) {
  const auto text = "forks: [{trial: " + std::to_string(x.trial) + ", at: "
                    + std::to_string(x.at) + ", params: " + x.params + "\n}]";
  return with_study(x.of, [&](client&, study_handle& study) {
    const auto known = study.enqueue(text);
    if (!known)
      return refuse(known.failure());
    std::cerr << "study " << x.of.study << " has " << counted(*known, "trial")
              << " now; the fork comes next, and shares "
              << counted(x.at, "step") << " with trial " << x.trial << '\n';
    return exit_done;
  });
}

} // namespace

void add_fork(verb_table& verbs) {
  const auto x = std::make_shared<fork_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(service_group, "fork",
              "Give a study a trial that goes on from a step of another one",
              "hippo fork lr-schedules 3 --at 40 --params '{lr: 0.01}'",
              [x] { return fork_trial(*x); }));
  verb->add_option("trial,--trial", x->trial, "The trial that it goes on from")
    ->required();
  verb->add_option("--at", x->at, "The last step that both have")->required();
  verb
    ->add_option("--params", x->params,
                 "The values that change, in JSON or YAML; others stay")
    ->required();
}

} // namespace hippo
