#include "serve.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "gateway/gateway.hpp"
#include "hippo/keys/key_folder.hpp"
#include "hippo/keys/rpc_tls.hpp"
#include "hippo/store/state_writer.hpp"
#include "hippo/train/folder_token.hpp"
#include "interrupts.hpp"
#include "local_trainers.hpp"
#include "log_format.hpp"
#include "network.hpp"
#include "outcome.hpp"
#include "service.hpp"
#include "system_config.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// How often the service looks after its trainers and for interrupts.
constexpr auto look_interval = 250ms;

/// How long trainers may take to end their present step.
constexpr auto trainer_patience = 10s;

/// How long to wait before what could not be stored is tried again.
constexpr auto store_retry = 1s;

void say(const std::string& text) { std::cerr << "hippo: " << text << '\n'; }

service_options options_of(const serve_options& x,
                           std::shared_ptr<state_writer> store) {
  service_options result;
  result.coordinator.workloads = x.catalogue.workloads;
  result.coordinator.policy = x.policy;
  result.coordinator.merge = x.merge;
  result.coordinator.checkpoint_bytes_max = x.checkpoint_bytes_max;
  result.coordinator.keep_ended = false;
  result.coordinator.stall_max = x.stall_timeout;
  result.pool.silence_max = x.trainer_timeout;
  result.store = std::move(store);
  result.store_retry = store_retry;
  return result;
}

/// Goes on with the studies that have not ended.
std::optional<error> restore(service& svc, state_reader& known,
                             const workload_catalogue& catalogue) {
  auto studies = known.load_studies();
  if (!studies)
    return studies.failure();
  for (const auto& x : *studies) {
    if (has_ended(x.state))
      continue;
    auto stored = known.load_study(std::to_string(x.id));
    if (!stored)
      return stored.failure();
    auto read
      = load_study(stored->text, stored->file, catalogue.workloads, true);
    if (!read.study) {
      for (const auto& why : read.errors)
        say("study " + std::to_string(x.id) + " (" + x.name
            + ") cannot go on: " + to_text(why));
      continue;
    }
    if (auto id = svc.submit({std::move(*read.study), *stored}); !id)
      return id.failure();
    say("study " + std::to_string(x.id) + " (" + x.name + ") goes on");
  }
  return std::nullopt;
}

/// Works until it is interrupted or cannot go on.
std::optional<error> follow(service& svc, local_trainers& trainers) {
  std::optional<error> broken;
  while (!broken && interrupt_guard::count() == 0) {
    svc.self()->receive([](told_atom, const trial_event&) {},
                        [](told_atom, const study_end&) {},
                        [&](const caf::down_msg& msg) {
                          broken = error{errc::io_failed,
                                         "the service cannot go on: "
                                           + to_string(msg.reason)};
                        },
                        caf::after(look_interval) >> [] {});
    trainers.revive(say);
  }
  return broken;
}

/// Lets trainers end their present steps.
void wind_up(service& svc) {
  svc.halt();
  const auto deadline = clock::now() + trainer_patience;
  while (clock::now() < deadline) {
    bool running = false;
    for (const auto& x : svc.status().mergers)
      if (auto status = svc.ask<merger_status>(x.handle, status_atom::value))
        running = running || !status->running.empty();
    if (!running)
      return;
    svc.self()->receive([](told_atom, const trial_event&) {},
                        [](told_atom, const study_end&) {},
                        [](const caf::down_msg&) {},
                        caf::after(look_interval) >> [] {});
  }
}

/// Says which address would let others in without keys, if one does and nobody
/// wants that.
std::optional<error> find_open_door(const serve_options& x) {
  if (!x.keys.empty() || x.insecure)
    return std::nullopt;
  for (const auto& where : {x.trainers, x.clients, x.people})
    if (!is_loopback(where))
      return error{errc::not_allowed,
                   to_text(where)
                     + " can be reached from other machines: give --keys with "
                       "the folder that `hippo keys init` makes, or --insecure "
                       "to let everybody in"};
  return std::nullopt;
}

