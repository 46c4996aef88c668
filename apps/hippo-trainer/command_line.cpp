#include "command_line.hpp"

#include <cassert>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <CLI/CLI.hpp>

#include "hippo/base/devices.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/base/span_text.hpp"
#include "hippo/base/text.hpp"
#include "hippo/base/types.hpp"
#include "hippo/base/version.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/model/workload_spec.hpp"

namespace hippo {

namespace {

constexpr std::size_t name_chars_max = 63;

/// Set by Slurm in its jobs: seconds since 1970.
constexpr const char* slurm_end_variable = "SLURM_JOB_END_TIME";

using wall_clock = std::chrono::system_clock;

wall_clock::duration wall_span(double seconds) {
  return std::chrono::duration_cast<wall_clock::duration>(
    std::chrono::duration<double>(seconds));
}

/// Reads the end of a time limit: a span from now on, a time, or seconds since
/// 1970, which are more than any span.
expected<wall_clock::time_point> time_limit_from(const std::string& text) {
  double since_1970 = 0;
  const auto* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, since_1970);
  const bool is_number = code == std::errc{} && stop == end;
  if (const auto span = span_from(text))
    return wall_clock::now() + wall_span(*span);
  if (const auto time = time_from(text))
    return wall_clock::time_point{wall_span(*time)};
  constexpr double latest = 1e11; // the clock counts nanoseconds in 64 bits
  if (is_number && since_1970 > 0 && since_1970 < latest)
    return wall_clock::time_point{wall_span(since_1970)};
  return {errc::invalid_argument,
          "must be a span such as 55m, a time such as 2030-01-31T18:00Z, or "
          "seconds since 1970, found '"
            + text + "'"};
}

/// Takes in a time limit. @returns what is wrong with it
std::optional<error> set_time_limit(const std::string& from,
                                    const std::string& text,
                                    trainer_options& to) {
  const auto until = time_limit_from(text);
  if (!until)
    return error{until.failure().code, from + ": " + until.failure().message};
  to.until = *until;
  const auto now = wall_clock::now();
  if (leaving_time(to) > now)
    return std::nullopt;
  const auto seconds = [](wall_clock::duration span) {
    return duration_text(std::chrono::duration<double>(span).count());
  };
  return error{errc::invalid_argument,
               from + ": "
                 + (*until <= now ? "this time has passed"
                                  : "the end is in " + seconds(*until - now))
                 + ", and leaving takes " + seconds(*until - leaving_time(to))
                 + " (--notice): give a later one"};
}

/// Says what is wrong with the name of a trainer; empty: nothing.
std::string check_trainer_name(const std::string& x) {
  const bool is_name =
    !x.empty() && x.size() <= name_chars_max
    && x.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._")
         == std::string::npos;
  return is_name ? std::string{}
                 : "must be 1 to 63 letters, digits and -._, such as gpu-17, "
                   "found '"
                     + x + "'";
}

/// Reads where a trainer listens for others: HOST, with any port, or HOST:PORT.
/// The host may be `auto_gang_host`.
expected<endpoint> gang_endpoint_from(const std::string& text) {
  auto result = parse_endpoint(text, 0);
  if (!result)
    result = parse_endpoint(text + ":0", 0);
  if (!result)
    return {errc::invalid_argument,
            "must be HOST or HOST:PORT, such as auto, 10.0.0.7 or [::1]:4901, "
            "found '"
              + text + "'"};
  if (result->host == "0.0.0.0" || result->host == "::")
    return {errc::invalid_argument,
            "must be a host by which other trainers reach this one, or auto, "
            "found '"
              + text + "'"};
  return result;
}

} // namespace

wall_clock::time_point leaving_time(const trainer_options& opts) {
  assert(opts.until);
  const auto seconds =
    opts.notice_seconds > 0 ? opts.notice_seconds : opts.grace_seconds * 4 / 3;
  return *opts.until - wall_span(seconds);
}

