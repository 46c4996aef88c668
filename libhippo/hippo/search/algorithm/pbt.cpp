#include "hippo/search/algorithm/pbt.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/algorithm/interval_steps.hpp"
#include "hippo/search/sampler/pbt_explore.hpp"
#include "hippo/search/surrogate/counter_rng.hpp"

namespace hippo {

pbt::pbt(std::uint64_t size, step_t max, step_t interval,
         std::uint64_t replaced, direction better, std::uint64_t seed)
  : size_(size), max_(max), interval_(interval), replaced_(replaced),
    seed_(seed), trials_(size, better), end_(std::min(interval, max)) {}

std::vector<step_t> pbt::rungs() const {
  return interval_steps(interval_, max_);
}

std::vector<action> pbt::open(std::uint64_t trials) {
  return trials_.open(trials, end_);
}

std::vector<action> pbt::on_result(trial_no trial, step_t at, double value) {
  // A fork shares steps before `end_` alone with its parent.
  if (done_ || at != end_ || !trials_.report(trial, value))
    return {};
  return proceed();
}

std::vector<action> pbt::on_failure(trial_no trial) {
  if (!trials_.remove(trial) || done_)
    return {};
  failed_in_[trial] = end_;
  return proceed();
}

bool pbt::take_back(trial_no trial) {
  // Who failed in a generation that has ended was replaced.
  const auto in = failed_in_.extract(trial);
  if (!in || in.mapped() != end_ || (done_ && trials_.reported() > 0))
    return false;
  trials_.train(trial);
  done_ = false;
  return true;
}

std::vector<action> pbt::proceed() {
  std::vector<action> actions;
  if (!trials_.is_complete())
    return actions;
  if (end_ == max_ || trials_.reported() == 0) {
    done_ = true;
    return actions;
  }
  const auto ranking = trials_.take_ranking();
  std::vector<trial_no> parents; // the best
  for (const auto& x : ranking)
    if (parents.size() < replaced_ && !x.is_nan)
      parents.push_back(x.trial);
  const auto missing = size_ - ranking.size();
  const auto worst =
    parents.empty() || missing >= replaced_ ? 0 : replaced_ - missing;
  const auto kept = ranking.size() - worst;
  begin_ = end_;
  end_ = max_ - begin_ > interval_ ? begin_ + interval_ : max_;
  for (std::size_t i = 0; i < kept; ++i) {
    trials_.train(ranking[i].trial);
    actions.emplace_back(advance{ranking[i].trial, end_});
  }
  for (std::size_t i = kept; i < ranking.size(); ++i) {
    trials_.remove(ranking[i].trial);
    actions.emplace_back(prune{ranking[i].trial});
    fork_from(parents, actions);
  }
  if (!parents.empty())
    for (std::uint64_t i = 0; i < missing; ++i)
      fork_from(parents, actions);
  return actions;
}

void pbt::fork_from(const std::vector<trial_no>& parents,
                    std::vector<action>& out) {
  const auto trial = trials_.add();
  counter_rng draws{{seed_, trial}, "parent"};
  out.emplace_back(fork{trial, parents[draws.below(parents.size())], begin_});
  out.emplace_back(advance{trial, end_});
}

// -- options ------------------------------------------------------------------

namespace {

/// Members of a population where the study does not say.
constexpr std::uint64_t population_default = 10;

constexpr option pbt_population{.name = "population",
                                .low = 1,
                                .high = max_trials,
                                .fallback_text = "`budget.trials`, else 10",
                                .meaning = "members of the population"};

constexpr option pbt_quantile{
  .name = "quantile",
  .type = option_type::real,
  .high = 0.5,
  .fallback = 0.2,
  .meaning = "share of the population that is replaced, rounded up"};

constexpr option pbt_resample{
  .name = "resample",
  .type = option_type::real,
  .high = 1,
  .fallback = resample_default,
  .meaning = "probability that a value is drawn anew; or a map of"
             " `probability` and `space`"};

constexpr option pbt_options[]{pbt_population, interval_option, max_option,
                               pbt_quantile,   pbt_resample,    sampler_option};

std::uint64_t read_population(algorithm_reader& from) {
  const auto budget = from.study().budget.trials;
  const auto result = from.whole(pbt_population, 1, max_trials,
                                 budget.value_or(population_default));
  if (from.has(pbt_population) && budget && *budget != result)
    from.error(from.path_of(pbt_population),
               "is " + std::to_string(result) + ", but `budget.trials` is "
                 + std::to_string(*budget)
                 + ": both say how many trials begin, so give one of them");
  return result;
}

/// Finds how many members a generation replaces, and whether that fits.
void read_generations(algorithm_reader& from, pbt_settings& to) {
  const auto quantile = from.real(pbt_quantile);
  to.resample = from.real(pbt_resample);
  // Up, as Ray Tune; 0.2 * 15 must not become 4 because 0.2 is inexact.
  const auto exact = quantile * static_cast<double>(to.trials);
  to.replaced = std::min(static_cast<std::uint64_t>(std::ceil(exact - 1e-6)),
                         to.trials / 2);
  const auto generations = (to.max - 1) / to.interval + 1;
  if (to.trials > max_trials / generations)
    from.error(from.path_of(interval_option),
               "a population of " + std::to_string(to.trials) + " over "
                 + std::to_string(generations)
                 + " generations could need more than "
                 + std::to_string(max_trials) + " trials");
  else if (to.replaced == 0 && generations > 1 && quantile > 0)
    from.warn("algorithm", "a population of " + std::to_string(to.trials)
                             + " is too small to replace anybody");
}

std::shared_ptr<algorithm_settings> read_pbt(algorithm_reader& from) {
  auto result = std::make_shared<pbt_settings>();
  result->max = from.read_max();
  result->interval =
    read_interval(from, result->max, (result->max - 1) / 10 + 1);
  result->first = std::min(result->interval, result->max);
  from.read_lengths(*result);
  from.read_sampling();
  if (from.check_space_is_finite())
    result->trials = from.count_trials(read_population(from));
  read_generations(from, *result);
  return result;
}

} // namespace

std::unique_ptr<algorithm> pbt_settings::make(const study_spec& study,
                                              const trial_states*,
                                              const trial_outcomes*) const {
  return std::make_unique<pbt>(trials, max, interval, replaced,
                               study.objective.direction, study.seed);
}

std::unique_ptr<sampler>
pbt_settings::make_sampler(const study_spec& study,
                           const sampler_settings& sampling,
                           const sampler_context&) const {
  return std::make_unique<pbt_explore>(study.space, study.seed,
                                       sampling.is_shuffled(), resample,
                                       study.algorithm.resample);
}

const algorithm_type pbt_type{.name = "pbt",
                              .meaning =
                                "trials change their values while they train",
                              .options = pbt_options,
                              .sampler_may_learn = false,
                              .for_several_goals = full_training_or_halving,
                              .read = read_pbt};

} // namespace hippo
