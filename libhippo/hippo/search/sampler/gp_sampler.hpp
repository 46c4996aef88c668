#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/search/sampler/learning_sampler.hpp"
#include "hippo/search/sampler/mark_levels.hpp"
#include "hippo/search/sampler/schedule_mean.hpp"
#include "hippo/search/sampler/sequence_features.hpp"
#include "hippo/search/surrogate/feasibility.hpp"
#include "hippo/search/surrogate/gaussian_process.hpp"
#include "hippo/search/trial_outcomes.hpp"

namespace hippo {

/// The most leaves of a space that `gp` takes.
inline constexpr std::uint64_t gp_leaves_max = 200;

/// The weight of untrained steps against a candidate of `gp_sampler`.
enum class step_price {
  none,    ///< nothing: the greatest expected improvement is taken
  full,    ///< what is cheap may be had often
  falling, ///< less with every trial, nothing for the last: cheap first
};

/// The options of a `gp_sampler`.
struct gp_options {
  std::uint64_t seed = 0;
  std::uint64_t startup = 10; ///< trials with a result before it learns
  direction better = direction::maximize;
  /// The steps whose results it learns from, sorted; the last is how far any
  /// trial goes.
  std::vector<step_t> marks{1};
  step_t first = 1; ///< how far a trial goes at first, for the work it makes
  step_price price = step_price::none;
  std::uint64_t trials = 1; ///< of the study, for a price that falls
  /// Whether a law of learning-rate schedules is the mean, where it can be.
  bool has_schedule_mean = false;
};

/// Bayesian optimisation by a Gaussian process over what trials are
/// (`sequence_features`), not how they are spelt (Snoek et al., *Practical
/// Bayesian Optimization of Machine Learning Algorithms*, NeurIPS 2012): what
/// shares training is one point to it.
///
/// The first trials are random, until one has succeeded. Then it learns from
/// each trial's first result at or after each mark: the value less the mark's
/// level (`mark_levels`), the worst cut off, of unit variance. Of more than 300
/// results it takes 100 of the best, the latest 100 and 100 by their address.
/// Trials without a result count at their mean. The kernel is fitted anew
/// whenever the results have grown by a tenth, and so is a law of learning-rate
/// schedules (`schedule_mean`), the mean of the process where a loss is
/// minimised.
///
/// Failures and NaN are no values. Once there are some, a second process learns
/// from whole trials which of them fail: to it the value of a trial is -1 if it
/// has failed, at whatever step, else 1, and a trial succeeds if that, noise
/// and all, is above 0 (a regression on labels: Rasmussen and Williams, 2006,
/// section 6.5).
/// The logarithm of that probability (`feasibility`) is added to that of the
/// expected improvement. Candidates of 0.9 of the surest trial's probability or
/// more go before all others (Gelbart et al., *Bayesian Optimization with
/// Unknown Constraints*, UAI 2014, ask for a probability, too).
///
/// Each constraint on a metric is learned so, too, from the slacks of the same
/// results as values are, as a function of the step. Its probability at the
/// last step is a factor of the expected improvement, which is that on the best
/// that is expected of any trial whose last result keeps all constraints; with
/// none, the probability alone counts. What breaks a constraint is measured
/// like any other, and has its part in values and levels.
///
/// Of 150 random combinations, and 150 that differ from one of the best 8
/// trials in one leaf or two, then 40 that differ so from the best of these,
/// that is taken whose logarithm of the expected improvement at the last step,
/// less the price of its untrained steps (`step_price`), is the greatest:
/// `log EI - alpha * log(untrained + 2)` (after Lee et al., *Cost-aware
/// Bayesian Optimization*, arXiv 2003.10870), where alpha is 1 or falls from 1
/// to 0. Of equal ones the cheapest is taken, then the first.
///
/// Its proposals follow from the results, and from which trials were drawn
/// when, on one kind of machine.
/// @complexity for each trial O(n^3 + candidates * n^2), n <= 300 being the
///             results that are looked at; O(1) for each result
class gp_sampler : public learning_sampler {
public:
  /// @param defaults as of `sequence_features`
  /// @param work may be null; otherwise it outlives the sampler
  /// @param outcomes null: there are no constraints; otherwise it outlives the
  ///                 sampler, and has every result before this
  gp_sampler(const search_space& space,
             std::map<std::string, sequence> defaults, gp_options options,
             const untrained_work* work,
             const trial_outcomes* outcomes = nullptr);

