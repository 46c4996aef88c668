#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/deploy/scale.hpp"

namespace hippo::test {

/// The answer of an engine to a start or an end.
enum class engine_answer {
  done,
  refused,     ///< it has not done it, and says so
  unreachable, ///< it has not done it, and says nothing
  lost,        ///< it has done it, and its answer is lost
};

/// An engine, a service with work, and the program that scales between them, in
/// virtual time. Work is a number of pieces; each trainer does one at a time.
class scale_world {
public:
  struct options {
    scale_settings settings;
    std::uint64_t seed = 1;
    double start_seconds_min = 20, start_seconds_max = 90;
    double interval = 10;      ///< between two looks
    bool refuses_twice = true; ///< the engine a name that it has
  };

  struct process {
    std::string id, name, group;
    double joins = 0;
    bool alive = true;
    std::optional<double> busy_until{};
    double idle_since = 0;
  };

  explicit scale_world(options what)
    : what_(std::move(what)), random_(what_.seed),
      scaler_(std::in_place, what_.settings, scale_journal{}) {}

  // -- the world --------------------------------------------------------------

  /// More work: so many pieces of so many seconds each.
  void add_work(std::uint64_t pieces, double seconds) {
    for (std::uint64_t i = 0; i < pieces; ++i)
      work_.push_back(seconds);
    asked_max = std::max(asked_max, asked());
  }

  /// Lets time pass, looking in between.
  void run(double seconds) {
    const auto end = now_ + seconds;
    while (now_ < end) {
      now_ += 1;
      train();
      if (now_ >= next_look_) {
        next_look_ = now_ + what_.interval;
        look();
      }
    }
  }

  /// Takes a machine away: its piece of work has to be done again.
  void vanish(process& which) {
    which.alive = false;
    if (which.busy_until)
      work_.push_back(std::max(1.0, *which.busy_until - now_));
  }

  /// The program is killed and started again.
  void restart() { scaler_.emplace(what_.settings, saved_); }

  // -- faults -----------------------------------------------------------------

  /// Decides what the engine answers to a start (true) or an end.
  std::function<engine_answer(bool)> answers = [](bool) {
    return engine_answer::done;
  };
  std::function<bool()> lists = [] { return true; };
  std::function<bool()> serves = [] { return true; };
  /// Whether the program is killed now: between any two things that it does.
  std::function<bool()> killed = [] { return false; };
  /// Whether trainers can train the work that there is.
  bool is_of_use = true;

  // -- figures ----------------------------------------------------------------

  std::vector<process> all;
  std::uint64_t asked_max = 0; ///< pieces that could be done at once, at most
  std::uint64_t alive_max = 0;
  std::uint64_t starts = 0;  ///< that the engine has carried out
  double idle_seconds = 0;   ///< of trainers that have joined
  double device_seconds = 0; ///< likewise

  [[nodiscard]] std::uint64_t alive() const {
    return static_cast<std::uint64_t>(
      std::ranges::count_if(all, &process::alive));
  }
  /// Names of which two processes live.
  [[nodiscard]] std::set<std::string> twice() const {
    std::set<std::string> seen, result;
    for (const auto& x : all)
      if (x.alive && !seen.insert(x.name).second)
        result.insert(x.name);
    return result;
  }
  [[nodiscard]] std::uint64_t asked() const { return work_.size() + busy(); }
  [[nodiscard]] const fleet_scaler& scaler() const { return *scaler_; }
  [[nodiscard]] double now() const { return now_; }
  std::mt19937_64& random() { return random_; }

private:
  [[nodiscard]] std::uint64_t busy() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
      all, [](const auto& x) { return x.alive && x.busy_until; }));
  }

  [[nodiscard]] bool has_joined(const process& which) const {
    return which.alive && which.joins <= now_;
  }

  void train() {
    for (auto& x : all) {
      if (!has_joined(x))
        continue;
      device_seconds += 1;
      if (x.busy_until && *x.busy_until <= now_) {
        x.busy_until.reset();
        x.idle_since = now_;
      }
      if (!x.busy_until && !work_.empty() && is_of_use) {
        x.busy_until = now_ + work_.back();
        work_.pop_back();
      }
      if (!x.busy_until)
        idle_seconds += 1;
    }
    alive_max = std::max(alive_max, alive());
  }

  [[nodiscard]] demand_view demand() const {
    demand_view result;
    result.trainers = asked();
    if (result.trainers > 0) {
      auto& part = result.work.emplace_back();
      part.workload = "sum";
      part.working = busy();
      part.waiting = work_.size();
      // The trainers that are there are of no use; one that comes may be.
      if (!is_of_use)
        part.waiting =
          std::ranges::any_of(all, [&](const auto& x) { return has_joined(x); })
            ? 0
            : 1;
    }
    for (const auto& x : all)
      if (has_joined(x)) {
        auto& y = result.connected.emplace_back();
        y.name = x.name + ":7";
        y.device = "cpu";
        if (!x.busy_until)
          y.idle_seconds = now_ - std::max(x.idle_since, x.joins);
      }
    return result;
  }

  [[nodiscard]] std::vector<listed_trainer> list() const {
    std::vector<listed_trainer> result;
    for (const auto& x : all)
      if (x.alive)
        result.push_back({x.id, x.name, x.group,
                          x.joins <= now_ ? listed_trainer::state::running
                                          : listed_trainer::state::waiting});
    return result;
  }

  void look() {
    if (!serves() || !lists())
      return;
    const auto orders = scaler_->observe(now_, demand(), list());
    if (killed())
      return restart();
    saved_ = scaler_->journal();
    for (const auto& x : orders) {
      if (killed() || !carry_out(x))
        return restart();
    }
  }

  /// @returns whether the program has survived it
  bool carry_out(const scale_order& order) {
    const bool is_start = order.what == scale_order::kind::start;
    const auto answer = answers(is_start);
    const bool happens =
      answer == engine_answer::done || answer == engine_answer::lost;
    if (is_start && happens)
      start(order);
    if (!is_start && happens)
      for (auto& y : all)
        if (y.id == order.id && y.alive)
          vanish(y);
    if (killed())
      return false;
    if (is_start && answer != engine_answer::done)
      scaler_->note_failed_start(order.name, answer == engine_answer::refused,
                                 now_);
    saved_ = scaler_->journal();
    return true;
  }

  void start(const scale_order& order) {
    const bool is_there = std::ranges::any_of(
      all, [&](const auto& y) { return y.alive && y.name == order.name; });
    if (is_there && what_.refuses_twice)
      return;
    ++starts;
    std::uniform_real_distribution<double> delay{what_.start_seconds_min,
                                                 what_.start_seconds_max};
    all.push_back({std::to_string(++last_id_), order.name, order.group,
                   now_ + delay(random_)});
  }

  options what_;
  std::mt19937_64 random_;
  std::optional<fleet_scaler> scaler_;
  scale_journal saved_;
  std::vector<double> work_; ///< that nobody does
  double now_ = 1'000'000;
  double next_look_ = 0;
  std::uint64_t last_id_ = 0;
};

/// A fleet of one group.
inline scale_settings one_group(std::uint64_t max) {
  scale_settings result;
  result.fleet = "lab";
  result.groups = {{.name = "gpu"}};
  result.max = max;
  return result;
}

} // namespace hippo::test
