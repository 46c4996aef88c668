// hippo: the command line. `hippo-trainer` trains; nothing here does.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "best.hpp"
#include "child_process.hpp"
#include "hippo/core/nearest.hpp"
#include "hippo/preview/preview.hpp"
#include "hippo/store/state_folder.hpp"
#include "keys.hpp"
#include "outcome.hpp"
#include "preview.hpp"
#include "run.hpp"
#include "sequence_command.hpp"
#include "serve.hpp"
#include "simulate.hpp"
#include "studies.hpp"

namespace {

constexpr unsigned trainers_max = 1024;
constexpr unsigned simulated_trainers_max = 100'000;

/// What the verbs have in common.
struct common_options {
  std::string trainer_program;
  std::vector<std::string> libraries;

  void add_to(CLI::App& app) {
    app.add_option("--workload", libraries,
                   "A shared library with further workloads (repeatable)");
    app.add_option("--trainer-program", trainer_program,
                   "The hippo-trainer to use, if not the one beside hippo");
  }

  [[nodiscard]] std::string program() const {
    return trainer_program.empty() ? hippo::sibling_program("hippo-trainer")
                                   : trainer_program;
  }
};

/// Reads the texts of the studies that a state folder holds.
hippo::expected<std::vector<hippo::study_source>>
sources_in(const std::string& state) {
  auto folder = hippo::state_folder::open_read_only(state);
  if (!folder)
    return folder.failure();
  auto studies = (*folder)->load_studies();
  if (!studies)
    return studies.failure();
  std::map<std::string, std::uint64_t> last; // id by name
  for (const auto& x : *studies)
    last[x.name] = x.id;
  std::vector<hippo::study_source> result;
  for (const auto& x : *studies) {
    if (last[x.name] != x.id)
      continue;
    auto study = (*folder)->load_study(std::to_string(x.id));
    if (!study)
      return study.failure();
    result.push_back({study->file, study->text});
  }
  return result;
}

/// What a verb works on.
struct loaded_input {
  hippo::workload_catalogue catalogue;
  std::vector<hippo::simulation_profile> profiles;
  std::vector<hippo::loaded_study> studies;
};

/// Loads studies and, if any are given, profiles; says on stderr what is wrong.
std::optional<loaded_input>
load(const common_options& common,
     const hippo::expected<std::vector<hippo::study_source>>& sources,
     const std::vector<std::string>& profile_files = {}) {
  const auto refuse = [](const hippo::error& why) {
    hippo::fail(why, hippo::exit_bad_input);
    return std::nullopt;
  };
  if (!sources)
    return refuse(sources.failure());
  auto catalogue = hippo::make_catalogue(common.program(), common.libraries);
  if (!catalogue)
    return refuse(catalogue.failure());
  auto profiles = hippo::load_profiles(profile_files, *catalogue);
  if (!profiles)
    return std::nullopt;
  auto studies = hippo::load_studies(*sources, *catalogue);
  if (!studies)
    return std::nullopt;
  return loaded_input{std::move(*catalogue), std::move(*profiles),
                      std::move(*studies)};
}

struct run_arguments {
  common_options common;
  std::vector<std::string> files;
  std::string resume;
  std::string merge = "on";
  std::string policy = "critical-path";
  hippo::run_options run;
};

int run(run_arguments& x) {
  if (x.files.empty() == x.resume.empty())
    return hippo::fail({hippo::errc::invalid_argument,
                 "give study files, or --resume with a state folder"},
                hippo::exit_bad_input);
  auto input = load(x.common, x.resume.empty() ? hippo::read_sources(x.files)
                                               : sources_in(x.resume));
  if (!input)
    return hippo::exit_bad_input;
  x.run.resume = !x.resume.empty();
  if (x.run.resume)
    x.run.state = x.resume;
  x.run.catalogue = std::move(input->catalogue);
  x.run.studies = std::move(input->studies);
  x.run.merge = x.merge == "on";
  x.run.policy = *hippo::policy_from(x.policy);
  return hippo::run(std::move(x.run));
}

struct serve_arguments {
  common_options common;
  std::string listen = "127.0.0.1:4848";
  std::string merge = "on";
  std::string policy = "critical-path";
  std::string log_format = "text";
  hippo::serve_options serve;
};

int serve(serve_arguments& x) {
  const auto listen = hippo::parse_endpoint(x.listen, 0);
  if (!listen)
    return hippo::fail({listen.failure().code,
                        "--listen: " + listen.failure().message},
                       hippo::exit_bad_input);
  auto catalogue
    = hippo::make_catalogue(x.common.program(), x.common.libraries);
  if (!catalogue)
    return hippo::fail(catalogue.failure(), hippo::exit_bad_input);
  x.serve.catalogue = std::move(*catalogue);
  x.serve.trainers = *listen;
  x.serve.merge = x.merge == "on";
  x.serve.policy = *hippo::policy_from(x.policy);
  x.serve.log = x.log_format == "json" ? hippo::log_format::json
                                       : hippo::log_format::text;
  return hippo::serve(std::move(x.serve));
}

/// What studies are simulated with.
struct simulated_files {
  common_options common;
  std::vector<std::string> files;
  std::vector<std::string> profiles;
};

/// Loads what is simulated; says on stderr what is wrong.
bool load(const simulated_files& x, hippo::simulation& out) {
  auto input = load(x.common, hippo::read_sources(x.files), x.profiles);
  if (!input)
    return false;
  out.catalogue = std::move(input->catalogue);
  out.profiles = std::move(input->profiles);
  out.studies = std::move(input->studies);
  return x.profiles.empty()
         || hippo::check_profiles(out.studies, out.profiles);
}

struct simulate_arguments {
  simulated_files input;
  std::string merge = "on";
  std::string policy = "critical-path";
  hippo::simulate_options options;
};

int simulate(simulate_arguments& x) {
  auto& what = x.options.what;
  if (!load(x.input, what))
    return hippo::exit_bad_input;
  what.merge = x.merge == "on";
  what.policy = *hippo::policy_from(x.policy);
  return hippo::simulate_and_report(x.options);
}

struct preview_arguments {
  simulated_files input;
  hippo::simulation what;
  std::string format = "table";
};

int preview(preview_arguments& x) {
  if (!load(x.input, x.what))
    return hippo::exit_bad_input;
  auto result = hippo::preview(x.what.studies, x.what.catalogue.workloads);
  if (!x.what.profiles.empty()) {
    auto times = hippo::preview_times(std::move(x.what));
    if (!times)
      return hippo::fail(times.failure(), hippo::exit_failed);
    result.times = *times;
  }
  std::cout << (x.format == "json" ? hippo::preview_json(result)
                                   : hippo::preview_text(result));
  return hippo::exit_done;
}

/// The options that decide what is trained when.
void add_schedule_options(CLI::App& verb, std::string& merge,
                          std::string& policy) {
  verb.add_option("--merge", merge,
                  "off: train every trial alone, as a baseline")
    ->check(CLI::IsMember({"on", "off"}))
    ->capture_default_str();
  verb.add_option("--scheduler", policy, "Which path goes first")
    ->check(CLI::IsMember({"critical-path", "breadth-first", "trial"}))
    ->capture_default_str();
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> result;
  for (const auto* x : app.get_subcommands({}))
    result.push_back(x->get_name());
  return result;
}

/// Says what is wrong with a command line and what was perhaps meant.
std::string explain(const CLI::App* app, const CLI::Error& why) {
  std::string text = why.what();
  for (const auto* verb : app->get_subcommands()) {
    std::vector<std::string> flags;
    for (const auto* x : verb->get_options())
      for (const auto& name : x->get_lnames())
        flags.push_back("--" + name);
    for (const auto& word : verb->remaining())
      if (word.starts_with("--"))
        text += hippo::did_you_mean(word.substr(0, word.find('=')), flags);
  }
  const auto help = app->get_subcommands().empty()
                      ? std::string{"hippo"}
                      : "hippo " + app->get_subcommands()[0]->get_name();
  return "hippo: " + text + "\nTry: " + help + " --help\n";
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Hyper-parameter optimisation that trains what trials have in "
               "common once.",
               "hippo"};
  app.require_subcommand(1);
  app.footer("Example: hippo run study.yaml");

