#include "service_node.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <utility>

#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "event_trace.hpp"
#include "hippo/checkpoint/folder_token.hpp"
#include "outcome.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

/// How long `hear` hears.
constexpr auto hear_interval = 250ms;

/// How long to wait before what could not be stored is tried again.
constexpr auto store_retry = 1s;

/// How long a service that does not stay waits for its last notifications.
constexpr auto notify_patience = 10s;

} // namespace

void say(const std::string& text) {
  std::cerr << "hippo: " << text << '\n';
}

int with_node(node_options options,
              const std::function<int(service_node&)>& act) {
  const auto where = std::make_shared<thinking_pool>();
  const auto run = [&] {
    service_node node{std::move(options), where};
    const auto code = node.open();
    return code == exit_done ? act(node) : code;
  };
  return end_thinking(*where, run());
}

service_node::service_node(node_options options,
                           std::shared_ptr<thinking_pool> where)
  : options_(std::move(options)), where_(std::move(where)) {}

/// The memory that is held on behalf of those who are connected.
std::uint64_t service_node::room_of_peers() const {
  return std::min(byte_ledger::default_room,
                  options_.memory_bytes_max.value_or(UINT64_MAX) / 4);
}

/// Logs to a file, for `hippo logs`, and to standard error if that is wanted.
void service_node::start_log() const {
  const auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  if (options_.shown_log)
    sinks->add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  sinks->add_sink(make_log_files(options_.state + "/hippo.log"));
  log_to(sinks, "hippo", options_.shown_log.value_or(log_options{}));
  spdlog::flush_every(std::chrono::seconds(1));
}

/// Takes the state folder. @returns the exit code
int service_node::open_folder() {
  if (!options_.keys.empty()) {
    auto loaded = load_port_keys(options_.keys);
    if (!loaded)
      return fail(loaded.failure(), exit_bad_input);
    keys_ = std::move(*loaded);
  }
  // Programs in other folders must not read it as relative to theirs.
  options_.state = std::filesystem::absolute(options_.state).string();
  auto store = state_writer::open(options_.state);
  if (!store)
    return fail(store.failure(), exit_bad_input);
  store_ = std::move(*store);
  start_log();
  if (auto why = open_trace(trace_))
    return fail(*why, exit_bad_input);
  guard_.emplace();
  auto objects = find_object_place(options_.state, options_.objects);
  if (!objects)
    return fail(objects.failure(), exit_bad_input);
  objects_ = std::move(*objects);
  if (auto why = leave_object_place(options_.state, objects_))
    return fail(*why, exit_failed);
  auto token = leave_folder_token(store_->checkpoints());
  if (!token)
    return fail(token.failure(), exit_failed);
  folder_token_ = std::move(*token);
  auto board = waiting_board::make(options_.state);
  if (!board)
    return fail(board.failure(), exit_failed);
  waits_.emplace(std::move(*board));
  known_.emplace(options_.state);
  return exit_done;
}

service_options service_node::setup() {
  const auto& x = options_;
  service_options result;
  result.coordinator.workloads = x.catalogue.workloads;
  result.coordinator.policy = x.policy;
  result.coordinator.merge = x.merge;
  result.coordinator.gangs = x.gangs;
  result.coordinator.gang_key = random_token();
  result.coordinator.checkpoint_bytes_max = x.checkpoint_bytes_max;
  if (x.memory_bytes_max)
    result.coordinator.memory_bytes_max = *x.memory_bytes_max - room_of_peers();
  result.coordinator.cold_folder = x.state;
  result.coordinator.folder_token = folder_token_;
  result.coordinator.where = where_;
  result.coordinator.keep_ended = !x.stays;
  result.coordinator.restores = x.stays;
  result.coordinator.stall_max = x.stall_timeout;
  result.coordinator.unmeasured_stall_max = x.first_step_timeout;
  result.pool.silence_max = x.trainer_timeout;
  result.pool.placement = x.placement;
  result.pool.machines = x.machines;
  result.pool.held = held_;
  if (objects_)
    keep_in_objects(result, *objects_, store_->checkpoints());
  result.store = store_;
  result.trace = trace_;
  if (x.stays)
    result.store_retry = store_retry;
  return result;
}

gateway_options service_node::entrances() {
  const auto& x = options_;
  gateway_options result;
  result.held = held_;
  result.sources = {x.state,
                    x.state + "/hippo.log",
                    x.catalogue.workloads,
                    actors_->coordinator(),
                    actors_->pool(),
                    actors_->journal(),
                    where_,
                    x.checkpoint_bytes_max,
                    x.no_prices};
  result.sources.objects = text_of(objects_);
  result.sources.code_allowed = x.code_allowed;
  result.rpc_host = x.clients.host;
  result.rpc_port = x.clients.port;
  result.http_host = x.people.host;
  result.http_port = x.people.port;
  if (keys_)
    result.make_authenticator = let_in_by_certificate(keys_->clients);
  if (!x.visitors)
    return result;
  result.people = {x.visitors->host, x.visitors->port, {}};
  if (keys_)
    result.people->make_authenticator = let_in_by_token(keys_->clients);
  return result;
}

