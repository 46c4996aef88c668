#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "client_listings.hpp"
#include "common_options.hpp"
#include "fleet_preview.hpp"
#include "hippo/base/span_text.hpp"
#include "hippo/forecast/preview/fleet_choice.hpp"
#include "hippo/forecast/preview/preview.hpp"
#include "hippo/model/view/view_json.hpp"
#include "hippo/store/timing_views.hpp"
#include "outcome.hpp"
#include "simulation.hpp"
#include "studies.hpp"
#include "verbs/client_options.hpp"
#include "verbs/initial_states.hpp"
#include "verbs/study_files.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// Works out how long simulations take on average with merging on and off,
/// whatever `x.merge` says, with as many seeds as machines are chosen by: which
/// trials go on, and what training takes, is drawn.
expected<time_preview> preview_times(simulation x) {
  time_preview result;
  result.trainers = x.trainers;
  result.simulations = fleet_seeds;
  for (const bool merge : {true, false}) {
    x.merge = merge;
    auto& figures = merge ? result.merged : result.alone;
    double bound = 0; // 0: not known
    for (x.seed = 0; x.seed < fleet_seeds; ++x.seed) {
      const auto record = simulate(x);
      if (!record)
        return record.failure();
      const auto wall = record->wall_seconds;
      figures.wall_low = x.seed == 0 ? wall : std::min(figures.wall_low, wall);
      figures.wall_high = std::max(figures.wall_high, wall);
      figures.wall_seconds += wall / fleet_seeds;
      figures.device_seconds += record->device_seconds / fleet_seeds;
      bound += record->lower_bound_seconds / fleet_seeds;
    }
    if (bound > 0)
      figures.lower_bound_seconds = bound;
  }
  return result;
}

struct preview_arguments {
  simulated_files input;
  simulation what;
  std::string format = "table";
  std::string server;
  CLI::Option* trainers = nullptr;
  std::string deadline; ///< a span; empty: there is none
  fleet_question fleet;
};

/// @returns why the options do not go together, or nothing
std::optional<error> check_options(const preview_arguments& x) {
  const bool by_machines = !x.input.machines.empty();
  const bool has_profiles = !x.input.profiles.empty();
  if (has_profiles && !by_machines && x.trainers->count() == 0)
    return error{errc::invalid_argument,
                 "--profile requires --trainers or --machines"};
  if (x.trainers->count() > 0 && !has_profiles)
    return error{errc::invalid_argument, "--trainers requires --profile"};
  return std::nullopt;
}

int preview_by_service(client& service,
                       const std::vector<study_source>& sources,
                       bool as_json) {
  listing shown;
  shown.columns = {{"study"},
                   {"trials", cell_look::number},
                   {"asked", cell_look::number},
                   {"unique", cell_look::number},
                   {"known", cell_look::number},
                   {"new", cell_look::number}};
  auto all = json::array();
  for (const auto& source : sources) {
    const auto found = service.preview(source.text, source.name);
    if (!found)
      return refuse(found.failure());
    const auto& x = found->full;
    shown.rows.push_back({source.name, found->trials, x.asked_steps,
                          x.unique_steps, x.known_steps.value_or(0),
                          x.new_steps.value_or(x.unique_steps)});
    all.push_back(to_json(*found));
  }
  if (as_json) {
    std::cout << to_pretty_json(all);
    return exit_done;
  }
  return listing_options{}.print(shown);
}

/// Prints what a service says that each study would train there.
/// @param address of the service, HOST:PORT
int preview_by_service(const std::string& address,
                       const std::vector<std::string>& files, bool as_json) {
  service_address where;
  where.text = address;
  fetched_states states{where, {}};
  const auto sources = read_sources(files, states.fetcher());
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  return with_service(where, [&](client& service) {
    return preview_by_service(service, *sources, as_json);
  });
}

