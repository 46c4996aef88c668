#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hippo/service/pool/pool_core.hpp"
#include "pool/admitting.hpp"

namespace hippo::test {

/// A workload of endless trials that share nothing, as a pool sees it.
struct pool_workload {
  std::string name;
  /// Steps in a second, by kind of device.
  std::map<std::string, double> speeds;
  double weight = 1;
  double complexity = 1;
  /// What a lease trains: as many steps as the fastest kind takes so long for.
  double lease_seconds = 240;
};

/// A pool, trainers of several kinds and mergers that always have work, in
/// virtual time. Mergers learn how fast kinds are from their leases, with an
/// error, and tell the pool with their demand.
class pool_world {
public:
  pool_world(placement_rule rule, std::vector<pool_workload> workloads,
             const std::map<std::string, unsigned>& trainers,
             std::uint64_t seed)
    : workloads_(std::move(workloads)), random_(seed) {
    pool_options options;
    options.placement = rule;
    options.silence_max = std::chrono::hours{1000};
    core_.emplace(options, now());
    facts_.resize(workloads_.size());
    device_seconds_.resize(workloads_.size());
    progress_.resize(workloads_.size());
    for (const auto& [kind, count] : trainers)
      for (unsigned i = 0; i < count; ++i) {
        hello x;
        x.host = kind;
        x.device = kind;
        pool_core::effects out;
        const auto number =
          admitted(*core_, x, std::nullopt, now(), out).trainer;
        kinds_[number] = kind;
        take(
          core_->apply(pool_event::heard{heartbeat{number, {}, 0, 0}}, now()));
      }
    for (std::size_t i = 0; i < workloads_.size(); ++i)
      announce(i);
  }

  /// Lets time go on by so many seconds.
  void run(double seconds) {
    const auto end = now_ + seconds;
    while (!ends_.empty() && ends_.begin()->first < end) {
      const auto [when, trainer] = *ends_.begin();
      now_ = when;
      end_lease(trainer);
    }
    now_ = end;
    for (const auto& kvp : leases_)
      book(kvp.first);
  }

  /// Seconds for which trainers have worked for a workload, added up.
  [[nodiscard]] double device_seconds(std::size_t value) const {
    return device_seconds_[value];
  }
  /// What was trained of it, in seconds of the kind that is best for it.
  [[nodiscard]] double progress(std::size_t value) const {
    return progress_[value];
  }
  [[nodiscard]] double progress() const {
    double result = 0;
    for (const auto x : progress_)
      result += x;
    return result;
  }
  /// Leases that ended early since others needed the trainer more.
  [[nodiscard]] std::uint64_t yields() const { return yields_; }

private:
  /// How long a trainer that is asked to yield goes on.
  static constexpr double step_seconds = 1;

  struct lease {
    std::size_t workload = 0;
    double begun = 0;  ///< booked from here on
    double end = 0;
  };

  [[nodiscard]] moment now() const {
    return moment{} // on a grid: time does not go back
           + std::chrono::nanoseconds(std::llround(now_ * 1e9));
  }

  [[nodiscard]] double best_speed(std::size_t value) const {
    double result = 0;
    for (const auto& [kind, speed] : workloads_[value].speeds)
      result = std::max(result, speed);
    return result;
  }

  void take(const pool_core::effects& xs) {
    for (const auto& x : xs)
      if (const auto* grant = std::get_if<pool_effect::grant>(&x))
        begin_lease(grant->trainer, grant->merger - 1);
      else if (const auto* ask = std::get_if<pool_effect::ask_to_yield>(&x))
        yield(ask->trainer);
      else if (const auto* later = std::get_if<pool_effect::review_after>(&x))
        review(*later);
  }

  void begin_lease(trainer_id trainer, std::size_t workload) {
    const auto speed = workloads_[workload].speeds.at(kinds_.at(trainer));
    const auto spread = std::uniform_real_distribution<>{0.5, 1.5}(random_);
    const auto steps
      = workloads_[workload].lease_seconds * best_speed(workload) * spread;
    lease x{workload, now_, now_ + steps / speed};
    ends_.emplace(x.end, trainer);
    leases_[trainer] = x;
    // What its first steps will tell; the next announcement has it.
    const auto error = std::uniform_real_distribution<>{0.95, 1.05}(random_);
    learned_[{workload, kinds_.at(trainer)}]
      = {kinds_.at(trainer), "", 1 / (speed * error), 1};
  }

  void yield(trainer_id trainer) {
    auto& x = leases_.at(trainer);
    if (x.end <= now_ + step_seconds)
      return;
    ++yields_;
    ends_.erase({x.end, trainer});
    x.end = now_ + step_seconds;
    ends_.emplace(x.end, trainer);
  }

  /// The pool is asked to look at its shares again.
  void review(const pool_effect::review_after& due) {
    const auto when = now_ + std::chrono::duration<double>(due.span).count();
    reviews_[next_review_] = due.ends_cool_down;
    // Trainers are numbered from 1: what is beyond is a review.
    ends_.emplace(when, trainer_id{next_review_++});
  }

  void book(trainer_id trainer) {
    auto& x = leases_.at(trainer);
    const auto seconds = now_ - x.begun;
    x.begun = now_;
    device_seconds_[x.workload] += seconds;
    progress_[x.workload]
      += seconds * workloads_[x.workload].speeds.at(kinds_.at(trainer))
         / best_speed(x.workload);
  }

  void end_lease(trainer_id trainer) {
    ends_.erase(ends_.begin());
    if (const auto i = reviews_.extract(number_of(trainer))) {
      take(core_->apply(pool_event::review_due{i.mapped()}, now()));
      return;
    }
    book(trainer);
    const auto workload = leases_.extract(trainer).mapped().workload;
    announce(workload);
    take(core_->apply(pool_event::released{trainer}, now()));
  }

  void announce(std::size_t workload) {
    std::vector<measured_steps> known;
    for (const auto& [where, x] : learned_)
      if (where.first == workload)
        known.push_back(x);
    auto speeds = compare_speeds(std::move(known));
    if (differ(speeds, facts_[workload].speeds))
      facts_[workload].speeds = std::move(speeds);
    facts_[workload].complexity = workloads_[workload].complexity;
    take(core_->apply(
      pool_event::demanded{
        workload + 1, workloads_[workload].weight, 1000, {}, facts_[workload]},
      now()));
  }

  std::vector<pool_workload> workloads_;
  std::mt19937_64 random_;
  double now_ = 0; ///< seconds
  std::optional<pool_core> core_;
  std::map<trainer_id, std::string> kinds_;
  std::map<trainer_id, lease> leases_;
  std::set<std::pair<double, trainer_id>> ends_;
  std::map<std::uint64_t, bool> reviews_; ///< whether it ends a cool-down
  std::uint64_t next_review_ = 1'000'000;
  std::map<std::pair<std::size_t, std::string>, measured_steps> learned_;
  std::vector<placement_facts> facts_;
  std::vector<double> device_seconds_;
  std::vector<double> progress_;
  std::uint64_t yields_ = 0;
};

} // namespace hippo::test
