#include "service.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "journal.hpp"
#include "run_report.hpp"

namespace hippo {

expected<service_actors> spawn_service(caf::actor_system& system,
                                       service_options options,
                                       const observer_actor& observer) {
  auto& coordinating = options.coordinator;
  if (options.store) {
    auto known = state_reader::open(options.store->path());
    if (!known)
      return known.failure();
    coordinating.known = std::move(*known);
    coordinating.checkpoints = options.store->checkpoints();
  }
  coordinating.trace = options.pool.trace = options.trace;
  if (!coordinating.where)
    coordinating.where = std::make_shared<thinking_at_once>();
  const auto spawn = [&](auto actor, auto&&... xs) {
    // What has a store waits for the disk.
    return options.store && options.detached
             ? system.spawn<caf::detached>(actor,
                                           std::forward<decltype(xs)>(xs)...)
             : system.spawn(actor, std::forward<decltype(xs)>(xs)...);
  };
  service_actors result;
  result.journal = spawn(journal, options.store, options.store_retry,
                         options.remove_elsewhere);
  result.pool = system.spawn(pool, options.pool);
  result.coordinator = spawn(coordinator, coordinating, result.pool,
                             result.journal, observer);
  return result;
}

service::service(caf::actor_system& system, service_options options,
                 std::function<void()> wait)
  : system_(system),
    self_(system),
    options_(std::move(options)),
    wait_(std::move(wait)) {}

std::optional<error> service::open() {
  auto made = spawn_service(system_, options_,
                            caf::actor_cast<observer_actor>(self_));
  if (!made)
    return made.failure();
  actors_ = std::move(*made);
  self_->monitor(actors_.journal);
  self_->monitor(actors_.pool);
  self_->monitor(actors_.coordinator);
  return std::nullopt;
}

std::string service::name_of(const caf::actor_addr& address) const {
  return address == actors_.journal.address() ? "journal"
         : address == actors_.pool.address()  ? "pool"
                                              : "coordinator";
}

expected<study_id> service::submit(study_submission submission) {
  return ask<study_id>(actors_.coordinator, submit_atom::value,
                       std::move(submission));
}

std::vector<std::optional<error>>
service::submit_all(std::vector<study_submission> xs) {
  using pending = decltype(self_->request(
    actors_.coordinator, answer_timeout, submit_atom::value,
    std::declval<study_submission>()));
  std::vector<pending> all;
  for (auto& x : xs)
    all.push_back(self_->request(actors_.coordinator, answer_timeout,
                                 submit_atom::value, std::move(x)));
  if (wait_)
    wait_();
  std::vector<std::optional<error>> result;
  for (auto& x : all)
    x.receive([&](study_id) { result.emplace_back(); },
              [&](const caf::error& why) {
                result.emplace_back(
                  error{errc::io_failed, system_.render(why)});
              });
  return result;
}

void service::begin(study_submission submission) {
  system_.spawn([submission = std::move(submission),
                 to = caf::actor_cast<caf::actor>(self_),
                 coordinator =
                   actors_.coordinator](caf::event_based_actor* self) mutable {
    const auto name = "study " + to_string(submission.stored->id) + " ("
                      + submission.stored->name + ')';
    const bool had_ended = has_ended(submission.stored->state);
    self
      ->request(coordinator, caf::infinite, submit_atom::value,
                std::move(submission))
      .then(
        [self, to, name, had_ended](study_id) {
          self->send(to, notify_atom::value, study_start{name, {}, had_ended});
        },
        [self, to, name](const caf::error& why) {
          const auto code
            = why == errc::cancelled ? errc::cancelled : errc::io_failed;
          self->send(to, notify_atom::value,
                     study_start{name,
                                 error{code, self->system().render(why)}});
        });
  });
}

void service::give_up(study_id id, const std::string& why) {
  self_->send(actors_.coordinator, failed_atom::value, id, why);
}

void service::go() { self_->send(actors_.coordinator, go_atom::value); }

bool service::retire() {
  const auto done = ask<bool>(actors_.coordinator, retire_atom::value);
  return done && *done;
}

void service::halt() { self_->send(actors_.coordinator, halt_atom::value); }

coordinator_status service::status() {
  auto result =
    ask<coordinator_status>(actors_.coordinator, status_atom::value);
  return result ? *result : coordinator_status{};
}

void service::close() {
  if (!actors_.coordinator || std::exchange(closed_, true))
    return;
  self_->demonitor(actors_.journal.address());
  self_->demonitor(actors_.pool.address());
  self_->demonitor(actors_.coordinator.address());
  // Studies and mergers end with it, and trainers when the pool does.
  self_->send_exit(actors_.coordinator, caf::exit_reason::user_shutdown);
  self_->send_exit(actors_.pool, caf::exit_reason::user_shutdown);
  // What is on its way to the store gets there.
  static_cast<void>(
    ask<std::uint64_t>(actors_.journal, commit_atom::value, journal_entry{}));
  self_->send_exit(actors_.journal, caf::exit_reason::user_shutdown);
  if (wait_)
    wait_();
}

expected<run_record> service::record(double wall_seconds) {
  const auto known = status();
  std::vector<merger_overview> mergers;
  std::map<std::string, std::size_t> merger_of;
  for (const auto& x : known.mergers) {
    auto overview
      = ask<merger_overview>(x.handle, overview_atom::value);
    if (!overview)
      return overview.failure();
    merger_of.emplace(x.workload_key, mergers.size());
    mergers.push_back(std::move(*overview));
  }
  std::unique_ptr<state_reader> stored;
  if (options_.store)
    if (auto opened = state_reader::open(options_.store->path()))
      stored = std::move(*opened);
  std::vector<reported_study> studies;
  for (const auto& x : known.studies) {
    auto record
      = ask<study_record>(x.handle, overview_atom::value);
    if (!record)
      return record.failure();
    if (auto uid = stored ? stored->load_uid(x.id) : expected<std::string>{""})
      record->uid = std::move(*uid);
    studies.push_back(
      {std::move(*record), merger_of.at(x.workload_key), x.no});
  }
  auto trainers = ask<pool_status>(actors_.pool, status_atom::value);
  if (!trainers)
    return trainers.failure();
  auto result
    = make_run_record(std::move(studies), mergers, *trainers, wall_seconds);
  result.merge = options_.coordinator.merge;
  result.scheduler = to_string(options_.coordinator.policy);
  return result;
}

} // namespace hippo
