#include "local_verbs.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client_verbs.hpp"
#include "check.hpp"
#include "common_options.hpp"
#include "gc.hpp"
#include "hippo/core/devices.hpp"
#include "hippo/preview/preview.hpp"
#include "hippo/space/lanes_override.hpp"
#include "hippo/store/state_reader.hpp"
#include "outcome.hpp"
#include "preview.hpp"
#include "run.hpp"
#include "sequence_command.hpp"
#include "serve.hpp"
#include "simulate.hpp"
#include "studies.hpp"

namespace hippo {

namespace {

constexpr auto group = "On this machine";
constexpr unsigned trainers_max = 1024;
constexpr unsigned simulated_trainers_max = 100'000;

unsigned machine_cores() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, trainers_max);
}

/// Reads the texts of the studies that a state folder holds.
expected<std::vector<study_source>>
sources_in(const std::string& state) {
  auto folder = state_reader::open(state);
  if (!folder)
    return folder.failure();
  auto studies = (*folder)->load_studies();
  if (!studies)
    return studies.failure();
  std::map<std::string, std::uint64_t> last; // id by name
  for (const auto& x : *studies)
    last[x.name] = x.id;
  std::vector<study_source> result;
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
  workload_catalogue catalogue;
  std::vector<simulation_profile> profiles;
  std::vector<loaded_study> studies;
};

/// Loads studies and, if any are given, profiles; says on stderr what is wrong.
std::optional<loaded_input>
load(const common_options& common,
     const expected<std::vector<study_source>>& sources,
     const std::vector<std::string>& profile_files = {}) {
  const auto refuse = [](const error& why) {
    fail(why, exit_bad_input);
    return std::nullopt;
  };
  if (!sources)
    return refuse(sources.failure());
  auto catalogue = make_catalogue(common.program(), common.libraries);
  if (!catalogue)
    return refuse(catalogue.failure());
  auto profiles = load_profiles(profile_files, *catalogue);
  if (!profiles)
    return std::nullopt;
  auto studies = load_studies(*sources, *catalogue);
  if (!studies)
    return std::nullopt;
  return loaded_input{std::move(*catalogue), std::move(*profiles),
                      std::move(*studies)};
}

/// Study files, and what the command line says otherwise.
struct study_arguments {
  std::vector<std::string> files;
  std::uint32_t lanes = 0; ///< 0: as the files say

  [[nodiscard]] expected<std::vector<study_source>> read() const {
    auto result = read_sources(files);
    if (result && lanes > 0)
      for (auto& x : *result)
        x.text = with_lanes(x.text, lanes);
    return result;
  }

  CLI::Option* add_to(CLI::App& verb) {
    verb.add_option("--lanes", lanes,
                    "Copies of the model that a trainer trains in one launch, "
                    "whatever the studies say; 1: none together")
      ->check(CLI::Range(1u, lanes_max));
    return verb.add_option("files", files, "Study files");
  }
};

struct run_arguments {
  common_options common;
  study_arguments studies;
  std::string resume;
  std::string merge = "on";
  std::string policy = "critical-path";
  std::vector<std::string> devices{"cpu"};
  std::optional<unsigned> trainers;
  run_options run;
};

int run(run_arguments& x) {
  if (x.studies.files.empty() == x.resume.empty())
    return fail({errc::invalid_argument,
                 "give study files, or --resume with a state folder"},
                exit_bad_input);
  auto devices = devices_of_trainers(x.devices, x.trainers, machine_cores());
  if (!devices)
    return fail(devices.failure(), exit_bad_input);
  x.run.devices = std::move(*devices);
  auto input = load(x.common, x.resume.empty() ? x.studies.read()
                                               : sources_in(x.resume));
  if (!input)
    return exit_bad_input;
  x.run.resume = !x.resume.empty();
  if (x.run.resume)
    x.run.state = x.resume;
  x.run.catalogue = std::move(input->catalogue);
  x.run.studies = std::move(input->studies);
  x.run.merge = x.merge == "on";
  x.run.policy = *policy_from(x.policy);
  return hippo::run(std::move(x.run));
}

