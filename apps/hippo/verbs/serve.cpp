#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "common_options.hpp"
#include "event_trace.hpp"
#include "gateway/gateway.hpp"
#include "graceful_shutdown.hpp"
#include "hippo/base/devices.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/checkpoint/folder_token.hpp"
#include "hippo/net/keys/key_folder.hpp"
#include "hippo/net/keys/private_file.hpp"
#include "hippo/net/keys/rpc_tls.hpp"
#include "hippo/net/wire/exceptions.hpp"
#include "hippo/store/state_writer.hpp"
#include "interrupts.hpp"
#include "local_trainers.hpp"
#include "log_format.hpp"
#include "machine_list.hpp"
#include "network/trainer_port.hpp"
#include "object_place.hpp"
#include "outcome.hpp"
#include "returning_studies.hpp"
#include "service.hpp"
#include "service_file.hpp"
#include "studies.hpp"
#include "study_waits.hpp"
#include "system_config.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

/// How often the service looks after its trainers and for interrupts.
constexpr auto look_interval = 250ms;

/// How often it looks for what studies wait.
constexpr auto waits_interval = 2s;

/// How long to wait before what could not be stored is tried again.
constexpr auto store_retry = 1s;

/// What `hippo serve` was asked for.
struct serve_options {
  workload_catalogue catalogue;
  std::string state = "hippo-state"; ///< folder for everything that must last
  endpoint trainers{"127.0.0.1", 4848}; ///< where trainers connect
  endpoint clients{"127.0.0.1", 4849};  ///< where clients do, over RPC
  endpoint people{"127.0.0.1", 4850};   ///< and over HTTP
  std::optional<endpoint> visitors; ///< people with tokens; nothing: nowhere
  std::string keys;      ///< folder of `hippo keys`; empty: no TLS
  bool insecure = false; ///< whether others may connect without TLS
  local_trainer_options local; ///< started on this machine
  /// It ends when no client was there for so long; nothing: it goes on.
  std::optional<std::chrono::milliseconds> linger;
  /// After this time without a heartbeat a trainer is treated as dead.
  std::chrono::milliseconds trainer_timeout{15'000};
  /// A lease ends if a step takes this much longer than expected.
  std::chrono::milliseconds stall_timeout{600'000};
  /// The same where nobody has measured what is to be expected.
  std::chrono::milliseconds first_step_timeout{21'600'000};
  hippo::policy policy = hippo::policy::critical_path;
  placement_rule placement = placement_rule::advantage;
  bool merge = true;
  std::uint64_t checkpoint_bytes_max = 20ull << 30; ///< of all workloads
  std::optional<std::uint64_t> memory_bytes_max; ///< of all that it holds
  object_options objects; ///< where checkpoints are
  machine_list machine_file;
  std::optional<fleet> machines; ///< that trainers are on; nothing: not known
  double grace_seconds = grace_seconds_usual;
  log_options log;
};

void say(const std::string& text) { std::cerr << "hippo: " << text << '\n'; }

/// The memory that is held on behalf of those who are connected.
std::uint64_t room_of_peers(const serve_options& x) {
  return std::min(byte_ledger::default_room,
                  x.memory_bytes_max.value_or(UINT64_MAX) / 4);
}

service_options options_of(const serve_options& x,
                           std::shared_ptr<state_writer> store,
                           std::shared_ptr<thinking> where) {
  service_options result;
  result.coordinator.workloads = x.catalogue.workloads;
  result.coordinator.policy = x.policy;
  result.coordinator.merge = x.merge;
  result.coordinator.checkpoint_bytes_max = x.checkpoint_bytes_max;
  if (x.memory_bytes_max)
    result.coordinator.memory_bytes_max
      = *x.memory_bytes_max - room_of_peers(x);
  result.coordinator.cold_folder = x.state;
  result.coordinator.where = std::move(where);
  result.coordinator.keep_ended = false;
  result.coordinator.restores = true;
  result.coordinator.stall_max = x.stall_timeout;
  result.coordinator.unmeasured_stall_max = x.first_step_timeout;
  result.pool.silence_max = x.trainer_timeout;
  result.pool.placement = x.placement;
  result.pool.machines = x.machines;
  result.store = std::move(store);
  result.store_retry = store_retry;
  return result;
}

/// Works until it is interrupted, is left alone for too long or cannot go on.
std::optional<error> follow(service& svc, local_trainers& trainers,
                            const gateway& entry, study_waits& waits,
                            returning_studies& returning,
                            std::optional<std::chrono::milliseconds> linger) {
  using clock = std::chrono::steady_clock;
  std::optional<error> broken;
  auto seen = clock::now();
  auto next_look = seen;
  while (!broken && !interrupt_guard::is_asked()) {
    if (entry.clients() > 0)
      seen = clock::now();
    else if (linger && clock::now() - seen > *linger)
      break;
    svc.self()->receive([](notify_atom, const trial_event&) {},
                        [](notify_atom, const study_end&) {},
                        [&](notify_atom, const study_start& x) {
                          returning.note(x);
                        },
                        [&](notify_atom, const found_studies& x) {
                          broken = returning.note(x);
                        },
                        [&](const caf::down_msg& msg) {
                          broken = error{errc::io_failed,
                                         "the service cannot go on: its "
                                           + svc.name_of(msg.source)
                                           + " has ended: "
                                           + to_string(msg.reason)};
                        },
                        caf::after(look_interval) >> [] {});
    returning.look();
    trainers.revive(say);
    if (broken || clock::now() < next_look)
      continue;
    waits.look(svc, [](const std::string& x) { spdlog::warn("serve: {}", x); });
    next_look = clock::now() + waits_interval;
  }
  return broken;
}

/// Lets trainers end their present steps.
void wind_up(service& svc, double grace_seconds) {
  graceful_shutdown halted{svc, grace_seconds};
  while (!halted.is_over())
    svc.self()->receive([](notify_atom, const trial_event&) {},
                        [](notify_atom, const study_end&) {},
                        [](notify_atom, const study_start&) {},
                        [](notify_atom, const found_studies&) {},
                        [](const caf::down_msg&) {},
                        caf::after(look_interval) >> [] {});
}

/// Says which address would let others in without keys, if one does and nobody
/// wants that.
std::optional<error> find_unprotected_port(const serve_options& x) {
  if (!x.keys.empty() || x.insecure)
    return std::nullopt;
  auto ports = std::vector{x.trainers, x.clients, x.people};
  if (x.visitors)
    ports.push_back(*x.visitors);
  for (const auto& where : ports)
    if (!is_loopback(where))
      return error{errc::not_allowed,
                   to_text(where)
                     + " can be reached from other machines: give --keys with "
                       "the folder that `hippo keys init` makes, or --insecure "
                       "to let everybody in"};
  return std::nullopt;
}

/// Lets clients and trainers in by their certificates.
expected<authenticator> make_authenticator(const credentials& shown,
                                           kj::Timer& timer) {
  auto made = rpc_tls_service::make(shown, timer);
  if (!made)
    return made.failure();
  const auto service = std::make_shared<rpc_tls_service>(std::move(*made));
  return authenticator{[service](kj::AuthenticatedStream stream) {
    return service->accept(kj::mv(stream))
      .then(
        [service](admitted_peer peer) {
          return admitted_connection{kj::mv(peer.stream),
                                     peer.holder.role == key_role::trainer
                                       ? peer_role::trainer
                                       : peer_role::client,
                                     to_text(peer.holder)};
        },
        [](kj::Exception&& why) -> admitted_connection {
          kj::throwFatalException(exception_saying(explain(why)));
        });
  }};
}

/// Speaks TLS with everybody: who they are, tokens say.
expected<authenticator> make_tls_for_people(const credentials& shown,
                                            kj::Timer& timer) {
  auto made = open_tls_service::make(shown, timer);
  if (!made)
    return made.failure();
  const auto service = std::make_shared<open_tls_service>(std::move(*made));
  return authenticator{[service](kj::AuthenticatedStream stream) {
    return service->accept(kj::mv(stream))
      .then([](kj::Own<kj::AsyncIoStream> secured) {
        return admitted_connection{kj::mv(secured), peer_role::anybody, {}};
      });
  }};
}

/// What the service shows on its ports, and whom it lets in there.
struct service_keys {
  credentials trainers;
  credentials clients;
};

expected<service_keys> load_keys(const std::string& folder) {
  auto keys = key_folder::open(folder);
  if (!keys)
    return keys.failure();
  const auto now = now_seconds();
  auto trainers = keys->serving({key_role::trainer}, now);
  if (!trainers)
    return trainers.failure();
  // Trainers come here as well, for checkpoints.
  auto clients = keys->serving({key_role::trainer, key_role::client}, now);
  if (!clients)
    return clients.failure();
  return service_keys{std::move(*trainers), std::move(*clients)};
}

gateway_options gateway_of(const serve_options& x, service& svc,
                           const std::optional<service_keys>& keys,
                           std::shared_ptr<thinking> where,
                           std::shared_ptr<byte_ledger> held) {
  gateway_options result;
  result.held = std::move(held);
  result.sources = {x.state,         x.state + "/hippo.log",
                    x.catalogue.workloads, svc.coordinator(),
                    svc.pool(),      svc.journal(),
                    std::move(where),
                    x.checkpoint_bytes_max, x.machine_file.why_no_prices()};
  result.rpc_host = x.clients.host;
  result.rpc_port = x.clients.port;
  result.http_host = x.people.host;
  result.http_port = x.people.port;
  if (keys)
    result.make_authenticator = [shown = keys->clients](kj::Timer& timer) {
      return make_authenticator(shown, timer);
    };
  if (!x.visitors)
    return result;
  result.people = {x.visitors->host, x.visitors->port, {}};
  if (keys)
    result.people->make_authenticator = [shown =
                                           keys->clients](kj::Timer& timer) {
      return make_tls_for_people(shown, timer);
    };
  return result;
}

trainer_port_options port_of(const serve_options& x,
                             const std::optional<service_keys>& keys,
                             std::shared_ptr<byte_ledger> held) {
  trainer_port_options result;
  result.held = std::move(held);
  result.where = x.trainers;
  if (keys)
    result.keys = keys->trainers;
  result.silence_max = x.trainer_timeout;
  return result;
}

/// Logs to standard error and, for `hippo logs`, to a file.
void start_log(const serve_options& x) {
  const auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  sinks->add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  sinks->add_sink(make_log_files(x.state + "/hippo.log"));
  log_to(sinks, "hippo", x.log);
  spdlog::flush_every(std::chrono::seconds(1));
}

/// Runs a service until it is interrupted: goes on with the studies that have
/// not ended, takes in trainers and serves clients.
/// @returns the exit code: 0 interrupted, which is how it ends; 1 failed, 2 bad
///          input
int serve(serve_options options,
          const std::shared_ptr<thinking_pool>& where) {
  if (auto why = find_unprotected_port(options))
    return fail(*why, exit_bad_input);
  if (!options.keys.empty() && !options.local.devices.empty())
    return fail({errc::invalid_argument,
                 "--trainers starts trainers without keys, which --keys keeps "
                 "out: start hippo-trainer with a key of its own"},
                exit_bad_input);
  std::optional<service_keys> keys;
  if (!options.keys.empty()) {
    auto loaded = load_keys(options.keys);
    if (!loaded)
      return fail(loaded.failure(), exit_bad_input);
    keys = std::move(*loaded);
  }
  // Trainers on other machines must not read it as relative to theirs.
  options.state = std::filesystem::absolute(options.state).string();
  auto store = state_writer::open(options.state);
  if (!store)
    return fail(store.failure(), exit_bad_input);
  start_log(options);
  std::shared_ptr<trace_log> trace;
  if (auto why = open_trace(trace))
    return fail(*why, exit_bad_input);
  // A folder that was there may be meant to be read by trainers of other users.
  if (auto why = check_private_folder(options.state))
    spdlog::warn("serve: {}", why->message);
  if (options.insecure)
    spdlog::warn("serve: --insecure: everybody who reaches the ports of this "
                 "service can use it, read all results and run trainings");
  auto board = waiting_board::make(options.state);
  if (!board)
    return fail(board.failure(), exit_failed);
  study_waits waits{std::move(*board)};
  const interrupt_guard guard;
  std::shared_ptr<state_writer> folder{std::move(*store)};
  auto objects = find_object_place(options.state, options.objects);
  if (!objects)
    return fail(objects.failure(), exit_bad_input);
  if (auto why = leave_object_place(options.state, *objects))
    return fail(*why, exit_failed);
  auto token = leave_folder_token(folder->checkpoints());
  if (!token)
    return fail(token.failure(), exit_failed);
  system_config config;
  caf::actor_system system{config};
  const auto held = std::make_shared<byte_ledger>("clients and trainers",
                                                  room_of_peers(options));
  auto setup = options_of(options, folder, where);
  setup.pool.held = held;
  setup.coordinator.folder_token = *token;
  setup.trace = trace;
  if (*objects) {
    keep_in_objects(setup, **objects, folder->checkpoints());
    say("checkpoints are in " + setup.coordinator.objects);
  }
  service svc{system, std::move(setup)};
  if (auto why = svc.open())
    return fail(*why, exit_failed);
  auto entrances = gateway_of(options, svc, keys, where, held);
  entrances.sources.objects = text_of(*objects);
  gateway entry{system, std::move(entrances)};
  if (auto why = entry.open())
    return fail(*why, exit_failed);
  options.clients.port = entry.rpc_port();
  options.people.port = entry.http_port();
  svc.self()->send(svc.coordinator(), depot_atom::value,
                   std::uint16_t{entry.rpc_port()});
  trainer_port listener{system, caf::actor_cast<registrar_actor>(svc.pool()),
                        port_of(options, keys, held)};
  const auto port = listener.open();
  if (!port)
    return fail(port.failure(), exit_failed);
  options.trainers.port = *port;
  returning_studies returning{svc,
                              where,
                              {options.state, options.catalogue.workloads,
                               options.machines.has_value()},
                              say};
  local_trainers trainers;
  if (auto why = trainers.start(options.catalogue, options.local, *port,
                                options.state + "/logs"))
    return fail(*why, exit_failed);
  const std::string scheme = keys ? "https://" : "http://";
  std::string visitors;
  if (options.visitors) {
    options.visitors->port = entry.people_port();
    visitors = scheme + to_text(*options.visitors) + "/";
  }
  service_file known{options.state};
  if (auto why = known.write(options.trainers, options.clients, options.people,
                             keys.has_value(), visitors))
    return fail(*why, exit_failed);
  say("trainers connect to " + to_text(options.trainers));
  say("clients connect to " + to_text(options.clients));
  say("people look at " + scheme + to_text(options.people) + "/");
  if (!visitors.empty())
    say("people with a token look at " + visitors
        + " (hippo token new makes one)");
  const auto broken = follow(svc, trainers, entry, waits, returning,
                             options.linger);
  if (!broken) {
    const auto* const why
      = interrupt_guard::is_asked() ? "interrupted" : "no client is left";
    spdlog::info("serve: {}", why);
    say(std::string{why} + ": the trainers finish their present steps "
                            "and save them");
    wind_up(svc, options.grace_seconds);
  }
  entry.close();
  svc.close();
  trainers.wait();
  return broken ? fail(*broken, exit_failed) : exit_done;
}

int serve(serve_options options) {
  const auto where = std::make_shared<thinking_pool>();
  return end_thinking(*where, serve(std::move(options), where));
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
  schedule_options schedule;
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
  if (!x.people.empty()) {
    const auto read = parse_endpoint(x.people, 0);
    if (!read)
      return fail({read.failure().code, "--people: " + read.failure().message},
                  exit_bad_input);
    x.serve.visitors = *read;
  }
  x.serve.local.devices.clear();
  if (x.trainers.value_or(x.devices.empty() ? 0 : 1) > 0) {
    if (x.devices.empty())
      x.devices = {"cpu"};
    auto devices = devices_of_trainers(x.devices, x.trainers, machine_cores());
    if (!devices)
      return fail(devices.failure(), exit_bad_input);
    x.serve.local.devices = std::move(*devices);
  }
  auto catalogue = make_catalogue(x.common.program(), x.common.libraries);
  if (!catalogue)
    return fail(catalogue.failure(), exit_bad_input);
  x.serve.catalogue = std::move(*catalogue);
  const auto duration = [](double seconds) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
  };
  if (!x.serve.machine_file.load(x.serve.machines))
    return exit_bad_input;
  x.serve.trainer_timeout = duration(x.trainer_timeout);
  x.serve.stall_timeout = duration(x.stall_timeout);
  x.serve.first_step_timeout = duration(x.first_step_timeout);
  if (x.linger)
    x.serve.linger = duration(*x.linger);
  x.serve.merge = x.schedule.merges();
  x.serve.policy = x.schedule.policy();
  x.serve.placement = x.schedule.places();
  return serve(std::move(x.serve));
}

} // namespace

