#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "client_listings.hpp"
#include "hippo/report/report.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct export_arguments {
  study_argument of;
  bool csv = false;
  bool json = false;
  std::string file;
};

/// Returns the trials as the CSV of a report.
expected<std::string> export_csv(study_handle& study) {
  const auto known = study.describe();
  if (!known)
    return known.failure();
  const auto trials = study.trials();
  if (!trials)
    return trials.failure();
  run_record result;
  auto& out = result.studies.emplace_back();
  out.name = known->summary.name;
  out.metric = known->summary.metric;
  out.direction = known->summary.direction;
  for (const auto& x : *trials) {
    auto& trial = out.trials.emplace_back();
    trial.id = x.trial;
    trial.state = x.state;
    trial.params = read_json(x.params);
    trial.steps = x.steps;
    trial.shared_steps = x.shared_steps;
    if (x.best)
      trial.results = {{x.best->step, {{out.metric, x.best->value}}}};
  }
  return trials_csv(result);
}

int export_study(const export_arguments& x, study_handle& study) {
  const auto text = x.csv ? export_csv(study) : study.export_json();
  if (!text)
    return refuse(text.failure());
  if (x.file.empty()) {
    std::cout << *text;
    return exit_done;
  }
  std::ofstream out(x.file, std::ios::binary);
  out << *text;
  if (!out.flush())
    return fail({errc::io_failed, "cannot write " + x.file}, exit_failed);
  return exit_done;
}

int export_study(const export_arguments& x) {
  if (x.csv == x.json)
    return fail({errc::invalid_argument, "give --csv or --json"},
                exit_bad_input);
  return with_study(x.of, [&](client&, study_handle& study) {
    return export_study(x, study);
  });
}

} // namespace

void add_export(verb_table& verbs) {
  const auto x = std::make_shared<export_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(service_group, "export", "Print all that is known of a study",
              "hippo export lr-schedules --csv -o trials.csv",
              [x] { return export_study(*x); }));
  x->of.server.add_state_to(*verb);
  verb->add_flag("--csv", x->csv, "Its trials, one a line");
  verb->add_flag("--json", x->json, "Everything");
  verb->add_option("-o,--output", x->file, "Write it here");
}

} // namespace hippo
