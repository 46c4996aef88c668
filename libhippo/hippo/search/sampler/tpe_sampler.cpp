#include "hippo/search/sampler/tpe_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "hippo/search/think/work_meter.hpp"

namespace hippo {

namespace {

/// The most good trials, as in hyperopt and Optuna.
constexpr std::size_t good_max = 25;

} // namespace

tpe_sampler::tpe_sampler(search_space space, std::uint64_t seed,
                         std::uint64_t startup, std::uint64_t candidates,
                         direction better, step_t first,
                         const untrained_work* work,
                         const trial_outcomes* outcomes)
  : learning_sampler(std::move(space), seed, first, work),
    startup_(startup),
    candidates_(candidates),
    better_(better),
    outcomes_(outcomes) {}

void tpe_sampler::on_result(trial_no trial, step_t at, double value) {
  if (at == 0 || taken(trial) == nullptr
      || (has_lengths() && at != length_of(trial)))
    return;
  auto& [ranking, trials, in_order] = boards_[at];
  if (!trials.insert(trial).second) // notified before
    return;
  ranking.insert(standing_of(trial, value, better_));
  in_order.push_back(trial);
  if (in_order.size() >= startup_)
    model_step_ = std::max(model_step_, at);
}

void tpe_sampler::on_failure(trial_no trial) {
  if (taken(trial) != nullptr
      && std::find(failed_.begin(), failed_.end(), trial) == failed_.end())
    failed_.push_back(trial);
}

std::optional<learning_sampler::proposal>
tpe_sampler::propose(trial_no trial) {
  if (has_lengths())
    model_step_ = nearest_board(length_for(trial));
  if (model_step_ == 0)
    return std::nullopt;
  auto found = draw_candidates(trial);
  std::erase_if(found,
                [&](const candidate& x) { return was_tried(x.taken); });
  if (found.empty())
    return std::nullopt;
  auto best = found.begin();
  if (looks_at_work()) {
    auto least = untrained(values_of(best->taken));
    for (auto x = std::next(best);
         x != found.end() && x->score == best->score && least > 0; ++x) {
      const auto work = untrained(values_of(x->taken));
      if (work < least) {
        best = x;
        least = work;
      }
    }
  }
  return proposal{std::move(best->taken), std::nullopt};
}

step_t tpe_sampler::nearest_board(step_t length) const {
  step_t result = 0;
  const auto distance = [&](step_t x) {
    return std::abs(std::log(static_cast<double>(x))
                    - std::log(static_cast<double>(length)));
  };
  for (const auto& [at, x] : boards_)
    if (x.in_order.size() >= startup_
        && (result == 0 || distance(at) < distance(result)))
      result = at;
  return result;
}

/// The decisions of some trials by leaf, in the order of the trials.
std::vector<std::vector<std::uint64_t>>
tpe_sampler::by_leaf(const std::vector<const combination*>& trials) {
  std::vector<std::vector<std::uint64_t>> result;
  for (const auto* taken : trials)
    for (const auto& [leaf, decision] : *taken) {
      if (result.size() <= leaf)
        result.resize(leaf + 1);
      result[leaf].push_back(decision);
    }
  return result;
}

std::vector<tpe_sampler::candidate>
tpe_sampler::draw_candidates(trial_no trial) {
  std::vector<const combination*> good, rest;
  split_model(good, rest);
  const auto good_of = by_leaf(good), rest_of = by_leaf(rest);
  std::unordered_map<leaf_no, densities> known;
  const auto density_of = [&](const space_leaf& leaf,
                              leaf_no number) -> densities& {
    const auto found = known.find(number);
    if (found != known.end())
      return found->second;
    const auto decisions = [number](const auto& all) {
      return number < all.size() ? all[number] : std::vector<std::uint64_t>{};
    };
    return known
      .emplace(number, densities{{leaf, decisions(good_of)},
                                 {leaf, decisions(rest_of)}})
      .first->second;
  };
  std::vector<candidate> result;
  for (std::uint64_t i = 0; i < candidates_; ++i) {
    candidate x{0, i, {}};
    // Every other one lies where its author believes that it should.
    const auto believed =
      has_prior() && i % 2 == 1 ? draw_believed(trial, i) : combination{};
    const auto believed_of = [&](leaf_no leaf) {
      return std::find_if(believed.begin(), believed.end(),
                          [leaf](const auto& y) { return y.first == leaf; })
        ->second;
    };
    x.taken = record(with_length(trial, [&](const space_leaf& leaf) {
      auto& density = density_of(leaf, number_of(leaf));
      counter_rng draws{{seed(), trial, i}, leaf.path()};
      const auto decision = believed.empty() ? density.good.draw(draws)
                                             : believed_of(number_of(leaf));
      x.score += density.good.log_of(decision) - density.rest.log_of(decision);
      return decision;
    }));
    if (has_prior())
      x.score += belief_in(x.taken);
    work_meter::charge(x.taken.size());
    result.push_back(std::move(x));
  }
  std::sort(result.begin(), result.end(),
            [](const candidate& x, const candidate& y) {
              return x.score != y.score ? x.score > y.score
                                        : x.number < y.number;
            });
  return result;
}

std::vector<trial_no> tpe_sampler::best_of(const std::vector<trial_no>& trials,
                                           std::size_t count) const {
  if (outcomes_ != nullptr)
    return outcomes_->best_of(trials, model_step_, count);
  const auto& ranking = boards_.at(model_step_).ranking;
  std::vector<trial_no> result;
  for (auto x = ranking.begin(); x != ranking.end() && result.size() < count;
       ++x)
    if (!removed_.contains(x->trial))
      result.push_back(x->trial);
  return result;
}

void tpe_sampler::split_model(std::vector<const combination*>& good,
                              std::vector<const combination*>& rest) const {
  const auto& model = boards_.at(model_step_);
  auto known = model.in_order;
  const auto is_removed = [&](trial_no x) { return removed_.contains(x); };
  std::erase_if(known, is_removed);
  const auto with_results = known;
  for (auto trial : failed_)
    if (!model.trials.contains(trial) && !is_removed(trial))
      known.push_back(trial);
  const auto good_count = std::min((known.size() + 9) / 10, good_max);
  std::unordered_set<trial_no> is_good;
  for (const auto trial : best_of(with_results, good_count)) {
    is_good.insert(trial);
    good.push_back(taken(trial));
  }
  const auto every = (known.size() + rest_max - 1) / rest_max;
  for (std::size_t i = 0; i < known.size(); i += every)
    if (!is_good.contains(known[i]))
      rest.push_back(taken(known[i]));
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option tpe_startup{.name = "startup",
                             .low = 1,
                             .high = max_trials,
                             .fallback = 10.0,
                             .meaning =
                               "results at one step before the sampler learns"};

constexpr option tpe_candidates{
  .name = "candidates",
  .low = 1,
  .high = 10'000,
  .fallback = 24.0,
  .meaning = "combinations drawn for each trial, of which the best is taken;"
             " candidates times the choices and ranges of the space are at"
             " most 100,000"};

constexpr option tpe_options[]{tpe_startup, tpe_candidates};

} // namespace

std::unique_ptr<sampler>
tpe_settings::make(const study_spec& study, const trial_course& course,
                   const sampler_context& context) const {
  return std::make_unique<tpe_sampler>(study.space, study.seed, startup, drawn,
                                       study.objective.direction, course.first,
                                       context.work, context.outcomes);
}

const sampler_type tpe_sampler_type{
  .name = "tpe",
  .meaning = "values are learned from results by the tree-structured Parzen"
             " estimator",
  .learns = true,
  .options = tpe_options,
  .takes_prior = true,
  .read = [](option_reader& from) -> std::shared_ptr<sampler_settings> {
    auto result = std::make_shared<tpe_settings>();
    result->startup = from.whole(tpe_startup);
    result->drawn = from.whole(tpe_candidates);
    return result;
  }};

} // namespace hippo
