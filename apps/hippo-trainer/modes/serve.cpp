#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

#include "checkpoint_route.hpp"
#include "connector.hpp"
#include "event_trace.hpp"
#include "hippo/base/backoff.hpp"
#include "hippo/base/devices.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/net/keys/credentials.hpp"
#include "hippo/train/device.hpp"
#include "hippo/train/gang/gang_port.hpp"
#include "leaving.hpp"
#include "modes/modes.hpp"
#include "system_config.hpp"
#include "trainer.hpp"
#include "training_engine.hpp"

namespace hippo {

namespace {

/// How long to wait between two attempts to reach the service.
constexpr std::chrono::milliseconds retry_first{1000};
constexpr std::chrono::milliseconds retry_last{30'000};

/// @param gangs null: it is in none
hello describe_self(const trainer_options& opts, const device_entry& x,
                    const gang_port* gangs) {
  hello result;
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  result.host = opts.name.empty() ? host : opts.name;
  // Each life is a trainer of its own: what it was given may be why it ended.
  if (opts.life > 1)
    result.host += '#' + std::to_string(opts.life);
  result.process_id = static_cast<std::uint64_t>(::getpid());
  result.device = x.info.kind;
  result.threads = opts.threads;
  result.memory_bytes = x.info.memory_bytes;
  result.driver = x.info.driver;
  result.compute_capability = x.info.compute_capability;
  if (x.name == "cpu")
    result.numerics = to_text(x.numerics);
  result.notice_seconds = opts.notice_seconds;
  // Code that studies bring may take a whole device: several at once only if
  // somebody says so.
  result.at_once = opts.at_once.value_or(default_at_once(x.name));
  result.code_at_once = opts.at_once.value_or(1);
  result.machine = opts.machine;
  result.ranks = opts.ranks.value_or(1);
  if (gangs != nullptr)
    result.gang = gangs->address();
  if (opts.until) {
    using namespace std::chrono;
    const auto left =
      ceil<seconds>(leaving_time(opts) - system_clock::now()).count();
    result.seconds_left =
      static_cast<std::uint32_t>(std::clamp<seconds::rep>(left, 1, UINT32_MAX));
  }
  for (const auto& y : x.registry.descriptors())
    result.workloads.emplace(y.name, y.version);
  return result;
}

/// A process cannot use a GPU again once that has failed. The service gives its
/// leases to others, and whoever watches this process starts it again.
void leave_lost_device(const std::string& device, const std::string& why) {
  spdlog::error("{} does not answer any more, and needs a new process: {}",
                device, why);
  leave_at_once(exit_failed);
}

} // namespace

int serve(const trainer_options& opts, std::vector<device_entry> devices,
          const std::function<std::string()>& log_tail) {
  const auto where = parse_endpoint(opts.service);
  if (!where)
    return fail({where.failure().code, "--connect: " + where.failure().message},
                exit_usage);
  std::optional<credentials> keys;
  if (!opts.keys.empty()) {
    auto loaded = load_credentials(opts.keys, key_role::trainer,
                                          now_seconds());
    if (!loaded)
      return fail(loaded.failure(), exit_usage);
    keys = std::move(*loaded);
  }
  std::shared_ptr<trace_log> trace;
  if (auto why = open_trace(trace, trainer_trace_variable,
                            '.' + std::to_string(::getpid())))
    return fail(*why, exit_usage);
  on_device_lost(leave_lost_device);
  // Threads that begin later leave these signals to it.
  leave_signals signals;
  std::shared_ptr<gang_port> gangs;
  std::optional<following_port> following;
  if (opts.gang_listen) {
    const bool follows = opts.gang_listen->host == auto_gang_host;
    auto port = follows
                  ? gang_port::make(keys.has_value())
                  : gang_port::listen(*opts.gang_listen, keys.has_value());
    if (!port)
      return fail(
        {port.failure().code, "--gang-listen: " + port.failure().message},
        exit_usage);
    gangs = std::move(*port);
    if (follows)
      following = {gangs.get(), opts.gang_listen->port};
  }
  system_config cfg;
  caf::actor_system system{cfg};
  trainer_list trainers;
  call_limits limits;
  limits.grace = std::chrono::duration_cast<call_limits::duration>(
    std::chrono::duration<double>(opts.call_grace_seconds));
  for (auto& x : devices) {
    auto self_description = describe_self(opts, x, gangs.get());
    // Each device has a thread of its own, and thus a route of its own.
    const auto route = std::make_shared<checkpoint_route>(
      where->host, keys ? &*keys : nullptr);
    auto engine = std::make_shared<training_engine>(
      std::move(x.registry), x.info.kind,
      [route](const lease& y) { return route->store_of(y); },
      x.info.kept_bytes_max, limits, [&signals] { signals.tell_stuck(); },
      gangs);
    const auto number = std::to_string(trainers.size() + 1);
    trainers.push_back(system.spawn(
      traced_trainer, registrar_actor{}, std::move(self_description),
      std::move(engine), log_tail, core_trace{trace, "trainer " + number}));
  }
  std::thread{[&] {
    leave_when_asked(signals, system, trainers, opts);
  }}.detach();
  connector link{system, trainers, keys ? &*keys : nullptr, following};
  backoff retry{retry_first, retry_last};
  std::minstd_rand random{std::random_device{}()};
  std::uniform_real_distribution<double> jitter{0, 1};
  for (;;) {
    if (link.connect(opts.service, *where)) {
      retry.reset();
      const bool lost = link.wait_until_lost();
      while (signals.is_leaving())
        ::pause(); // another thread ends this process
      if (!lost || opts.parent != 0)
        leave_at_once(lost ? exit_done : exit_failed);
    }
    std::this_thread::sleep_for(retry.next(jitter(random)));
  }
}

} // namespace hippo