  run_arguments running;
  running.run.trainers
    = std::clamp(std::thread::hardware_concurrency(), 1u, trainers_max);
  auto* run_verb = app.add_subcommand("run", "Run studies on this machine");
  run_verb->footer("Example: hippo run a.yaml b.yaml --trainers 2");
  run_verb->add_option("files", running.files, "Study files");
  run_verb->add_option("--trainers", running.run.trainers,
                       "Trainer processes, one CPU thread each")
    ->check(CLI::Range(1u, trainers_max))
    ->capture_default_str();
  run_verb->add_option("--state", running.run.state,
                       "Folder for results and checkpoints")
    ->capture_default_str();
  run_verb->add_option("--resume", running.resume,
                       "Go on with the studies of this state folder");
  run_verb->add_option("--report", running.run.report,
                       "Folder for the report (default: report/ in the state "
                       "folder)");
  add_schedule_options(*run_verb, running.merge, running.policy);
  run_verb->add_option("--checkpoint-budget", running.run.checkpoint_bytes_max,
                       "Disk space for checkpoints of one workload, e.g. 20GB")
    ->transform(CLI::AsSizeValue(false))
    ->capture_default_str();
  run_verb->add_flag("--quiet", running.run.quiet, "Show no progress");
  running.common.add_to(*run_verb);