/// Says which machines to take for studies.
/// @returns the exit code
int preview_machines(preview_arguments& x,
                     const expected<std::vector<study_source>>& sources) {
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  auto known = load_workloads(x.input.common, x.input.profiles,
                              x.input.machines);
  if (!known)
    return exit_bad_input;
  auto studies = load_studies(*sources, known->catalogue);
  if (!studies)
    return exit_bad_input;
  x.what.catalogue = std::move(known->catalogue);
  x.what.profiles = std::move(known->profiles);
  x.what.studies = std::move(*studies);
  warn_of_sharing(x.what.studies, x.what.catalogue);
  if (!x.deadline.empty())
    x.fleet.limits.deadline_seconds = *span_from(x.deadline);
  x.fleet.as_json = x.format == "json";
  return preview_fleet(std::move(x.what), *known->machines, x.fleet);
}

/// Reads studies from files; those of which there is no file from a service.
expected<std::vector<study_source>>
read_or_ask(const std::vector<std::string>& files, client& service) {
  std::vector<study_source> result;
  for (const auto& file : files) {
    std::error_code unknown;
    if (std::filesystem::exists(file, unknown)) {
      auto read = read_sources({file});
      if (!read)
        return read.failure();
      result.push_back(std::move(read->front()));
      continue;
    }
    auto study = service.study(file);
    if (!study)
      return error{study.failure().code,
                   file + " is no file, and the service says: "
                     + study.failure().message};
    auto known = study->describe();
    if (!known)
      return known.failure();
    result.push_back({file, std::move(known->text)});
  }
  return result;
}

/// The same with the times that a service has measured.
int preview_machines_of_service(preview_arguments& x) {
  service_address where;
  where.text = x.server;
  return with_service(where, [&](client& service) {
    const auto measured = service.timings();
    if (!measured)
      return refuse(measured.failure());
    x.fleet.measured = timings_of(*measured);
    auto sources = read_or_ask(x.input.studies.files, service);
    return preview_machines(x, sources);
  });
}

int preview(preview_arguments& x) {
  if (!x.server.empty() && !x.input.machines.empty())
    return preview_machines_of_service(x);
  if (const auto why = check_options(x))
    return fail(*why, exit_bad_input);
  if (!x.server.empty())
    return preview_by_service(x.server, x.input.studies.files,
                              x.format == "json");
  if (!x.input.machines.empty())
    return preview_machines(x, x.input.studies.read());
  if (!x.input.load(x.what))
    return exit_bad_input;
  warn_of_sharing(x.what.studies, x.what.catalogue);
  auto found = hippo::preview(x.what.studies, x.what.catalogue.workloads);
  if (!found)
    return fail(found.failure(), exit_bad_input);
  auto& result = *found;
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
  x->input.is_preview = true;
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
  x->trainers = trainers;
  add_at_once(*verb, x->what.at_once);
  verb->add_option("--profile", x->input.profiles,
                   "What training is like, one file for each workload and, "
                   "with --machines, device (repeatable)");
  auto* machines
    = verb
        ->add_option("--machines", x->input.machines,
                     "Say which of the machines in this file to take, how "
                     "long and for how much")
        ->excludes(trainers);
  verb
    ->add_option("--deadline", x->deadline,
                 "Take those that are through in this time, e.g. 6h")
    ->check(CLI::Validator{[](const std::string& text) {
                             const auto span = span_from(text);
                             return span ? std::string{}
                                         : span.failure().message;
                           },
                           "SPAN"})
    ->needs(machines);
  verb
    ->add_option("--budget", x->fleet.limits.budget,
                 "Take those that cost no more, in the currency of their "
                 "prices")
    ->check(above_zero)
    ->needs(machines);
  verb
    ->add_option("--server", x->server,
                 "Ask the service at HOST:PORT what it would train, given what "
                 "is trained already; each study by itself. With --machines, "
                 "use the times that it has measured")
    ->excludes(trainers);
  x->input.common.add_to(*verb);
}

} // namespace hippo
