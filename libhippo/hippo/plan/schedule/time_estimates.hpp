#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hippo/model/timing.hpp"
#include "hippo/plan/schedule/gang_speeds.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/plan/schedule/slowdowns.hpp"
#include "hippo/plan/schedule/step_model.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// How long things take, learned from what trainers report. All times are in
/// seconds.
///
/// A step's time is learned for each combination of the hyper-parameters that
/// affect it, on each kind of device and on all of them together. It is that
/// alone on its trainer: what was measured beside other leases is divided by
/// the slowdown as it is known by then (`slowdowns`). What was
/// never measured on a kind is what other kinds took, as much longer or shorter
/// as what was measured on both; else what a `step_model` predicts of all that
/// was measured, of other workloads too. What nothing says anything of is taken
/// to be the mean of all steps, and before anything was, one second.
class time_estimates {
public:
  /// @param speed_names the hyper-parameters that affect a step's time
  /// @param workload its key
  /// @param others what was measured of other workloads
  explicit time_estimates(std::vector<std::string> speed_names = {},
                          std::string workload = {},
                          std::vector<step_profile> others = {});

  /// Returns the speed-affecting values of `config` at step `at`, as text.
  [[nodiscard]] std::string speed_key(const configuration& config,
                                      step_t at) const;

  // -- learning ---------------------------------------------------------------

  /// Takes in a measurement. Later ones weigh more.
  /// @param kind of the device; empty: not known
  /// @param leases that its trainer had meanwhile, on average
  /// REQUIRES: `steps > 0`, `leases >= 1`
  void learn_step(const std::string& speed_key, std::uint64_t steps,
                  double seconds, const std::string& kind = {},
                  double leases = 1);
  /// The same of steps that several trainers of a kind have trained together.
  /// Where the step's time alone is not known, it follows from that.
  /// @param members a power of two, at least 2
  void learn_gang_step(const std::string& speed_key, std::uint64_t steps,
                       double seconds, const std::string& kind,
                       unsigned members);
  /// The same of what is no step.
  /// REQUIRES: `what` is neither `timed::step` nor `timed::start`
  void learn(timed what, double seconds, const std::string& kind = {});
  /// Takes in how much there is to compute; what is unknown is no news.
  void learn_size(const workload_size& size);
  /// A lease has been silent for so long before it made its first step.
  void learn_first_step(double seconds);
  /// Begins with what a step took in earlier runs; counts as one step.
  void begin_with(double step_seconds) {
    pool_.any_step.learn(step_seconds, 1);
  }
  /// Begins with what was measured in earlier runs.
  void begin_with(const std::vector<timing>& known);

  /// Returns what has changed by much since the last call, to be stored: the
  /// more was measured, the rarer.
  [[nodiscard]] std::vector<timing> take_unstored();

  /// A kind of device that has become slower, or faster.
  struct drift {
    std::string kind;
    std::string speed_key;
    double before = 0; ///< seconds of a step
    double now = 0;    ///< likewise
  };

  /// Returns where the last ten measurements, or more, were all beside what was
  /// usual before, by more than a fifth together. The estimate is that of these
  /// now. Each is returned once.
  [[nodiscard]] std::vector<drift> take_drifts();

  // -- looking ----------------------------------------------------------------

  /// The time of a step, and where it comes from.
  struct step_estimate {
    enum class source { measured, predicted, unknown };
    double seconds = 1;
    source from = source::unknown;
    double margin = 0; ///< if it is predicted, as of `predicted_time`
  };

  /// @param kind of a device
  [[nodiscard]] step_estimate estimate(const std::string& speed_key,
                                       const std::string& kind) const;

  /// As of `slowdowns::at`. @param kind of a device; null: not known
  [[nodiscard]] double slowdown(const std::string* kind, double leases) const {
    return kind == nullptr ? 1 : slowdowns_.at(*kind, leases);
  }
  /// As of `slowdowns::worth`. @param kind of a device; null: not known
  [[nodiscard]] std::uint32_t lanes_worth(const std::string* kind,
                                          std::uint32_t lanes) const {
    return kind == nullptr ? lanes : slowdowns_.worth(*kind, lanes);
  }

  /// As of `gang_speeds::at`. @param kind of a device; null: not known
  [[nodiscard]] double speedup(const std::string* kind,
                               const std::string& speed_key,
                               unsigned members) const {
    return gang_speeds_.at(kind == nullptr ? std::string{} : *kind, speed_key,
                           members);
  }

  /// How many kinds of device are known.
  [[nodiscard]] std::size_t kinds() const noexcept { return kinds_.size(); }

  /// How fast steps are on the kinds where any were measured: relative speeds.
  [[nodiscard]] kind_speeds speeds() const;