struct serve_arguments {
  common_options common;
  std::string listen = "127.0.0.1:4848";
  std::string rpc = "127.0.0.1:4849";
  std::string http = "127.0.0.1:4850";
  double trainer_timeout = 15;
  double stall_timeout = 600;
  std::string merge = "on";
  std::string policy = "critical-path";
  std::string log_format = "text";
  serve_options serve;
};

int serve(serve_arguments& x) {
  struct {
    const char* flag;
    const std::string& text;
    endpoint& out;
  } addresses[] = {{"--listen", x.listen, x.serve.trainers},
                   {"--rpc", x.rpc, x.serve.clients},
                   {"--http", x.http, x.serve.people}};
  for (auto& [flag, text, out] : addresses) {
    const auto read = parse_endpoint(text, 0);
    if (!read)
      return fail({read.failure().code,
                   std::string{flag} + ": " + read.failure().message},
                  exit_bad_input);
    out = *read;
  }
  auto catalogue = make_catalogue(x.common.program(), x.common.libraries);
  if (!catalogue)
    return fail(catalogue.failure(), exit_bad_input);
  x.serve.catalogue = std::move(*catalogue);
  const auto duration = [](double seconds) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
  };
  x.serve.trainer_timeout = duration(x.trainer_timeout);
  x.serve.stall_timeout = duration(x.stall_timeout);
  x.serve.merge = x.merge == "on";
  x.serve.policy = *policy_from(x.policy);
  x.serve.log = x.log_format == "json" ? log_format::json : log_format::text;
  return hippo::serve(std::move(x.serve));
}

/// What studies are simulated with.
struct simulated_files {
  common_options common;
  study_arguments studies;
  std::vector<std::string> profiles;
};

/// Loads what is simulated; says on stderr what is wrong.
bool load(const simulated_files& x, simulation& out) {
  auto input = load(x.common, x.studies.read(), x.profiles);
  if (!input)
    return false;
  out.catalogue = std::move(input->catalogue);
  out.profiles = std::move(input->profiles);
  out.studies = std::move(input->studies);
  return x.profiles.empty()
         || check_profiles(out.studies, out.profiles);
}

struct simulate_arguments {
  simulated_files input;
  std::string merge = "on";
  std::string policy = "critical-path";
  simulate_options options;
};

int simulate(simulate_arguments& x) {
  auto& what = x.options.what;
  if (!load(x.input, what))
    return exit_bad_input;
  what.merge = x.merge == "on";
  what.policy = *policy_from(x.policy);
  return simulate_and_report(x.options);
}

struct preview_arguments {
  simulated_files input;
  simulation what;
  std::string format = "table";
  std::string server;
};

