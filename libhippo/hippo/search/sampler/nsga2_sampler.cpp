#include "hippo/search/sampler/nsga2_sampler.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace hippo {

namespace {

constexpr double crossover_probability = 0.9;
constexpr double distribution_index = 20; ///< of crossover and of mutation

/// How often a trial is made anew whose combination was tried.
constexpr std::uint64_t children_max = 16;

std::optional<std::uint64_t>
decision_of(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& x,
            std::uint32_t leaf) {
  for (const auto& [other, decision] : x)
    if (other == leaf)
      return decision;
  return std::nullopt;
}

std::string name_of(trial_no trial) {
  return trial < past_trials_begin ? std::to_string(trial) : "a past result";
}

double share_of(std::uint64_t decision) {
  return static_cast<double>(decision)
         / static_cast<double>(space_leaf::high_end);
}

std::uint64_t decision_at(double share) {
  return static_cast<std::uint64_t>(
    std::llround(std::clamp(share, 0.0, 1.0)
                 * static_cast<double>(space_leaf::high_end)));
}

/// Simulated binary crossover of two numbers from 0 to 1, which keeps within
/// these bounds. @returns the child that is nearer to `a`
double crossed(double a, double b, double draw) {
  const auto low = std::min(a, b), high = std::max(a, b);
  const auto gap = high - low;
  if (gap < 1e-14)
    return a;
  const bool takes_low = a <= b;
  const auto to_bound = takes_low ? low : 1 - high;
  const auto beta = 1 + 2 * to_bound / gap;
  const auto alpha = 2 - std::pow(beta, -(distribution_index + 1));
  const auto exponent = 1 / (distribution_index + 1);
  const auto spread = draw <= 1 / alpha
                        ? std::pow(draw * alpha, exponent)
                        : std::pow(1 / (2 - draw * alpha), exponent);
  return takes_low ? 0.5 * (low + high - spread * gap)
                   : 0.5 * (low + high + spread * gap);
}

/// Polynomial mutation of a number from 0 to 1.
double mutated(double x, double draw) {
  const auto power = distribution_index + 1;
  const auto below = draw < 0.5;
  const auto rest = std::pow(below ? 1 - x : x, power);
  const auto share = below ? 2 * draw : 2 * (1 - draw);
  const auto moved = std::pow(share + (1 - share) * rest, 1 / power);
  return below ? x + moved - 1 : x + 1 - moved;
}

} // namespace

nsga2_sampler::nsga2_sampler(search_space space, std::uint64_t seed,
                             std::uint64_t population, step_t first,
                             const untrained_work* work,
                             const trial_outcomes& outcomes)
  : learning_sampler(std::move(space), seed, first, work),
    population_(population),
    outcomes_(outcomes) {
  assert(population_ >= 2);
}

void nsga2_sampler::on_result(trial_no trial, step_t at, double) {
  if (at == 0 || taken(trial) == nullptr)
    return;
  auto& board = boards_[at];
  board.insert(trial);
  if (board.size() >= population_)
    model_step_ = std::max(model_step_, at);
}

std::optional<learning_sampler::proposal>
nsga2_sampler::propose(trial_no trial) {
  if (model_step_ == 0)
    return std::nullopt;
  const auto& board = boards_.at(model_step_);
  const auto parents = outcomes_.survivors_of({board.begin(), board.end()},
                                              model_step_, population_);
  for (std::uint64_t attempt = 0; attempt < children_max; ++attempt) {
    counter_rng draws{{seed(), trial, attempt}, "parents"};
    const auto better_of_two = [&]() -> const survivor& {
      const auto& a = parents[draws.below(parents.size())];
      const auto& b = parents[draws.below(parents.size())];
      const auto rank = [](const survivor& x) {
        return std::pair{x.level, -x.distance};
      };
      return rank(b) < rank(a) ? b : a;
    };
    const auto a = better_of_two().place;
    auto b = better_of_two().place;
    for (int again = 0; b == a && again < 8; ++again)
      b = better_of_two().place;
    auto made = offspring(trial, attempt, *taken(a), *taken(b));
    if (!was_tried(made))
      return proposal{std::move(made), std::nullopt,
                      "cross of " + name_of(a) + ", " + name_of(b)};
  }
  return std::nullopt;
}

learning_sampler::combination
nsga2_sampler::offspring(trial_no trial, std::uint64_t attempt,
                         const combination& left, const combination& right) {
  counter_rng whole{{seed(), trial, attempt}, "crossover"};
  const bool crosses = whole.unit() < crossover_probability;
  const auto mutation_probability = 1 / static_cast<double>(left.size());
  return record([&](const space_leaf& leaf) -> std::uint64_t {
    const auto number = number_of(leaf);
    counter_rng draws{{seed(), trial, attempt}, leaf.path()};
    auto own = decision_of(left, number), other = decision_of(right, number);
    if (!own)
      own = std::exchange(other, std::nullopt);
    const bool exchanges = draws.unit() < 0.5 && crosses && other;
    const auto moved = draws.unit(), changed = draws.unit(),
               shift = draws.unit();
    const auto ways = leaf.ways();
    if (!own || (ways > 0 && changed < mutation_probability))
      return ways > 0 ? draws.below(ways) : decision_at(shift);
    if (ways > 0)
      return exchanges ? *other : *own;
    auto share = share_of(*own);
    if (exchanges) { // which child is whose is drawn
      const auto mate = share_of(*other);
      share = draws.unit() < 0.5 ? crossed(share, mate, moved)
                                 : crossed(mate, share, moved);
    }
    if (changed < mutation_probability)
      share = mutated(share, shift);
    return decision_at(share);
  });
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option nsga2_population{
  .name = "population",
  .low = 2,
  .high = 10'000,
  .fallback = 20.0,
  .meaning = "the number of possible parents, and of results at one step"
             " before the first children"};

constexpr option nsga2_options[]{nsga2_population};

std::string nsga2_goals_refusal(const study_spec& study) {
  return study.objective.all().is_one()
           ? "nsga2 is for several metrics, or constraints: use tpe or gp for"
             " one metric"
           : std::string{};
}

} // namespace

std::unique_ptr<sampler>
nsga2_settings::make(const study_spec& study, const trial_course& course,
                     const sampler_context& context) const {
  return std::make_unique<nsga2_sampler>(study.space, study.seed, population,
                                         course.first, context.work,
                                         *context.outcomes);
}

const sampler_type nsga2_sampler_type{
  .name = "nsga2",
  .meaning = "values are made from those of two good trials, for several"
             " metrics or constraints",
  .learns = true,
  .options = nsga2_options,
  .is_slow = true,
  .lengths_refusal = "nsga2 takes trials of one length: use tpe, gp or random,"
                     " or give max_steps one number",
  .goals_refusal = nsga2_goals_refusal,
  .read = [](option_reader& from) -> std::shared_ptr<sampler_settings> {
    auto result = std::make_shared<nsga2_settings>();
    result->population = from.whole(nsga2_population);
    return result;
  }};

} // namespace hippo
