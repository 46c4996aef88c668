#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common_options.hpp"
#include "hippo/preview/preview.hpp"
#include "outcome.hpp"
#include "simulation.hpp"
#include "verbs/service_preview.hpp"
#include "verbs/study_files.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// Works out how long a simulation takes with merging on and off, whatever
/// `x.merge` says.
expected<time_preview> preview_times(simulation x) {
  time_preview result;
  result.trainers = x.trainers;
  for (const bool merge : {true, false}) {
    x.merge = merge;
    const auto record = simulate(x);
    if (!record)
      return record.failure();
    (merge ? result.merged : result.alone)
      = {record->wall_seconds, record->device_seconds,
         record->lower_bound_seconds};
  }
  return result;
}

struct preview_arguments {
  simulated_files input;
  simulation what;
  std::string format = "table";
  std::string server;
};

int preview(preview_arguments& x) {
  if (!x.server.empty())
    return preview_by_service(x.server, x.input.studies.files,
                              x.format == "json");
  if (!x.input.load(x.what))
    return exit_bad_input;
  auto result = hippo::preview(x.what.studies, x.what.catalogue.workloads);
  if (!x.what.profiles.empty()) {
    auto times = preview_times(std::move(x.what));
    if (!times)
      return fail(times.failure(), exit_failed);
    result.times = *times;
  }
  std::cout << (x.format == "json" ? preview_json(result)
                                   : preview_text(result));
  return exit_done;
}

} // namespace

void add_preview(verb_table& verbs) {
  const auto x = std::make_shared<preview_arguments>();
  auto* verb = verbs.add(
    local_group, "preview",
    "Say what studies would train, before anything is spent",
    "hippo preview a.yaml b.yaml --trainers 40 --profile v100.yaml",
    [x] { return preview(*x); });
  x->input.studies.add_to(*verb)->required();
  add_format(*verb, x->format);
  auto* trainers
    = verb
        ->add_option("--trainers", x->what.trainers,
                     "Say how long they would take on so many trainers")
        ->check(CLI::Range(1u, simulated_trainers_max));
  auto* profiles
    = verb
        ->add_option("--profile", x->input.profiles,
                     "What training is like, one file for each workload "
                     "(repeatable)")
        ->needs(trainers);
  trainers->needs(profiles);
  verb
    ->add_option("--server", x->server,
                 "Ask the service at HOST:PORT, which knows what is trained "
                 "already; each study by itself")
    ->excludes(trainers)
    ->excludes("--lanes");
  x->input.common.add_to(*verb);
}

} // namespace hippo