std::optional<int> parse(int argc, char** argv, trainer_options& opts) {
  CLI::App app{"Trains what a Hippo service leases to it.\n\n"
               "Example: hippo-trainer --connect 10.0.0.5:4848",
               "hippo-trainer"};
  app.set_version_flag("--version",
                       std::string{"hippo-trainer "} + version());
  auto* connect
    = app.add_option("--connect", opts.service,
                     "The service, as HOST:PORT or [ADDRESS]:PORT");
  app.add_option("--workload", opts.libraries,
                 "A shared library with further workloads (repeatable)");
  app.add_option("--device", opts.devices,
                 "cpu, cuda:N (repeatable) or all: every GPU, else the CPU. "
                 "One that cannot be used is reported and skipped")
    ->check(check_device_name)
    ->capture_default_str();
  app.add_option("--threads", opts.threads,
                 "Threads that a CPU trains with: they decide the bits of "
                 "results, as the kind of device does")
    ->check(CLI::Range(1u, threads_max))
    ->capture_default_str();
  app
    .add_option("--prepare-threads", opts.data.prepare_threads,
                "Threads that prepare the next batches of each lease while it "
                "trains, which decide no result; 0: batches are prepared "
                "between training")
    ->check(CLI::Range(0u, threads_max))
    ->capture_default_str();
  app
    .add_option("--data-memory", opts.data.memory_bytes,
                "Memory for the training images of a folder, e.g. 20GB: larger "
                "sets are decoded in each epoch, which decides no result")
    ->transform(CLI::AsSizeValue(false))
    ->default_str("half of the machine's");
  app.add_option("--at-once", opts.at_once,
                 "Leases that each device trains at once, which decides no "
                 "result; its memory limits the number")
    ->check(CLI::Range(1u, lanes_max))
    ->default_str("16 of built-in workloads on a GPU, else 1");
  app
    .add_option("--members", opts.members,
                "Threads of a CPU, or GPUs that are joined to one trainer, "
                "that compute the parts of a built-in workload together, "
                "which decides no result: 1, 2, 4, ...")
    ->check(check_members)
    ->capture_default_str();
  std::string gang_listen;
  app
    .add_option("--gang-listen", gang_listen,
                "Train paths of workloads with parts, or trials of several "
                "ranks, together with other trainers, which reach this one at "
                "HOST[:PORT]. HOST auto: the address by which this one reaches "
                "the service; without a port, any free one. No result depends "
                "on it")
    ->needs(connect);
  app
    .add_option("--ranks", opts.ranks,
                "Train trials of so many processes: GPUs are joined to "
                "trainers of so many each, a CPU trains all of them")
    ->check(CLI::Range(1u, ranks_max))
    ->default_str("1");
  app.add_option("--numerics", opts.numerics,
                 "Train on a CPU what is of these numerics: native (all that "
                 "the CPU has; unless given) or portable (AVX2)")
    ->check(CLI::IsMember({"portable", "native"}));
  app.add_option("--keys", opts.keys,
                 "The file of `hippo keys add NAME --role trainer`");
  app.add_option("--log-format", opts.log.format, "Form of log lines")
    ->check(CLI::IsMember({"text", "json"}))
    ->capture_default_str();
  app
    .add_option("--log-level", opts.log.level,
                "The least important lines of the log")
    ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
    ->capture_default_str();
  auto* grace
    = app
        .add_option("--grace-seconds", opts.grace_seconds,
                    "On SIGTERM, how long the present step may take to end")
        ->check(CLI::NonNegativeNumber)
        ->default_str("30, or three quarters of --notice");
  app
    .add_option("--leave-code", opts.leave_code,
                "The exit code after SIGTERM, where what started this trainer "
                "is to start it again")
    ->check(CLI::Range(0, 255))
    ->capture_default_str();
  app.add_option("--grace", opts.call_grace_seconds,
                 "Seconds from SIGTERM to SIGKILL for the process of training "
                 "that was cancelled and does not return. Training inside of "
                 "this process has as long; then the trainer starts anew")
    ->check(CLI::Range(0.0, 86'400.0))
    ->capture_default_str();
  app.add_option("--notice", opts.notice_seconds,
                 "Seconds between SIGTERM and the end of the machine, where "
                 "that may be taken away")
    ->check(CLI::Range(1u, notice_seconds_max));
  std::string until;
  app
    .add_option("--until", until,
                "The end of its time limit, such as 55m, 2030-01-31T18:00Z or "
                "seconds since 1970: it leaves before, and begins nothing "
                "that takes longer. In a Slurm job, the end of the job")
    ->needs(connect);
  app.add_option("--machine", opts.machine,
                 "The kind of this machine, by its name in the list of "
                 "machines of `hippo serve --machines`; unless given, by the "
                 "device");
  app
    .add_option("--name", opts.name,
                "A name in place of the host's, by which the service knows "
                "this trainer")
    ->check(check_trainer_name);
  auto* describe = app.add_flag(
    "--describe", opts.describe,
    "Print, as JSON, the workloads that this trainer knows, and exit");
  auto* prepare_study =
    app.add_option("--prepare", opts.prepare,
                   "Try whether the workload of this study can be trained, "
                   "and exit");
  app
    .add_option("--initial-files", opts.initial_files,
                "With --prepare: a folder with the files of initial states, by "
                "their digests, where they are no longer at the study's path")
    ->needs(prepare_study);
  auto* check_study = app.add_option(
    "--check,--prove", opts.check,
    "Try whether trials of this study may share training, and exit");
  auto* measure_study = app.add_option(
    "--measure", opts.measure,
    "Print how long training of this study takes, as a profile, and exit");
  app.add_flag("--repeat", opts.repeat,
               "With --measure: again and again until this is ended, as load "
               "beside one that measures")
    ->needs(measure_study);
  app
    .add_option("--steps", opts.proof.steps,
                "How far to train for --check and --measure")
    ->check(CLI::Range(step_t{2}, step_t{100'000}))
    ->capture_default_str();
  app
    .add_option("--other-threads", opts.proof.other_threads,
                "For --check: results are to be the same with so many threads "
                "(repeatable)")
    ->check(CLI::Range(1u, threads_max))
    ->needs(check_study);
  app
    .add_option("--other-members", opts.proof.other_members,
                "The same with so many members of a workload with parts; for "
                "--measure: how many times as fast they are (repeatable)")
    ->check(check_members);
  app.add_option("--python", opts.python,
                 "The interpreter for studies that name none")
    ->capture_default_str();
  app.add_flag("--no-code", opts.no_code,
               "Train only what is built in or in a library, no code that "
               "studies bring");
  auto* weights = app.add_option(
    "--export", opts.weights,
    "Write the weights that --recipe leads to into this file, and exit");
  auto* recipe = app.add_option("--recipe", opts.recipe,
                                "A file that `hippo best` writes");
  weights->needs(recipe);
  recipe->needs(weights);
  app
    .add_option("--kind", opts.kind,
                "For --export: train nothing as another kind of device")
    ->needs(weights);
  app.add_option("--parent", opts.parent,
                 "End when the process with this number ends");
  auto* life = app.add_option("--life", opts.life)->group(""); // for itself
  app.require_option(1, 0);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_done : exit_usage;
  }
  opts.command.assign(argv, argv + argc);
  for (const std::string_view word : opts.command)
    if (word == "--prove" || word.starts_with("--prove="))
      std::cerr << "warning: --prove is now --check; the next release refuses "
                   "the former name\n";
  if (!life->empty()) // comes last
    opts.command.resize(opts.command.size() - 2);
  // The rest of the notice is for the checkpoint and the report.
  if (opts.notice_seconds > 0 && grace->empty())
    opts.grace_seconds = opts.notice_seconds * 0.75;
  // Trainers with a parent end with it.
  const char* const job_end = !connect->empty() && opts.parent == 0
                                ? std::getenv(slurm_end_variable)
                                : nullptr;
  std::optional<error> refused;
  if (!until.empty())
    refused = set_time_limit("--until", until, opts);
  else if (job_end != nullptr && *job_end != '\0')
    refused = set_time_limit(slurm_end_variable, job_end, opts);
  if (!gang_listen.empty()) {
    if (const auto where = gang_endpoint_from(gang_listen))
      opts.gang_listen = *where;
    else
      refused = {errc::invalid_argument,
                 "--gang-listen: " + where.failure().message};
    if (opts.members > 1)
      refused = {errc::invalid_argument,
                 "--members joins devices of one trainer, and --gang-listen "
                 "joins trainers: give one of them"};
  }
  if (!opts.proof.other_members.empty() && check_study->empty()
      && measure_study->empty())
    refused = {errc::invalid_argument,
               "--other-members requires --check or --measure"};
  if (opts.members > 1 && opts.ranks.value_or(1) > 1)
    refused = {errc::invalid_argument,
               "--members is for built-in workloads, and --ranks for code that "
               "studies bring: give one of them"};
  if (refused)
    return fail(*refused, exit_usage);
  if (connect->empty() && describe->empty() && prepare_study->empty()
      && check_study->empty() && measure_study->empty() && weights->empty())
    return fail({errc::invalid_argument,
                 "one of --connect, --describe, --prepare, --check, --measure "
                 "and --export is needed"},
                exit_usage);
  return std::nullopt;
}

} // namespace hippo
