#include "serve.hpp"

#include <chrono>
#include <iostream>

#include <spdlog/sinks/stdout_color_sinks.h>

#include "hippo/store/state_folder.hpp"
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
                           std::shared_ptr<state_folder> store) {
  service_options result;
  result.coordinator.workloads = x.catalogue.workloads;
  result.coordinator.policy = x.policy;
  result.coordinator.merge = x.merge;
  result.coordinator.checkpoint_bytes_max = x.checkpoint_bytes_max;
  result.coordinator.keep_ended = false;
  result.store = std::move(store);
  result.store_retry = store_retry;
  return result;
}

/// Goes on with the studies that have not ended.
std::optional<error> restore(service& svc, state_folder& known,
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
    trainers.look_after(say);
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

} // namespace

int serve(serve_options options) {
  auto store = state_folder::open(options.state);
  if (!store)
    return fail(store.failure(), exit_bad_input);
  log_to(std::make_shared<spdlog::sinks::stderr_color_sink_mt>(), "hippo",
         options.log);
  const interrupt_guard guard;
  system_config config;
  caf::actor_system system{config};
  std::shared_ptr<state_folder> folder{std::move(*store)};
  service svc{system, options_of(options, folder)};
  if (auto why = svc.open())
    return fail(*why, exit_failed);
  auto port
    = publish(system, caf::actor_cast<registrar_actor>(svc.pool()),
              options.trainers.port, options.trainers.host);
  if (!port)
    return fail({errc::io_failed, "cannot listen on "
                                    + to_text(options.trainers) + ": "
                                    + system.render(port.error())},
                exit_failed);
  options.trainers.port = *port;
  auto known = state_folder::open_read_only(options.state);
  if (!known)
    return fail(known.failure(), exit_failed);
  if (auto why = restore(svc, **known, options.catalogue))
    return fail(*why, exit_failed);
  svc.go();
  local_trainers trainers;
  if (auto why = trainers.start(options.catalogue, options.local_trainers,
                                *port, options.state + "/logs"))
    return fail(*why, exit_failed);
  say("trainers connect to " + to_text(options.trainers));
  const auto broken = follow(svc, trainers);
  if (!broken) {
    say("interrupted: the trainers finish their present steps");
    wind_up(svc);
  }
  svc.close();
  trainers.wait();
  return broken ? fail(*broken, exit_failed) : exit_done;
}

} // namespace hippo