void add_serve(verb_table& verbs) {
  const auto x = std::make_shared<serve_arguments>();
  auto* verb = verbs.add(
    local_group, "serve", "Run a service that studies and trainers come to",
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
  verb->add_option("--people", x->people,
                   "Where the page is for people who have a token of `hippo "
                   "token`, without a certificate: HOST:PORT");
  verb->add_option("--keys", x->serve.keys,
                   "Folder of `hippo keys`: who comes in shows a certificate");
  verb->add_flag("--insecure", x->serve.insecure,
                 "Listen to other machines without keys");
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
  add_threads(*verb, x->serve.local.threads);
  add_at_once(*verb, x->serve.local.at_once);
  verb->add_option("--linger", x->linger,
                   "End when no client has been connected for so many seconds; "
                   "the next service on the folder goes on")
    ->check(CLI::Range(0.1, 86'400.0));
  x->serve.machine_file.add_to(*verb);
  x->schedule.add_to(*verb);
  add_checkpoint_budget(*verb, x->serve.checkpoint_bytes_max, "50GB");
  x->serve.objects.add_to(*verb);
  add_grace(*verb, x->serve.grace_seconds);
  add_call_grace(*verb, x->serve.local.grace_seconds);
  verb
    ->add_option("--memory-limit", x->serve.memory_bytes_max,
                 "What the service may hold in memory, e.g. 2GiB: a quarter, "
                 "256 MiB at most, for those who are connected, the rest for "
                 "studies and plans; beyond it new studies are refused, and "
                 "those that take more than their part rest")
    ->transform(CLI::AsSizeValue(false))
    ->check(CLI::PositiveNumber)
    ->default_str("no limit");
  verb->add_option("--log-format", x->serve.log.format, "Form of log lines")
    ->check(CLI::IsMember({"text", "json"}))
    ->capture_default_str();
  verb
    ->add_option("--log-level", x->serve.log.level,
                 "The least important lines of the log; debug has the requests "
                 "of clients")
    ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
    ->capture_default_str();
  x->common.add_to(*verb);
}

} // namespace hippo
