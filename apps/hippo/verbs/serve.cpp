#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "common_options.hpp"
#include "hippo/base/devices.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/net/keys/private_file.hpp"
#include "machine_list.hpp"
#include "outcome.hpp"
#include "service_node.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

/// How often it looks for what studies wait.
constexpr auto waits_interval = 2s;

/// What `hippo serve` was asked for.
struct serve_options {
  node_options node;
  bool insecure = false; ///< whether others may connect without TLS
  /// It ends when no client was there for so long; nothing: it goes on.
  std::optional<std::chrono::milliseconds> linger;
  double grace_seconds = grace_seconds_usual;
};

/// Works until it is interrupted, is left alone for too long or cannot go on.
std::optional<error> follow(service_node& node,
                            std::optional<std::chrono::milliseconds> linger) {
  using clock = std::chrono::steady_clock;
  auto seen = clock::now();
  auto next_look = seen;
  while (!interrupt_guard::is_asked()) {
    if (node.entry().clients() > 0)
      seen = clock::now();
    else if (linger && clock::now() - seen > *linger)
      break;
    if (auto why = node.hear({}))
      return why;
    node.trainers().revive(say);
    if (clock::now() < next_look)
      continue;
    node.waits().look(node.actors(), [](const std::string& x) {
      spdlog::warn("serve: {}", x);
    });
    next_look = clock::now() + waits_interval;
  }
  return std::nullopt;
}

/// Says which address would let others in without keys, if one does and nobody
/// wants that.
std::optional<error> find_unprotected_port(const serve_options& x) {
  if (!x.node.keys.empty() || x.insecure)
    return std::nullopt;
  auto ports = std::vector{x.node.trainers, x.node.clients, x.node.people};
  if (x.node.visitors)
    ports.push_back(*x.node.visitors);
  for (const auto& where : ports)
    if (!is_loopback(where))
      return error{errc::not_allowed,
                   to_text(where)
                     + " can be reached from other machines: give --keys with "
                       "the folder that `hippo keys init` makes, or --insecure "
                       "to let everybody in"};
  return std::nullopt;
}

/// Says where the service is, and who ought not to be there.
void tell(const service_node& node, bool insecure) {
  // A folder that was there may be meant to be read by trainers of other users.
  if (auto why = check_private_folder(node.state()))
    spdlog::warn("serve: {}", why->message);
  if (insecure)
    spdlog::warn("serve: --insecure: everybody who reaches the ports of this "
                 "service can use it, read all results and run trainings");
  if (!node.objects().empty())
    say("checkpoints are in " + node.objects());
  say("trainers connect to " + node.trainer_address());
  say("clients connect to " + node.client_address());
  say("people look at " + node.page());
  if (const auto page = node.visitors_page(); !page.empty())
    say("people with a token look at " + page + " (hippo token new makes one)");
}

/// Runs a service until it is interrupted: goes on with the studies that have
/// not ended, takes in trainers and serves clients.
/// @returns the exit code: 0 interrupted, which is how it ends; 1 failed
int serve(service_node& node, const serve_options& options) {
  if (auto why = node.announce())
    return fail(*why, exit_failed);
  tell(node, options.insecure);
  if (const auto broken = follow(node, options.linger))
    return fail(*broken, exit_failed);
  const auto* const why =
    interrupt_guard::is_asked() ? "interrupted" : "no client is left";
  spdlog::info("serve: {}", why);
  say(std::string{why}
      + ": the trainers finish their present steps "
        "and save them");
  static_cast<void>(node.wind_down(options.grace_seconds, {}, [] {}));
  return exit_done;
}

/// @returns the exit code: that of a service, or 2 for bad input
int serve(serve_options options) {
  if (auto why = find_unprotected_port(options))
    return fail(*why, exit_bad_input);
  if (!options.node.keys.empty() && !options.node.local.devices.empty())
    return fail({errc::invalid_argument,
                 "--trainers starts trainers without keys, which --keys keeps "
                 "out: start hippo-trainer with a key of its own"},
                exit_bad_input);
  auto node = std::move(options.node);
  node.stays = true;
  return with_node(std::move(node),
                   [&](service_node& x) { return serve(x, options); });
}

struct serve_arguments {
  common_options common;
  std::string listen = "127.0.0.1:4848";
  std::string rpc = "127.0.0.1:4849";
  std::string http = "127.0.0.1:4850";
  std::string people;
  double trainer_timeout = 15;
  double stall_timeout = 600;
  double first_step_timeout = 21'600;
  std::optional<double> linger;
  std::vector<std::string> devices;
  std::optional<unsigned> trainers;
  std::uint32_t ranks = 1;
  machine_list machines;
  log_options log;
  schedule_options schedule;
  serve_options serve;
};

