// What lies between a service and a trainer, in both ways there have been: the
// frames of hippo/link, and CAF's BASP, which was used before.
//
//   trainer_link frames|basp
//
// Two actor systems of one process over loopback, without TLS. Prints a line of
// JSON: round trips and messages a second, of the size of a heartbeat (80
// bytes) and of a report with its output (16 KiB).

#include <chrono>
#include <cstdio>
#include <string>

#include "caf/io/all.hpp"

#include "checked.hpp"
#include "hippo/net/wire/codec.hpp"
#include "network/service_link.hpp"
#include "network/trainer_port.hpp"
#include "system_config.hpp"

namespace {

using namespace hippo;

using clock_type = std::chrono::steady_clock;

constexpr int rounds = 5'000;
constexpr int window = 64;
constexpr int messages = 100'000;
constexpr int reports = 20'000;
constexpr std::size_t heartbeat_bytes = 80;
constexpr std::size_t report_bytes = 16 << 10;

/// Calls `f` so many times. @returns how many times a second
template <class F>
double rate(int times, F f) {
  const auto begin = clock_type::now();
  for (int i = 0; i < times; ++i)
    f(i);
  return times
         / std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Measures what can answer, and take something of either size.
template <class Ask, class Beat, class Report>
void measure(const char* way, Ask ask, Beat beat, Report report) {
  for (int i = 0; i < 100; ++i)
    ask();
  const auto trips = rate(rounds, [&](int) { ask(); });
  const auto in_window = [&](const auto& send) {
    return [&](int i) {
      send();
      if (i % window == window - 1)
        ask();
    };
  };
  const auto small = rate(messages, in_window(beat));
  const auto large = rate(reports, in_window(report));
  std::printf("{\"way\": \"%s\", \"round_trips\": %.0f, \"heartbeats\": %.0f, "
              "\"reports\": %.0f}\n",
              way, trips, small, large);
}

/// A message of so many bytes that nobody decodes.
template <class Schema>
wire<Schema> message_of(std::size_t bytes) {
  return wire<Schema>{
    kj::heapArray<capnp::word>(bytes / sizeof(capnp::word))};
}

registrar_actor::behavior_type fake_pool(registrar_actor::pointer) {
  return {
    [](register_atom, const hello_wire&, const trainer_actor&) {
      welcome answer;
      answer.trainer = trainer_id{1};
      answer.heartbeat_interval_ms = 1000;
      return encode(answer);
    },
    [](heartbeat_atom, const heartbeat_wire&) {},
    [](resent_atom, const resent_wire&, const trainer_actor&) {},
    [](leave_atom, const goodbye_wire&) {},
  };
}

trainer_actor::behavior_type fake_trainer(trainer_actor::pointer) {
  return {
    [](lease_atom, const lease_wire&, const lease_owner_actor&) {},
    [](stop_atom, const stop_wire&) {},
    [](cancel_atom, const cancel_wire&) {},
    [](ack_atom, const ack_wire&) {},
    [](lost_atom) {},
  };
}

void measure_frames() {
  system_config config;
  caf::actor_system near{config}, far{config};
  const auto pool = near.spawn(fake_pool);
  trainer_port port{near, pool, {}};
  const auto trainer = far.spawn(fake_trainer);
  service_link link{far, nullptr};
  const auto service =
    checked(link.connect({"127.0.0.1", checked(port.open())}, trainer)).service;
  caf::scoped_actor self{far};
  hello who;
  who.device = "none";
  self->request(service, caf::infinite, register_atom::value, encode(who),
                trainer)
    .receive([](const welcome_wire&) {}, [](const caf::error&) {});
  const auto farewell = encode(goodbye{trainer_id{1}});
  const auto small = encode(heartbeat{trainer_id{1}, lease_id{1}, 1, 1});
  const auto large = message_of<schema::Resent>(report_bytes);
  measure(
    "frames",
    [&] {
      self->request(service, caf::infinite, leave_atom::value, farewell)
        .receive([] {}, [](const caf::error&) {});
    },
    [&] { self->send(service, heartbeat_atom::value, small); },
    [&] { self->send(service, resent_atom::value, large, trainer); });
  caf::anon_send_exit(trainer, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
}

caf::behavior basp_pool() {
  return {
    [](leave_atom, const std::string&) {},
    [](heartbeat_atom, const std::string&) {},
    [](resent_atom, const std::string&) {},
  };
}

void measure_basp() {
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{2});
  caf::actor_system near{config}, far{config};
  const auto pool = near.spawn(basp_pool);
  const auto port = near.middleman().publish(pool, 0, "127.0.0.1");
  const auto found = port ? far.middleman().remote_actor("127.0.0.1", *port)
                          : caf::expected<caf::actor>{port.error()};
  if (!found) {
    std::fprintf(stderr, "%s\n", far.render(found.error()).c_str());
    std::exit(1);
  }
  caf::scoped_actor self{far};
  const std::string small(heartbeat_bytes, 'x'), large(report_bytes, 'x');
  measure(
    "basp",
    [&] {
      self->request(*found, caf::infinite, leave_atom::value, small)
        .receive([] {}, [](const caf::error&) {});
    },
    [&] { self->send(*found, heartbeat_atom::value, small); },
    [&] { self->send(*found, resent_atom::value, large); });
  caf::anon_send_exit(pool, caf::exit_reason::user_shutdown);
}

} // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "frames")
    measure_frames();
  else if (way == "basp")
    measure_basp();
  else
    std::fprintf(stderr, "usage: trainer_link frames|basp\n");
  return way == "frames" || way == "basp" ? 0 : 2;
}