  serve_arguments serving;
  auto* serve_verb = app.add_subcommand(
    "serve", "Run a service that studies and trainers come to");
  serve_verb->footer(
    "Example: hippo serve --state /data/hippo --listen 127.0.0.1:4848");
  serve_verb->add_option("--state", serving.serve.state,
                         "Folder for everything that must last")
    ->capture_default_str();
  serve_verb->add_option("--listen", serving.listen,
                         "Where trainers connect: HOST:PORT, port 0 for any")
    ->capture_default_str();
  serve_verb->add_option("--trainers", serving.serve.local_trainers,
                         "Trainer processes to start on this machine")
    ->check(CLI::Range(0u, trainers_max))
    ->capture_default_str();
  add_schedule_options(*serve_verb, serving.merge, serving.policy);
  serve_verb
    ->add_option("--checkpoint-budget", serving.serve.checkpoint_bytes_max,
                 "Disk space for checkpoints of one workload, e.g. 50GB")
    ->transform(CLI::AsSizeValue(false))
    ->capture_default_str();
  serve_verb->add_option("--log-format", serving.log_format, "Form of log lines")
    ->check(CLI::IsMember({"text", "json"}))
    ->capture_default_str();
  serving.common.add_to(*serve_verb);

  simulate_arguments simulating;
  auto* simulate_verb = app.add_subcommand(
    "simulate", "Run studies in virtual time on simulated trainers");
  simulate_verb->footer("Example: hippo simulate a.yaml b.yaml --trainers 40 "
                        "--profile v100.yaml");
  simulate_verb->add_option("files", simulating.input.files, "Study files")
    ->required();
  simulate_verb
    ->add_option("--profile", simulating.input.profiles,
                 "What training is like, one file for each workload "
                 "(repeatable)")
    ->required();
  simulate_verb
    ->add_option("--trainers", simulating.options.what.trainers,
                 "Simulated trainers")
    ->required()
    ->check(CLI::Range(1u, simulated_trainers_max));
  simulate_verb->add_option("--seed", simulating.options.what.seed,
                            "Decides the times and failures that are drawn")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
  add_schedule_options(*simulate_verb, simulating.merge, simulating.policy);
  simulate_verb->add_option("--report", simulating.options.report,
                            "Folder for the report")
    ->capture_default_str();
  simulating.input.common.add_to(*simulate_verb);

