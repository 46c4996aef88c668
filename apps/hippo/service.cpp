#include "service.hpp"

#include <map>
#include <utility>

#include "journal.hpp"
#include "run_report.hpp"

namespace hippo {

service::service(caf::actor_system& system, service_options options,
                 std::function<void()> wait)
  : system_(system),
    self_(system),
    options_(std::move(options)),
    wait_(std::move(wait)) {}

std::optional<error> service::open() {
  auto& coordinating = options_.coordinator;
  const auto observer = caf::actor_cast<observer_actor>(self_);
  if (options_.store) {
    auto known = state_reader::open(options_.store->path());
    if (!known)
      return known.failure();
    coordinating.known = std::move(*known);
    coordinating.checkpoints = options_.store->checkpoints();
    // Both wait for the disk.
    journal_ = system_.spawn<caf::detached>(hippo::journal, options_.store,
                                            options_.store_retry);
    pool_ = system_.spawn(hippo::pool, options_.pool);
    coordinator_ = system_.spawn<caf::detached>(
      hippo::coordinator, coordinating, pool_, journal_, observer);
  } else {
    journal_ = system_.spawn(hippo::journal, nullptr, options_.store_retry);
    pool_ = system_.spawn(hippo::pool, options_.pool);
    coordinator_ = system_.spawn(hippo::coordinator, coordinating, pool_,
                                 journal_, observer);
  }
  self_->monitor(coordinator_);
  return std::nullopt;
}

expected<std::uint64_t> service::submit(study_submission x) {
  return ask<std::uint64_t>(coordinator_, submit_atom::value, std::move(x));
}

void service::go() { self_->send(coordinator_, go_atom::value); }

void service::halt() { self_->send(coordinator_, halt_atom::value); }

coordinator_status service::status() {
  auto result = ask<coordinator_status>(coordinator_, status_atom::value);
  return result ? *result : coordinator_status{};
}

void service::close() {
  if (!coordinator_ || std::exchange(closed_, true))
    return;
  self_->demonitor(coordinator_.address());
  // Studies and mergers end with it, and trainers when the pool does.
  self_->send_exit(coordinator_, caf::exit_reason::user_shutdown);
  self_->send_exit(pool_, caf::exit_reason::user_shutdown);
  // What is on its way to the store gets there.
  static_cast<void>(
    ask<std::uint64_t>(journal_, commit_atom::value, journal_entry{}));
  self_->send_exit(journal_, caf::exit_reason::user_shutdown);
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
  std::vector<reported_study> studies;
  for (const auto& x : known.studies) {
    auto record
      = ask<study_record>(x.handle, overview_atom::value);
    if (!record)
      return record.failure();
    studies.push_back(
      {std::move(*record), merger_of.at(x.workload_key), x.no});
  }
  auto trainers = ask<pool_status>(pool_, status_atom::value);
  if (!trainers)
    return trainers.failure();
  auto result
    = make_run_record(std::move(studies), mergers, *trainers, wall_seconds);
  result.merge = options_.coordinator.merge;
  result.scheduler = to_string(options_.coordinator.policy);
  return result;
}

} // namespace hippo
