#include "service.hpp"

#include <filesystem>
#include <map>
#include <utility>

#include "hippo/core/hash.hpp"
#include "journal.hpp"
#include "merger.hpp"
#include "run_report.hpp"
#include "study.hpp"
#include "study_note.hpp"

namespace hippo {

namespace {

/// Lease numbers of one merger.
constexpr std::uint64_t leases_per_merger = 1ull << 40;

} // namespace

service::service(caf::actor_system& system, service_options options,
                 std::function<void()> wait)
  : system_(system),
    self_(system),
    options_(std::move(options)),
    wait_(std::move(wait)) {
  journal_ = options_.store
               ? system_.spawn<caf::detached>(journal, options_.store)
               : system_.spawn(journal, nullptr);
  pool_ = system_.spawn(hippo::pool, options_.pool);
}

double service::weight_of(const std::string& key) const {
  double result = 0;
  for (const auto& x : options_.studies)
    if (key_of(x.spec.workload) == key)
      result += x.spec.weight;
  return result;
}

std::optional<error> service::open_merger(const study_spec& spec) {
  const auto key = key_of(spec.workload);
  merger_options opts;
  opts.workload = spec.workload;
  opts.policy = options_.policy;
  opts.merge = options_.merge;
  opts.weight = weight_of(key);
  opts.checkpoint_bytes_max = options_.checkpoint_bytes_max;
  for (const auto& p :
       options_.catalogue.at(spec.workload.name).hyper_parameters)
    if (p.affects_speed)
      opts.speed_names.push_back(p.name);
  opts.first_lease = mergers_.size() * leases_per_merger + 1;
  if (options_.store) {
    opts.folder = options_.store->checkpoints() + '/' + hash_text(key);
    std::error_code failed;
    std::filesystem::create_directories(opts.folder, failed);
    if (failed)
      return error{errc::io_failed, opts.folder + ": " + failed.message()};
    auto known = options_.store->load_plan(key);
    if (!known)
      return known.failure();
    known_results_ += known->results.size();
    opts.known = std::move(*known);
  }
  mergers_.push_back(system_.spawn(merger, std::move(opts), pool_, journal_));
  self_->monitor(mergers_.back());
  return std::nullopt;
}

std::optional<error> service::open_mergers() {
  std::map<std::string, std::size_t> by_key;
  std::vector<std::size_t> studies_of_merger;
  for (const auto& x : options_.studies) {
    const auto [i, added]
      = by_key.emplace(key_of(x.spec.workload), mergers_.size());
    if (added) {
      if (auto why = open_merger(x.spec))
        return why;
      studies_of_merger.push_back(0);
    }
    merger_of_study_.push_back(i->second);
    no_of_study_.push_back(studies_of_merger[i->second]++);
  }
  return std::nullopt;
}

std::optional<error> service::open_studies() {
  std::vector<journal_record> notes;
  for (std::size_t i = 0; i < options_.studies.size(); ++i) {
    const auto& x = options_.studies[i];
    notes.push_back(study_saved{note_study(x, i)});
    study_options opts;
    opts.spec = x.spec;
    opts.defaults = defaults_of(options_.catalogue.at(x.spec.workload.name));
    studies_.push_back(system_.spawn(study, std::move(opts),
                                     mergers_[merger_of_study_[i]],
                                     caf::actor_cast<observer_actor>(self_)));
    if (auto started = ask<std::uint64_t>(studies_.back(), start_atom::value);
        !started)
      return started.failure();
  }
  if (auto noted = ask<std::uint64_t>(journal_, commit_atom::value, notes);
      !noted)
    return noted.failure();
  return std::nullopt;
}

std::optional<error> service::open() {
  if (auto why = open_mergers())
    return why;
  return open_studies();
}

void service::go() {
  for (const auto& x : mergers_)
    self_->send(x, go_atom::value);
}

void service::close() {
  if (std::exchange(closed_, true))
    return;
  // Trainers end when the pool does.
  for (const auto& x : studies_)
    self_->send_exit(x, caf::exit_reason::user_shutdown);
  for (const auto& x : mergers_) {
    self_->demonitor(x.address());
    self_->send_exit(x, caf::exit_reason::user_shutdown);
  }
  self_->send_exit(pool_, caf::exit_reason::user_shutdown);
  self_->send_exit(journal_, caf::exit_reason::user_shutdown);
  if (wait_)
    wait_();
}

expected<run_record> service::record(double wall_seconds) {
  std::vector<merger_overview> mergers;
  for (const auto& x : mergers_) {
    auto overview
      = ask<merger_overview>(x, status_atom::value, told_atom::value);
    if (!overview)
      return overview.failure();
    mergers.push_back(std::move(*overview));
  }
  std::vector<reported_study> studies;
  std::vector<journal_record> notes;
  for (std::size_t i = 0; i < studies_.size(); ++i) {
    auto record
      = ask<study_record>(studies_[i], status_atom::value, told_atom::value);
    if (!record)
      return record.failure();
    const auto& trials = mergers[merger_of_study_[i]].trials[no_of_study_[i]];
    notes.push_back(study_saved{
      note_study(options_.studies[i], i, &*record,
                 record->best ? trials[record->best->trial].leaf : 0)});
    studies.push_back(
      {std::move(*record), merger_of_study_[i], no_of_study_[i]});
  }
  if (auto noted = ask<std::uint64_t>(journal_, commit_atom::value, notes);
      !noted)
    return noted.failure();
  auto trainers = ask<pool_status>(pool_, status_atom::value);
  if (!trainers)
    return trainers.failure();
  auto result
    = make_run_record(std::move(studies), mergers, *trainers, wall_seconds);
  result.merge = options_.merge;
  result.scheduler = to_string(options_.policy);
  return result;
}

} // namespace hippo