  void lengthen(const search_space& space,
                const std::vector<step_t>& marks) override;
  void on_result(trial_no trial, step_t at, double value) override;
  void on_failure(trial_no trial) override;
  void on_retry(trial_no trial) override;
  void on_removal(trial_no trial) override;
  void on_return(trial_no trial) override;

protected:
  /// A result, or a failure.
  struct finding {
    trial_no trial = 0;
    std::size_t mark = 0;
    double value = 0;          ///< NaN: a failure, or worth as much
    std::uint64_t address = 0; ///< a number drawn for it
    step_t at = 0;             ///< where it was measured
    /// It does not count once there are more findings than that.
    std::size_t void_from = SIZE_MAX;
  };

  /// A finding as a model takes it: more is better.
  struct response {
    const finding* of = nullptr;
    double value = 0;  ///< less the mean of the process
    double height = 0; ///< with it, and less the level of the mark
    double violation = 0; ///< by how much it breaks constraints
  };

  /// The values among the first findings, and how to get back from them.
  struct response_table {
    std::vector<response> all;
    std::vector<double> levels; ///< by mark: value of the response 0
    double scale = 1;
  };

  /// A trial that has not failed, the better before the worse.
  struct ranked_trial {
    double violation = 0; ///< of its last result
    double loss = 0;      ///< minus its response at the end, as expected
    trial_no trial = 0;
    friend auto operator<=>(const ranked_trial&, const ranked_trial&) = default;
  };

  /// All that is known when a trial is proposed.
  struct knowledge {
    response_table table;
    gp_posterior values;
    std::vector<ranked_trial> ranking; ///< not empty
    feasibility success{};             ///< sure: none has failed
    /// The logarithm of the greatest probability of success of a trial that has
    /// not failed.
    double surest = 0;
    feasibility limits{}; ///< the study's constraints

    /// Whether a trial succeeds about as surely as any.
    /// @param log_success the logarithm of the probability
    [[nodiscard]] bool is_safe(double log_success) const;
    /// Returns the logarithm of the improvement that is expected on the best
    /// trial that keeps all constraints; 0: none does.
    [[nodiscard]] double log_gain(double mean, double variance) const;
  };

  std::optional<proposal> propose(trial_no trial) override;
  std::optional<proposal> propose(trial_no trial, const knowledge& from);

  void on_drawn(trial_no trial) override { pending_.insert(trial); }

  /// Points whose values are on their way.
  [[nodiscard]] virtual gp_points pending_points();

  /// Makes the model; nothing: there are too few results, or only failures.
  std::optional<knowledge> know();
  [[nodiscard]] gp_points empty_points(std::size_t count) const;
  void set_point(gp_points& points, std::size_t column,
                 std::vector<double> features, step_t at) const;
  [[nodiscard]] std::vector<double>
  features_of(const trial_parameters& values) const {
    return features_.of(values.sequences);
  }
  const std::vector<double>& features_of(trial_no trial);
  [[nodiscard]] const gp_options& options() const { return options_; }

private:
  struct candidate {
    combination taken;
    trial_parameters values;
  };

  /// The model's knowledge of a candidate.
  struct standing {
    combination taken;
    bool is_safe = true; ///< succeeds, about as surely as any
    double score = 0; ///< the greater, the better
    step_t work = 0;  ///< its untrained steps
    double mean = 0;  ///< its response, as expected