/// Lets clients and trainers in by their certificates.
expected<gateway_door> make_door(const credentials& shown, kj::Timer& timer) {
  auto made = rpc_tls_service::make(shown, timer);
  if (!made)
    return made.failure();
  const auto service = std::make_shared<rpc_tls_service>(std::move(*made));
  return gateway_door{[service](kj::AuthenticatedStream stream) {
    return service->accept(kj::mv(stream))
      .then(
        [service](admitted_peer peer) {
          return admitted_connection{kj::mv(peer.stream),
                                     peer.holder.role == key_role::trainer
                                       ? peer_role::trainer
                                       : peer_role::client};
        },
        [](kj::Exception&& why) -> admitted_connection {
          kj::throwFatalException(KJ_EXCEPTION(FAILED, explain(why).c_str()));
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
                           const std::optional<service_keys>& keys) {
  gateway_options result;
  result.sources = {x.state,         x.state + "/hippo.log",
                    x.catalogue.workloads, svc.coordinator(),
                    svc.pool(),      svc.journal()};
  result.rpc_host = x.clients.host;
  result.rpc_port = x.clients.port;
  result.http_host = x.people.host;
  result.http_port = x.people.port;
  if (keys)
    result.make_door = [shown = keys->clients](kj::Timer& timer) {
      return make_door(shown, timer);
    };
  return result;
}

/// Logs to standard error and, for `hippo logs`, to a file.
void start_log(const serve_options& x) {
  const auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  sinks->add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  sinks->add_sink(std::make_shared<spdlog::sinks::basic_file_sink_mt>(
    x.state + "/hippo.log"));
  log_to(sinks, "hippo", x.log);
  spdlog::flush_every(std::chrono::seconds(1));
}

} // namespace

int serve(serve_options options) {
  if (auto why = find_open_door(options))
    return fail(*why, exit_bad_input);
  if (!options.keys.empty() && options.local_trainers > 0)
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
  if (options.insecure)
    spdlog::warn("serve: --insecure: everybody who reaches the ports of this "
                 "service can use it, read all results and run trainings");
  const interrupt_guard guard;
  std::shared_ptr<state_writer> folder{std::move(*store)};
  auto token = leave_folder_token(folder->checkpoints());
  if (!token)
    return fail(token.failure(), exit_failed);
  system_config config{options.trainer_timeout};
  if (keys)
    if (auto why = config.use_tls(keys->trainers))
      return fail(*why, exit_failed);
  caf::actor_system system{config};
  auto setup = options_of(options, folder);
  setup.coordinator.folder_token = *token;
  service svc{system, std::move(setup)};
  if (auto why = svc.open())
    return fail(*why, exit_failed);
  gateway entry{system, gateway_of(options, svc, keys)};
  if (auto why = entry.open())
    return fail(*why, exit_failed);
  options.clients.port = entry.rpc_port();
  options.people.port = entry.http_port();
  svc.self()->send(svc.coordinator(), depot_atom::value,
                   std::uint16_t{entry.rpc_port()});
  auto port = publish(system, caf::actor_cast<registrar_actor>(svc.pool()),
                      options.trainers.port, options.trainers.host);
  if (!port)
    return fail({errc::io_failed, "cannot listen on "
                                    + to_text(options.trainers) + ": "
                                    + system.render(port.error())},
                exit_failed);
  options.trainers.port = *port;
  auto known = state_reader::open(options.state);
  if (!known)
    return fail(known.failure(), exit_failed);
  if (auto why = restore(svc, **known, options.catalogue))
    return fail(*why, exit_failed);
  svc.go();
  local_trainers trainers;
  const std::vector<std::string> devices(options.local_trainers, "cpu");
  if (auto why = trainers.start(options.catalogue, devices, {}, *port,
                                options.state + "/logs"))
    return fail(*why, exit_failed);
  say("trainers connect to " + to_text(options.trainers));
  say("clients connect to " + to_text(options.clients));
  say("people look at http" + std::string{keys ? "s" : ""} + "://"
      + to_text(options.people) + "/healthz");
  const auto broken = follow(svc, trainers);
  if (!broken) {
    say("interrupted: the trainers finish their present steps");
    wind_up(svc);
  }
  entry.close();
  svc.close();
  trainers.wait();
  return broken ? fail(*broken, exit_failed) : exit_done;
}

} // namespace hippo