  /// @param kind of a device; null: any of the pool
  [[nodiscard]] double step_seconds(const std::string& speed_key,
                                    const std::string* kind = nullptr) const;
  /// Whether any step was measured, here or in earlier runs.
  [[nodiscard]] bool has_trained() const {
    return pool_.any_step.has_value();
  }
  /// The mean time of a step of any values on any device; 0: none was measured.
  [[nodiscard]] double mean_step_seconds() const {
    return pool_.any_step.value(0);
  }
  [[nodiscard]] double
  evaluate_seconds(const std::string* kind = nullptr) const {
    return seconds(timed::evaluate, kind).value_or(0);
  }
  [[nodiscard]] bool has_evaluated() const {
    return pool_.at(timed::evaluate).has_value();
  }
  /// The longest time that a lease took to make its first step, in this run or
  /// an earlier one, all that comes before it included; nothing before one did.
  [[nodiscard]] std::optional<double> first_step_seconds() const {
    return first_step_;
  }
  /// Whether any checkpoint was saved yet.
  [[nodiscard]] bool has_saved() const {
    return pool_.at(timed::save).has_value();
  }
  [[nodiscard]] double save_seconds(const std::string* kind = nullptr) const {
    return seconds(timed::save, kind).value_or(0);
  }
  /// Before any was loaded, what saving takes.
  [[nodiscard]] double load_seconds() const {
    return seconds(timed::load, nullptr).value_or(save_seconds());
  }

  /// Grows whenever a step's estimate has moved by more than a fifth: what was
  /// computed from estimates of an earlier version is worth computing again.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Has all be computed again: trees have come to lie on other kinds.
  void outdate() { announce(); }

private:
  /// A mean in which each new measurement replaces a part of the old ones.
  class mean {
  public:
    void learn(double total, double weight);
    /// Adds what was measured in earlier runs.
    void add(const timing& timing);
    [[nodiscard]] bool has_value() const { return weight_ > 0; }
    [[nodiscard]] std::uint64_t stages() const { return stages_; }
    [[nodiscard]] double value(double fallback) const {
      return has_value() ? total_ / weight_ : fallback;
    }
    /// From now on it is the mean of the last measurements alone.
    void restart(const mean& of_the_last);
    /// Whether what is stored of it says too little.
    [[nodiscard]] bool is_unstored() const;
    /// It is as it is now in what is stored.
    void note_stored();
    void write_to(timing& timing) const;

  private:
    double total_ = 0;
    double weight_ = 0;
    double squared_log_deviations_ = 0;
    std::uint64_t stages_ = 0;
    std::uint64_t stored_stages_ = 0;
    double stored_value_ = 0;
  };

  struct step_time {
    mean seconds;
    double announced = 0; ///< the estimate at the last growth of `version_`
    mean streak; ///< of the last measurements if all are beside `usual`
    double usual = 0; ///< the estimate before these
  };

  /// The measurements on one kind of device, or on all.
  struct times {
    std::unordered_map<std::string, step_time> steps;
    mean any_step;
    std::array<mean, 5> others; ///< by `timed`, but for steps and starts

    [[nodiscard]] const mean& at(timed timed) const {
      return others[static_cast<std::size_t>(timed)];
    }
    mean& at(timed timed) { return others[static_cast<std::size_t>(timed)]; }
    /// @returns whether the estimate has moved by much
    bool learn_step(const std::string& speed_key, double steps, double seconds);
  };

  /// Of all kinds if it was not measured on that one.
  [[nodiscard]] std::optional<double> seconds(timed what,
                                              const std::string* kind) const;
  /// The estimates have moved by much.
  void announce();
  /// Follows whether a kind has become slower or faster, before a measurement
  /// is taken in.
  void follow_drift(const std::string& kind, const std::string& speed_key,
                    double steps, double seconds);
  /// Works out what a step takes on a kind where it was not measured.
  [[nodiscard]] const step_estimate&
  inferred(const std::string& kind, const std::string& speed_key) const;
  [[nodiscard]] std::optional<predicted_time>
  by_other_kinds(const times& kind, const std::string& speed_key) const;
  [[nodiscard]] std::optional<predicted_time>
  by_model(const std::string& kind, const std::string& speed_key) const;

  std::vector<std::string> speed_names_;
  std::string workload_;
  std::vector<step_profile> others_; ///< of other workloads
  workload_size size_;
  times pool_;
  std::map<std::string, times> kinds_;
  slowdowns slowdowns_; ///< of this run; times of earlier ones are alone
  gang_speeds gang_speeds_; ///< likewise
  std::optional<double> first_step_;
  double stored_first_step_ = 0;
  std::uint64_t version_ = 0;
  bool has_learned_ = false; ///< since `take_unstored`
  std::vector<drift> drifts_;
  // As of `version_`, as far as it was asked for.
  mutable std::optional<step_model> model_;
  /// Of steps that were never measured there, by kind; of all kinds: "".
  mutable std::map<std::string, std::unordered_map<std::string, step_estimate>>
    inferred_;
};

} // namespace hippo