trainer_port_options service_node::port() const {
  trainer_port_options result;
  result.held = held_;
  result.where = options_.trainers;
  if (keys_)
    result.keys = keys_->trainers;
  result.silence_max = options_.trainer_timeout;
  return result;
}

/// Listens to clients and trainers.
std::optional<error> service_node::open_ports() {
  entry_.emplace(system_, entrances());
  if (auto why = entry_->open())
    return why;
  options_.clients.port = entry_->rpc_port();
  options_.people.port = entry_->http_port();
  if (options_.visitors)
    options_.visitors->port = entry_->people_port();
  actors_->self()->send(actors_->coordinator(), depot_atom::value,
                        std::uint16_t{entry_->rpc_port()});
  trainer_port_.emplace(
    system_, caf::actor_cast<registrar_actor>(actors_->pool()), port());
  const auto listens = trainer_port_->open();
  if (!listens)
    return listens.failure();
  options_.trainers.port = *listens;
  return std::nullopt;
}

int service_node::open() {
  if (const auto code = open_folder(); code != exit_done)
    return code;
  held_ =
    std::make_shared<byte_ledger>("clients and trainers", room_of_peers());
  actors_.emplace(system_, setup());
  if (auto why = actors_->open())
    return fail(*why, exit_failed);
  if (auto why = open_ports())
    return fail(*why, exit_failed);
  auto notifies = notifier::open(
    {.state = options_.state, .private_addresses = options_.notifies_private},
    [to = actors_->journal()](notification_settled x) {
      caf::anon_send(to, commit_atom::value, journal_entry{{std::move(x)}, {}});
    });
  if (!notifies)
    return fail(notifies.failure(), exit_failed);
  notifier_ = std::move(*notifies);
  if (options_.stays)
    returning_.emplace(*actors_, where_,
                       returning_studies::source{options_.state,
                                                 options_.catalogue.workloads,
                                                 options_.machines.has_value()},
                       say);
  if (auto why =
        trainers_.start(options_.catalogue, options_.local,
                        options_.trainers.port, options_.state + "/logs"))
    return fail(*why, exit_failed);
  return exit_done;
}

std::optional<error> service_node::announce() {
  return known_->write(options_.trainers, options_.clients, options_.people,
                       keys_.has_value(), visitors_page());
}

service_node::heard
service_node::hear_one(const listener& to,
                       std::chrono::steady_clock::duration patience) {
  heard result;
  actors_->self()->receive(
    [&](notify_atom, trial_event& x) { to.trial(x); },
    [&](notify_atom, const study_end& x) {
      result.an_end = true;
      to.end(x);
    },
    [&](notify_atom, const study_start& x) { returning_->note(x); },
    [&](notify_atom, const found_studies& x) {
      result.broken = returning_->note(x);
    },
    [&](const caf::down_msg& msg) {
      result.broken =
        error{errc::io_failed, "the service cannot go on: its "
                                 + actors_->name_of(msg.source)
                                 + " has ended: " + to_string(msg.reason)};
    },
    caf::after(patience) >> [&] { result.nothing = true; });
  return result;
}

std::optional<error> service_node::hear(const listener& to) {
  using clock = std::chrono::steady_clock;
  heard last;
  const auto until = clock::now() + hear_interval;
  do {
    last = hear_one(to, std::max(until - clock::now(), clock::duration{}));
  } while (!last.broken && !last.an_end && clock::now() < until);
  if (returning_)
    returning_->look();
  return last.broken;
}

std::optional<error> service_node::hear_rest(const listener& to) {
  heard last;
  do {
    last = hear_one(to, {});
  } while (!last.broken && !last.nothing);
  return last.broken;
}

service_node::rest
service_node::wind_down(double grace_seconds, const listener& to,
                        const std::function<void()>& meanwhile) {
  rest result;
  graceful_shutdown halted{*actors_, grace_seconds};
  while (!result.broken && !halted.is_over()) {
    result.broken = hear(to);
    meanwhile();
  }
  result.was_cut_off = halted.was_cut_off();
  return result;
}

void service_node::close() {
  if (std::exchange(is_closed_, true))
    return;
  known_.reset(); // nobody is to look for it any more
  if (entry_)
    entry_->close();
  if (notifier_ && !options_.stays)
    notifier_->flush(notify_patience); // nobody else would for now
  notifier_.reset();
  if (actors_)
    actors_->close();
  trainers_.wait();
}

} // namespace hippo
