#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "common_options.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/run_figures.hpp"
#include "outcome.hpp"
#include "simulation.hpp"
#include "terminal.hpp"
#include "verbs/study_files.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// What `hippo simulate` was asked for.
struct simulate_options {
  simulation what;
  std::string report = "hippo-simulation"; ///< folder
  std::string measurements; ///< file for what is measured; empty: none
  std::string estimates;    ///< file for when studies were to end; empty: none
};

/// Simulates, writes the report and prints the summary.
/// @returns the exit code
int simulate_and_report(const simulate_options& options) {
  std::vector<simulated_measurement> measured;
  const bool watches = !options.measurements.empty();
  estimate_watch estimates;
  const auto record
    = simulate(options.what, nullptr, watches ? &measured : nullptr,
               options.estimates.empty() ? nullptr : &estimates);
  if (!record)
    return fail(record.failure(), exit_failed);
  if (watches)
    if (auto written = write_measurements(measured, options.measurements);
        !written)
      return fail(written.failure(), exit_failed);
  if (!options.estimates.empty())
    if (auto written = write_estimates(estimates.told(), options.estimates);
        !written)
      return fail(written.failure(), exit_failed);
  if (auto written = write_report(*record, options.report); !written)
    return fail(written.failure(), exit_failed);
  std::cout << summary_text(*record, 5,
                            has_colour(STDOUT_FILENO))
            << "report: " << options.report << '\n';
  if (const auto why = find_hopeless(*record))
    return fail(*why, exit_failed);
  return exit_done;
}

struct simulate_arguments {
  CLI::Option* trainers = nullptr;
  simulated_files input;
  schedule_options schedule;
  simulate_options options;
};

int simulate(simulate_arguments& x) {
  auto& what = x.options.what;
  if (x.input.machines.empty() && x.trainers->empty())
    return fail({errc::invalid_argument,
                 "give --trainers and --profile, or --machines and --use"},
                exit_bad_input);
  if (!x.input.load(what))
    return exit_bad_input;
  what.merge = x.schedule.merges();
  what.gangs = x.schedule.joins();
  what.policy = x.schedule.policy();
  what.placement = x.schedule.places();
  return simulate_and_report(x.options);
}

} // namespace

void add_simulate(verb_table& verbs) {
  const auto x = std::make_shared<simulate_arguments>();
  auto* verb = verbs.add(
    local_group, "simulate",
    "Run studies in virtual time on simulated trainers",
    "hippo simulate a.yaml b.yaml --trainers 40 --profile v100.yaml",
    [x] { return simulate(*x); });
  x->input.studies.add_to(*verb)->required();
  auto* profiles
    = verb->add_option("--profile", x->input.profiles,
                       "What training is like, one file for each workload and "
                       "device (repeatable)");
  x->trainers = verb
                     ->add_option("--trainers", x->options.what.trainers,
                                  "Simulated trainers, all alike, which stay")
                     ->needs(profiles)
                     ->check(CLI::Range(1u, simulated_trainers_max));
  auto* used = verb
                 ->add_option("--use", x->input.used,
                              "Simulated machines instead: how many of which "
                              "kinds, e.g. 16xa100-spot,4xl4")
                 ->excludes(x->trainers);
  auto* machines = verb->add_option("--machines", x->input.machines,
                                    "File of the kinds of machine")
                     ->needs(used);
  used->needs(machines);
  add_at_once(*verb, x->options.what.at_once);
  verb->add_option("--seed", x->options.what.seed,
                   "Decides the times and failures that are drawn")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
  x->schedule.add_to(*verb);
  verb->add_option("--report", x->options.report, "Folder for the report")
    ->capture_default_str();
  verb->add_option("--measurements", x->options.measurements,
                   "File for what trainers measure, and when: CSV");
  verb->add_option("--estimates", x->options.estimates,
                   "File for how long studies would take yet, as `hippo show` "
                   "would have said meanwhile: CSV");
  verb->add_flag("--quiet", x->input.quiet,
                 "Print nothing but what came of it, and what is wrong");
  x->input.common.add_to(*verb);
}

} // namespace hippo