int serve(serve_arguments& x) {
  auto& node = x.serve.node;
  struct {
    const char* flag;
    const std::string& text;
    endpoint& out;
  } addresses[] = {{"--listen", x.listen, node.trainers},
                   {"--rpc", x.rpc, node.clients},
                   {"--http", x.http, node.people}};
  for (auto& [flag, text, out] : addresses) {
    const auto read = parse_endpoint(text, 0);
    if (!read)
      return fail({read.failure().code,
                   std::string{flag} + ": " + read.failure().message},
                  exit_bad_input);
    out = *read;
  }
  if (!x.people.empty()) {
    const auto read = parse_endpoint(x.people, 0);
    if (!read)
      return fail({read.failure().code, "--people: " + read.failure().message},
                  exit_bad_input);
    node.visitors = *read;
  }
  node.local.devices.clear();
  if (x.trainers.value_or(x.devices.empty() ? 0 : 1) > 0) {
    if (x.devices.empty())
      x.devices = {"cpu"};
    auto devices = devices_of_trainers(x.devices, x.trainers, machine_cores());
    if (!devices)
      return fail(devices.failure(), exit_bad_input);
    node.local.devices = std::move(*devices);
    node.local.ranks = {x.ranks};
  }
  auto catalogue = make_catalogue(x.common.program(), x.common.libraries);
  if (!catalogue)
    return fail(catalogue.failure(), exit_bad_input);
  node.catalogue = std::move(*catalogue);
  const auto duration = [](double seconds) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
  };
  if (!x.machines.load(node.machines))
    return exit_bad_input;
  node.no_prices = x.machines.why_no_prices();
  node.shown_log = x.log;
  node.trainer_timeout = duration(x.trainer_timeout);
  node.stall_timeout = duration(x.stall_timeout);
  node.first_step_timeout = duration(x.first_step_timeout);
  if (x.linger)
    x.serve.linger = duration(*x.linger);
  node.merge = x.schedule.merges();
  node.gangs = x.schedule.joins();
  node.policy = x.schedule.policy();
  node.placement = x.schedule.places();
  return serve(std::move(x.serve));
}

} // namespace

void add_serve(verb_table& verbs) {
  const auto x = std::make_shared<serve_arguments>();
  auto* verb = verbs.add(
    local_group, "serve", "Run a service that studies and trainers come to",
    "hippo serve --state /data/hippo --listen 127.0.0.1:4848",
    [x] { return serve(*x); });
  verb
    ->add_option("--state", x->serve.node.state,
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
  verb->add_option("--people", x->people,
                   "Where the page is for people who have a token of `hippo "
                   "token`, without a certificate: HOST:PORT");
  verb->add_option("--keys", x->serve.node.keys,
                   "Folder of `hippo keys`: who comes in shows a certificate");
  verb->add_flag("--insecure", x->serve.insecure,
                 "Listen to other machines without keys");
  verb->add_flag("--notify-private", x->serve.node.notifies_private,
                 "Let `notify` of studies reach addresses of this machine and "
                 "of private networks");
  verb->add_option("--trainer-timeout", x->trainer_timeout,
                   "Seconds of silence after which a trainer is given up")
    ->check(CLI::Range(1.0, 86'400.0))
    ->capture_default_str();
  verb->add_option("--stall-timeout", x->stall_timeout,
                   "Seconds that a step or a measurement may take, or ten "
                   "times what it usually takes if that is longer")
    ->check(CLI::Range(1.0, 864'000.0))
    ->capture_default_str();
  verb->add_option("--first-step-timeout", x->first_step_timeout,
                   "Seconds until a workload's first step or measurement, as "
                   "long as none was timed")
    ->check(CLI::Range(1.0, 8'640'000.0))
    ->capture_default_str();
  verb->add_option("--trainers", x->trainers,
                   "Trainer processes to start on this machine's CPU")
    ->check(CLI::Range(0u, trainers_max))
    ->default_str("0");
  verb->add_option("--device", x->devices,
                   "Start a trainer on cuda:N (repeatable) or all GPUs, or one "
                   "for each core on cpu")
    ->check(check_device_name)
    ->allow_extra_args(false);
  add_threads(*verb, x->serve.node.local.threads);
  add_at_once(*verb, x->serve.node.local.at_once);
  add_prepare_threads(*verb, x->serve.node.local.prepare_threads);
  add_data_memory(*verb, x->serve.node.local.data_memory_bytes);
  add_members(*verb, x->serve.node.local.members);
  verb
    ->add_option("--ranks", x->ranks,
                 "Processes of each trial that these trainers train")
    ->check(CLI::Range(1u, ranks_max))
    ->capture_default_str();
  verb->add_option("--linger", x->linger,
                   "End when no client has been connected for so many seconds; "
                   "the next service on the folder goes on")
    ->check(CLI::Range(0.1, 86'400.0));
  x->machines.add_to(*verb);
  x->schedule.add_to(*verb);
  add_checkpoint_budget(*verb, x->serve.node.checkpoint_bytes_max, "50GB");
  x->serve.node.objects.add_to(*verb);
  add_grace(*verb, x->serve.grace_seconds);
  add_call_grace(*verb, x->serve.node.local.grace_seconds);
  verb
    ->add_option("--memory-limit", x->serve.node.memory_bytes_max,
                 "What the service may hold in memory, e.g. 2GiB: a quarter, "
                 "256 MiB at most, for those who are connected, the rest for "
                 "studies and plans; beyond it new studies are refused, and "
                 "those that take more than their part rest")
    ->transform(CLI::AsSizeValue(false))
    ->check(CLI::PositiveNumber)
    ->default_str("no limit");
  verb->add_option("--log-format", x->log.format, "Form of log lines")
    ->check(CLI::IsMember({"text", "json"}))
    ->capture_default_str();
  verb
    ->add_option("--log-level", x->log.level,
                 "The least important lines of the log; debug has the requests "
                 "of clients")
    ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
    ->capture_default_str();
  x->common.add_to(*verb);
}

} // namespace hippo