  preview_arguments previewing;
  auto* preview_verb = app.add_subcommand(
    "preview", "Say what studies would train, before anything is spent");
  preview_verb->footer("Example: hippo preview a.yaml b.yaml --trainers 40 "
                       "--profile v100.yaml");
  preview_verb->add_option("files", previewing.input.files, "Study files")
    ->required();
  preview_verb->add_option("-f,--format", previewing.format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
  auto* preview_trainers
    = preview_verb
        ->add_option("--trainers", previewing.what.trainers,
                     "Say how long they would take on so many trainers")
        ->check(CLI::Range(1u, simulated_trainers_max));
  preview_verb
    ->add_option("--profile", previewing.input.profiles,
                 "What training is like, one file for each workload "
                 "(repeatable)")
    ->needs(preview_trainers);
  preview_trainers->needs("--profile");
  previewing.input.common.add_to(*preview_verb);

  hippo::best_options besting;
  common_options best_common;
  std::string best_format = "table";
  auto* best_verb
    = app.add_subcommand("best",
                         "Show a study's best trial, export its weights");
  best_verb->footer(
    "Example: hippo best hippo-state lr-schedules --export model.pt");
  best_verb->add_option("state", besting.state, "State folder")->required();
  best_verb->add_option("study", besting.study, "Name of the study")
    ->required();
  best_verb->add_option("--export", besting.weights,
                        "Write the weights here, for Python's torch.load");
  best_verb->add_option("-f,--format", best_format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
  best_common.add_to(*best_verb);

  hippo::sequence_options showing;
  std::string sequence_format = "table";
  std::string sequence_direction = "maximize";
  auto* sequence_verb = app.add_subcommand(
    "sequence", "Show a hyper-parameter sequence: pieces, values, a plot");
  sequence_verb->footer(
    "Example: hippo sequence 'cosine: {initial: 0.1, horizon: 80}' "
    "--steps 100");
  sequence_verb->add_option("sequence", showing.text,
                            "A value as in a study file, in YAML")
    ->required();
  sequence_verb->add_option("--steps", showing.steps, "Steps of the trial")
    ->check(CLI::Range(hippo::step_t{1}, hippo::shown_steps_max))
    ->capture_default_str();
  sequence_verb->add_option("--observe", showing.observed,
                            "What was measured, e.g. 3:0.5,4:0.5 "
                            "(reduce_on_plateau)")
    ->delimiter(',');
  sequence_verb->add_option("--direction", sequence_direction,
                            "What is good among measured values")
    ->check(CLI::IsMember({"maximize", "minimize"}))
    ->capture_default_str();
  sequence_verb->add_option("--svg", showing.svg, "Write a picture here");
  sequence_verb->add_option("--title", showing.title,
                            "Of the picture, if not the sequence");
  sequence_verb->add_option("-f,--format", sequence_format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();

  hippo::keys_verb keys;
  keys.add_to(app);

  app.failure_message(explain);
  const std::string verb = argc > 1 ? argv[1] : "-";
  const auto verbs = verbs_of(app);
  if (!verb.starts_with('-')
      && std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
    return hippo::fail({hippo::errc::invalid_argument,
                 "unknown verb '" + verb + "'"
                   + hippo::did_you_mean(verb, verbs) + "\nTry: hippo --help"},
                hippo::exit_bad_input);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : hippo::exit_bad_input;
  }
  if (app.got_subcommand("keys"))
    return keys.run();
  if (*run_verb)
    return run(running);
  if (*serve_verb)
    return serve(serving);
  if (*simulate_verb)
    return simulate(simulating);
  if (*preview_verb)
    return preview(previewing);
  if (*sequence_verb) {
    showing.json = sequence_format == "json";
    showing.minimize = sequence_direction == "minimize";
    return hippo::show_sequence(showing);
  }
  besting.json = best_format == "json";
  besting.trainer_program = best_common.program();
  besting.libraries = best_common.libraries;
  return hippo::best(besting);
}
