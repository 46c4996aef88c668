#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hippo/search/algorithm/algorithm.hpp"

namespace hippo {

/// The observations of an arm of a bandit, in order: the sums of all runs of
/// observations, in O(1) each.
///
/// A value that is not finite is worse than any: a run with such an observation
/// has the mean -infinity.
class observed_rewards {
public:
  /// Adds an observation; greater is better.
  void add(double reward);

  [[nodiscard]] std::uint64_t size() const { return sums_.size() - 1; }

  /// Returns the mean of all. REQUIRES: there is one.
  [[nodiscard]] double mean() const { return mean_of(0, size()); }

  /// Returns the least mean of so many consecutive observations.
  /// REQUIRES: `0 < length <= size()`
  /// @complexity O(size)
  [[nodiscard]] double least_mean(std::uint64_t length) const;

private:
  [[nodiscard]] double mean_of(std::uint64_t begin, std::uint64_t end) const;

  std::vector<double> sums_{0};        ///< of the first so many, if finite
  std::vector<std::uint64_t> bad_{0};  ///< of these, how many are not
};

/// Sub-sampling (Huang et al., *An Efficient Hyperparameter Optimization Method
/// with a Sub-sampling Bandit*, arXiv 2007.05670; the rule is Chan's, *The
/// multi-armed bandit problem: an efficient non-parametric solution*, Annals of
/// Statistics 2020). Trials are arms, and each of their measurements is an
/// observation. All are trained to the first rung; then, whenever none is
/// training:
///
/// - the leader is the trial with the most observations; of equal ones that
///   with the better mean, then the leader before, then the lower number;
/// - a trial with fewer, n_k, is better if n_k < sqrt(ln n), where n counts the
///   observations of all, or if its mean is no worse than that of *some* n_k
///   consecutive observations of the leader. On curves that improve these are
///   the leader's first ones, so that like is compared with like;
/// - all better trials go on to their next rung; if there is none, the leader
///   does.
///
/// It ends when the leader is on the last rung and no trial is better. What is
/// decided does not depend on who was faster.
/// @complexity O(trials + rungs * measurements of the leader) for a decision;
///             memory O(measurements)
class sub_sampling : public algorithm {
public:
  /// REQUIRES: `rungs` is not empty and increases strictly.
  sub_sampling(std::uint64_t trials, std::vector<step_t> rungs,
               direction better);

  [[nodiscard]] std::uint64_t trials() const override { return trials_; }
  [[nodiscard]] std::vector<step_t> rungs() const override { return rungs_; }
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool done() const override { return done_; }
  /// As if each round halved the trials that are left.
  [[nodiscard]] expected_work to_come() const override;

private:
  struct arm {
    observed_rewards rewards;
    std::size_t rung = 0; ///< where it is, or on its way to
    step_t measured_at = 0; ///< last
    bool is_training = true;
    bool is_out = false; ///< failed
  };

  /// Decides who goes on if nobody is awaited.
  std::vector<action> proceed();
  [[nodiscard]] std::optional<trial_no> find_leader() const;
  /// Those that have fewer observations than the leader and are better.
  [[nodiscard]] std::vector<trial_no> better_than(const arm& leader) const;
  void go_on(trial_no trial, std::vector<action>& out);

  std::uint64_t trials_;
  std::vector<step_t> rungs_;
  direction better_;
  std::vector<arm> arms_; ///< of the trials that are open
  std::uint64_t awaited_; ///< trials that are training, or to be
  std::optional<trial_no> leader_;
  std::uint64_t round_ = 0;
  /// In which round trials that have failed were awaited.
  std::map<trial_no, std::uint64_t> failed_in_;
  bool done_ = false;
};

} // namespace hippo
