#include <iostream>
#include <memory>
#include <string>

#include "hippo/base/text.hpp"
#include "outcome.hpp"
#include "trial_table.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct enqueue_arguments {
  study_argument of;
  std::string params;
  std::string file;
  bool outside = false;
};

int enqueue(const enqueue_arguments& x) {
  if (x.params.empty() == x.file.empty())
    return fail({errc::invalid_argument, "give either --params or --file"},
                exit_bad_input);
  const std::string list = x.outside ? "outside" : "trials";
  auto trials = x.file.empty()
                  ? expected<std::string>{list + ": [" + x.params + "\n]"}
                  : read_trial_table(x.file, list);
  if (!trials)
    return fail(trials.failure(), exit_bad_input);
  return with_study(x.of, [&](client&, study_handle& study) {
    const auto known = study.enqueue(*trials);
    if (!known)
      return refuse(known.failure());
    std::cerr << "study " << x.of.study << " has " << counted(*known, "trial")
              << " now; those that were given come next\n";
    return exit_done;
  });
}

} // namespace

void add_enqueue(verb_table& verbs) {
  const auto x = std::make_shared<enqueue_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "enqueue", "Give a study trials that come next",
    "hippo enqueue lr-schedules --params '{lr: 0.1}'",
    [x] { return enqueue(*x); }));
  verb->add_option("--params", x->params,
                   "The values of one trial, in JSON or YAML");
  verb->add_option("--file", x->file,
                   "A table of trials (.csv), a column for each "
                   "hyper-parameter, or `trials: [...]` in JSON or YAML");
  verb->add_flag("--outside", x->outside,
                 "The values need not be of the space: samplers learn nothing "
                 "of them");
}

} // namespace hippo