int preview(preview_arguments& x) {
  if (!x.server.empty())
    return preview_by_service(x.server, x.input.studies.files, x.format == "json");
  if (!load(x.input, x.what))
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

void add_run(verb_table& verbs) {
  const auto x = std::make_shared<run_arguments>();
  auto* verb = verbs.add(group, "run", "Run studies on this machine",
                         "hippo run a.yaml b.yaml --trainers 2",
                         [x] { return run(*x); });
  x->studies.add_to(*verb);
  verb->add_option("--device", x->devices,
                   "cpu, cuda:N (repeatable) or all: every GPU, else the CPU")
    ->check(check_device_name)
    ->allow_extra_args(false)
    ->capture_default_str();
  verb->add_option("--trainers", x->trainers,
                   "Trainer processes on the CPU, one thread each")
    ->check(CLI::Range(1u, trainers_max))
    ->default_str(std::to_string(machine_cores()));
  verb->add_option("--state", x->run.state,
                   "Folder for results and checkpoints")
    ->capture_default_str();
  verb->add_option("--resume", x->resume,
                   "Go on with the studies of this state folder")
    ->excludes("--lanes");
  verb->add_option("--report", x->run.report,
                   "Folder for the report (default: report/ in the state "
                   "folder)");
  add_schedule_options(*verb, x->merge, x->policy);
  verb->add_option("--checkpoint-budget", x->run.checkpoint_bytes_max,
                   "Disk space for checkpoints, e.g. 20GB")
    ->transform(CLI::AsSizeValue(false))
    ->capture_default_str();
  verb->add_flag("--quiet", x->run.quiet, "Show no progress");
  x->common.add_to(*verb);
}

void add_serve(verb_table& verbs) {
  const auto x = std::make_shared<serve_arguments>();
  auto* verb = verbs.add(
    group, "serve", "Run a service that studies and trainers come to",
    "hippo serve --state /data/hippo --listen 127.0.0.1:4848",
    [x] { return serve(*x); });
  verb->add_option("--state", x->serve.state,
                   "Folder for everything that must last")
    ->capture_default_str();
  verb->add_option("--listen", x->listen,
                   "Where trainers connect: HOST:PORT, port 0 for any")
    ->capture_default_str();
  verb->add_option("--rpc", x->rpc,
                   "Where clients connect: HOST:PORT, port 0 for any")
    ->capture_default_str();
  verb->add_option("--http", x->http,
                   "Where /healthz, /metrics and /api are: HOST:PORT")
    ->capture_default_str();
  verb->add_option("--keys", x->serve.keys,
                   "Folder of `hippo keys`: who comes in shows a certificate");
  verb->add_flag("--insecure", x->serve.insecure,
                 "Listen to other machines without keys");
  verb->add_option("--trainer-timeout", x->trainer_timeout,
                   "Seconds of silence after which a trainer is given up")
    ->check(CLI::Range(1.0, 86'400.0))
    ->capture_default_str();
  verb->add_option("--stall-timeout", x->stall_timeout,
                   "Seconds that a step may take beyond what is expected")
    ->check(CLI::Range(1.0, 864'000.0))
    ->capture_default_str();
  verb->add_option("--trainers", x->serve.local_trainers,
                   "Trainer processes to start on this machine")
    ->check(CLI::Range(0u, trainers_max))
    ->capture_default_str();
  add_schedule_options(*verb, x->merge, x->policy);
  verb->add_option("--checkpoint-budget", x->serve.checkpoint_bytes_max,
                   "Disk space for checkpoints, e.g. 50GB")
    ->transform(CLI::AsSizeValue(false))
    ->capture_default_str();
  verb->add_option("--log-format", x->log_format, "Form of log lines")
    ->check(CLI::IsMember({"text", "json"}))
    ->capture_default_str();
  x->common.add_to(*verb);
}

void add_gc(verb_table& verbs) {
  const auto x = std::make_shared<gc_options>();
  const auto format = std::make_shared<std::string>("table");
  auto* verb = verbs.add(
    group, "gc", "Give up checkpoints beyond a budget, cheapest first",
    "hippo gc --state /data/hippo --checkpoint-budget 10GB --dry-run",
    [x, format] {
      x->json = *format == "json";
      return gc(*x);
    });
  verb->add_option("--state", x->state, "State folder")->capture_default_str();
  verb->add_option("--checkpoint-budget", x->checkpoint_bytes_max,
                   "Disk space for checkpoints, e.g. 50GB")
    ->transform(CLI::AsSizeValue(false))
    ->capture_default_str();
  verb->add_flag("--dry-run", x->dry_run,
                 "Only say what would go; works while a service runs");
  verb->add_option("-f,--format", *format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
}

void add_simulate(verb_table& verbs) {
  const auto x = std::make_shared<simulate_arguments>();
  auto* verb = verbs.add(
    group, "simulate", "Run studies in virtual time on simulated trainers",
    "hippo simulate a.yaml b.yaml --trainers 40 --profile v100.yaml",
    [x] { return simulate(*x); });
  x->input.studies.add_to(*verb)->required();
  verb
    ->add_option("--profile", x->input.profiles,
                 "What training is like, one file for each workload "
                 "(repeatable)")
    ->required();
  verb->add_option("--trainers", x->options.what.trainers, "Simulated trainers")
    ->required()
    ->check(CLI::Range(1u, simulated_trainers_max));
  verb->add_option("--seed", x->options.what.seed,
                   "Decides the times and failures that are drawn")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
  add_schedule_options(*verb, x->merge, x->policy);
  verb->add_option("--report", x->options.report, "Folder for the report")
    ->capture_default_str();
  x->input.common.add_to(*verb);
}

void add_preview(verb_table& verbs) {
  const auto x = std::make_shared<preview_arguments>();
  auto* verb = verbs.add(
    group, "preview",
    "Say what studies would train, before anything is spent",
    "hippo preview a.yaml b.yaml --trainers 40 --profile v100.yaml",
    [x] { return preview(*x); });
  x->input.studies.add_to(*verb)->required();
  verb->add_option("-f,--format", x->format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
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

struct sequence_arguments {
  sequence_options options;
  std::string format = "table";
  std::string direction = "maximize";
};

int show_sequence(sequence_arguments& x) {
  x.options.json = x.format == "json";
  x.options.minimize = x.direction == "minimize";
  return hippo::show_sequence(x.options);
}

void add_sequence(verb_table& verbs) {
  const auto x = std::make_shared<sequence_arguments>();
  auto* verb = verbs.add(
    group, "sequence",
    "Show a hyper-parameter sequence: pieces, values, a plot",
    "hippo sequence 'cosine: {initial: 0.1, horizon: 80}' --steps 100",
    [x] { return show_sequence(*x); });
  verb->add_option("sequence", x->options.text,
                   "A value as in a study file, in YAML")
    ->required();
  verb->add_option("--steps", x->options.steps, "Steps of the trial")
    ->check(CLI::Range(step_t{1}, shown_steps_max))
    ->capture_default_str();
  verb->add_option("--observe", x->options.observed,
                   "What was measured, e.g. 3:0.5,4:0.5 (reduce_on_plateau)")
    ->delimiter(',');
  verb->add_option("--direction", x->direction,
                   "What is good among measured values")
    ->check(CLI::IsMember({"maximize", "minimize"}))
    ->capture_default_str();
  verb->add_option("--svg", x->options.svg, "Write a picture here");
  verb->add_option("--title", x->options.title,
                   "Of the picture, if not the sequence");
  verb->add_option("-f,--format", x->format, "Output format")
    ->check(CLI::IsMember({"table", "json"}))
    ->capture_default_str();
}

struct check_arguments {
  common_options common;
  check_options check;
  step_t steps = 4;
  std::string device = "cpu";
  unsigned threads = 1;
  std::vector<unsigned> other_threads;
};

int check(check_arguments& x) {
  auto& flags = x.check.flags;
  const auto add = [&](const char* flag, const auto& value) {
    flags.emplace_back(flag);
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
      flags.push_back(std::to_string(value));
    else
      flags.push_back(value);
  };
  add("--steps", x.steps);
  add("--device", x.device);
  add("--threads", x.threads);
  for (const auto n : x.other_threads)
    add("--other-threads", n);
  x.check.trainer_program = x.common.program();
  x.check.libraries = x.common.libraries;
  return hippo::check(x.check);
}

void add_check(verb_table& verbs) {
  const auto x = std::make_shared<check_arguments>();
  auto* verb = verbs.add(
    group, "check",
    "Try whether trials of a workload may share training",
    "hippo check study.yaml, or hippo check train.py --set lr=0.1,0.01",
    [x] { return check(*x); });
  verb->add_option("file", x->check.file, "A study file, or FILE.py[:CLASS]")
    ->required();
  verb
    ->add_option("--set", x->check.values,
                 "Values of a hyper-parameter to try with FILE.py, "
                 "NAME=VALUE,VALUE... (repeatable)")
    ->allow_extra_args(false);
  verb
    ->add_option("--args", x->check.args,
                 "An argument of FILE.py, NAME=VALUE (repeatable)")
    ->allow_extra_args(false);
  verb->add_option("--steps", x->steps, "How far to train each time")
    ->check(CLI::Range(step_t{2}, step_t{100'000}))
    ->capture_default_str();
  verb->add_option("--device", x->device, "cpu or cuda:N")
    ->capture_default_str();
  verb->add_option("--threads", x->threads, "Threads that a CPU trains with")
    ->check(CLI::Range(1u, trainers_max))
    ->capture_default_str();
  verb
    ->add_option("--other-threads", x->other_threads,
                 "Results are to be the same with so many threads as well "
                 "(repeatable)")
    ->check(CLI::Range(1u, trainers_max))
    ->allow_extra_args(false);
  x->common.add_to(*verb);
}

} // namespace

void add_local_verbs(verb_table& verbs) {
  add_run(verbs);
  add_serve(verbs);
  add_gc(verbs);
  add_simulate(verbs);
  add_preview(verbs);
  add_check(verbs);
  add_sequence(verbs);
}

} // namespace hippo
