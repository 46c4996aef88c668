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

/// The rank correlation of results at a step with those at the next one, below
/// which the former tell nothing of the latter.
constexpr double order_min = 0.3;
/// The least number of trials with both results for that judgement.
constexpr std::size_t common_min = 10;

} // namespace

tpe_sampler::tpe_sampler(search_space space, std::uint64_t seed,
                         std::uint64_t startup, std::uint64_t candidates,
                         direction better, step_t first,
                         std::vector<step_t> marks, const untrained_work* work,
                         const trial_outcomes* outcomes)
  : learning_sampler(std::move(space), seed, first, work), startup_(startup),
    candidates_(candidates), better_(better), marks_(std::move(marks)),
    outcomes_(outcomes) {}

void tpe_sampler::lengthen(const search_space& space,
                           const std::vector<step_t>& marks) {
  learning_sampler::lengthen(space, marks);
  marks_.insert(marks_.end(), marks.begin(), marks.end());
}

void tpe_sampler::on_result(trial_no trial, step_t at, double value) {
  if (taken(trial) == nullptr || (has_lengths() && at != length_of(trial)))
    return;
  const auto passed = static_cast<std::size_t>(
    std::upper_bound(marks_.begin(), marks_.end(), at) - marks_.begin());
  auto& last = reached_[trial];
  if (passed <= last.marks) // a result of that mark was told
    return;
  if (last.marks > 0) {
    auto& before = boards_.at(last.at);
    before.farthest.erase(before.by_trial.at(trial));
  } else {
    in_order_.push_back(trial);
  }
  last = {passed, at};
  const auto own = standing_of(trial, value, better_);
  auto& here = boards_[at];
  here.ranking.insert(own);
  here.farthest.insert(own);
  here.by_trial.emplace(trial, own);
}

void tpe_sampler::on_failure(trial_no trial) {
  if (taken(trial) != nullptr)
    failed_.insert(trial);
}

std::optional<learning_sampler::proposal>
tpe_sampler::propose(trial_no trial) {
  const auto model = split_trials(model_steps(trial));
  if (!model)
    return std::nullopt;
  auto found = draw_candidates(trial, *model);
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
    if (x.ranking.size() >= startup_
        && (result == 0 || distance(at) < distance(result)))
      result = at;
  return result;
}

double tpe_sampler::kept_order(const board& before, const board& after) {
  std::vector<standing> common; // in the order of `before`
  for (const auto& x : after.ranking)
    if (const auto found = before.by_trial.find(x.trial);
        found != before.by_trial.end())
      common.push_back(found->second);
  if (common.size() < common_min)
    return 1;
  std::sort(common.begin(), common.end());
  double squares = 0; // of the differences of places
  double place = 0;
  for (const auto& x : after.ranking) {
    const auto found = before.by_trial.find(x.trial);
    if (found == before.by_trial.end())
      continue;
    const auto former =
      std::lower_bound(common.begin(), common.end(), found->second)
      - common.begin();
    const auto off = static_cast<double>(former) - place++;
    squares += off * off;
  }
  return 1 - 6 * squares / (place * (place * place - 1));
}

std::vector<step_t> tpe_sampler::model_steps(trial_no trial) const {
  if (has_lengths()) {
    const auto nearest = nearest_board(length_for(trial));
    return nearest == 0 ? std::vector<step_t>{} : std::vector{nearest};
  }
  std::vector<step_t> result;
  const board* before = nullptr;
  for (const auto& [at, x] : boards_) {
    if (before != nullptr && kept_order(*before, x) < order_min)
      result.clear();
    result.push_back(at);
    before = &x;
  }
  std::reverse(result.begin(), result.end());
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
tpe_sampler::draw_candidates(trial_no trial, const split& model) {
  const auto good_of = by_leaf(model.good), rest_of = by_leaf(model.rest);
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

std::vector<trial_no> tpe_sampler::best_at(step_t at, std::size_t count) const {
  std::vector<trial_no> result;
  for (const auto& x : boards_.at(at).farthest) {
    if (outcomes_ == nullptr && (x.is_nan || result.size() == count))
      break;
    if (!removed_.contains(x.trial) && !failed_.contains(x.trial)
        && (outcomes_ == nullptr || !outcomes_->at(x.trial, at).is_nan))
      result.push_back(x.trial);
  }
  return result.size() > count ? outcomes_->best_of(result, at, count) : result;
}

std::optional<tpe_sampler::split>
tpe_sampler::split_trials(const std::vector<step_t>& steps) const {
  if (steps.empty())
    return std::nullopt;
  const bool has_all = steps.size() == boards_.size();
  auto known = in_order_;
  std::erase_if(known, [&](trial_no trial) {
    return removed_.contains(trial)
           || (!has_all
               && !std::binary_search(steps.rbegin(), steps.rend(),
                                      reached_.at(trial).at));
  });
  if (known.size() < startup_)
    return std::nullopt;
  for (const auto trial : failed_)
    if (!reached_.contains(trial) && !removed_.contains(trial))
      known.push_back(trial);
  split result;
  std::unordered_set<trial_no> is_good;
  auto wanted = std::min((known.size() + 9) / 10, good_max);
  for (const auto at : steps)
    for (const auto trial : best_at(at, wanted)) {
      --wanted;
      is_good.insert(trial);
      result.good.push_back(taken(trial));
    }
  const auto every = (known.size() + rest_max - 1) / rest_max;
  for (std::size_t i = 0; i < known.size(); i += every)
    if (!is_good.contains(known[i]))
      result.rest.push_back(taken(known[i]));
  return result;
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option tpe_startup{
  .name = "startup",
  .low = 1,
  .high = max_trials,
  .fallback = 10.0,
  .meaning = "trials with a result before the sampler learns"};

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
  return std::make_unique<tpe_sampler>(
    study.space, study.seed, startup, drawn, study.objective.direction,
    course.first, course.marks, context.work, context.outcomes);
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