    [[nodiscard]] bool goes_before(const standing& place) const {
      if (is_safe != place.is_safe)
        return is_safe;
      return score != place.score ? score > place.score : work < place.work;
    }
  };

  class candidates;

  [[nodiscard]] response_table responses(std::size_t count) const;
  /// Returns a response for each trial among the first findings, -1 if it has
  /// failed, else 1; none if none has.
  [[nodiscard]] std::vector<response> outcomes(std::size_t count) const;
  /// Returns `most` of the responses, in the order in which they came.
  [[nodiscard]] static std::vector<response> chosen(std::vector<response> all,
                                                    std::size_t most);
  void fit();
  void fit_mean();
  /// Returns the mean of the process at a finding, as a value of the objective.
  [[nodiscard]] double mean_at(const finding& result) const;
  void extend_means();
  /// The same at the end of a trial.
  [[nodiscard]] double mean_at_end(const trial_parameters& values) const;
  [[nodiscard]] double mean_at_end(trial_no trial);
  [[nodiscard]] gp_kernel fitted(const gp_points& points,
                                 const Eigen::VectorXd& values,
                                 double noise_least = noise_min) const;
  [[nodiscard]] Eigen::Index groups() const { return kernel_.lengths.size(); }
  [[nodiscard]] gp_points points_of(const std::vector<response>& xs);
  /// Returns trials at their ends.
  template <class Trials>
  [[nodiscard]] gp_points ends_of(const Trials& trials);
  [[nodiscard]] static std::vector<trial_no>
  trials_of(const std::vector<response>& xs);
  [[nodiscard]] static Eigen::VectorXd
  values_in(const std::vector<response>& xs);
  /// Returns what is left to a constraint's limit; nothing if that is the same
  /// for all.
  [[nodiscard]] std::optional<slack_values>
  slacks_in(const std::vector<response>& xs, std::size_t constraint) const;

  combination random_candidate(trial_no trial, std::uint64_t number);
  combination near_candidate(const combination& from, trial_no trial,
                             std::uint64_t number);
  [[nodiscard]] std::vector<ranked_trial>
  rank_trials(const gp_posterior& posterior, const response_table& table,
              const std::vector<response>& seen,
              const std::set<trial_no>& failed);

  [[nodiscard]] step_t end_of(step_t length) const;
  /// Adds to the scores of candidates the logarithms of the probabilities that
  /// they keep the limits, of those that may be the best.
  /// @returns their places, in order
  [[nodiscard]] static std::vector<std::size_t>
  limited(std::vector<standing>& all, const gp_points& points,
          const knowledge& known);
  /// Returns the best of some candidates, the first of equal ones; nothing of
  /// none.
  [[nodiscard]] std::optional<standing> best_of(std::vector<candidate> xs,
                                                const knowledge& known) const;
  [[nodiscard]] double price_factor() const;

  std::map<std::string, sequence> defaults_;
  sequence_features features_;
  std::vector<std::uint32_t> groups_; ///< of the features' coordinates
  gp_options options_;
  schedule_mean mean_;
  std::vector<double> means_; ///< at findings, the first of them
  std::unordered_map<trial_no, double> end_means_;
  std::vector<finding> findings_;              ///< as they came
  std::unordered_map<trial_no, std::size_t> reached_; ///< marks, by trial
  std::set<trial_no> pending_; ///< drawn, and nothing found yet
  std::map<trial_no, std::size_t> failures_; ///< their places in `findings_`
  /// Of trials that do not count: from where on their findings are void.
  std::map<trial_no, std::size_t> removed_;
  const trial_outcomes* outcomes_; ///< null: there are no constraints
  gp_kernel kernel_;
  gp_kernel success_kernel_;
  std::vector<gp_kernel> limit_kernels_; ///< by constraint
  std::size_t fitted_ = 0; ///< findings by which the kernels were fitted
  std::unordered_map<trial_no, std::vector<double>> known_features_;
};

} // namespace hippo
