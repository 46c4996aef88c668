#include "hippo/tune/tpe_sampler.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

namespace {

/// The most good trials, as in hyperopt and Optuna.
constexpr std::size_t good_max = 25;

} // namespace

tpe_sampler::tpe_sampler(search_space space, std::uint64_t seed,
                         std::uint64_t startup, std::uint64_t candidates,
                         direction better, step_t first,
                         const untrained_work* work)
  : space_(std::move(space)),
    seed_(seed),
    startup_(startup),
    candidates_(candidates),
    better_(better),
    first_(first),
    work_(work),
    order_(space_, seed, true) {}

trial_parameters tpe_sampler::draw(trial_no trial) {
  auto taken = proposal(trial);
  if (!taken)
    taken = random(trial);
  tried_.insert(*taken);
  auto result = values_of(*taken);
  taken_[trial] = std::move(*taken);
  return result;
}

std::optional<trial_parameters> tpe_sampler::recall(trial_no trial) const {
  const auto i = taken_.find(trial);
  if (i == taken_.end())
    return std::nullopt;
  return values_of(i->second);
}

trial_parameters tpe_sampler::branch(const fork&) {
  assert(false && "no algorithm with this sampler forks");
  return {};
}

void tpe_sampler::on_result(trial_no trial, step_t at, double value) {
  if (at == 0 || !taken_.contains(trial))
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
  if (taken_.contains(trial)
      && std::find(failed_.begin(), failed_.end(), trial) == failed_.end())
    failed_.push_back(trial);
}

tpe_sampler::leaf_no tpe_sampler::number_of(const space_leaf& leaf) {
  const auto found = leaves_.find(leaf.path());
  if (found != leaves_.end())
    return found->second;
  const auto number = static_cast<leaf_no>(leaves_.size());
  leaves_.emplace(leaf.path(), number);
  return number;
}

tpe_sampler::combination tpe_sampler::record(const leaf_decider& pick) {
  combination result;
  space_.walk([&](const space_leaf& leaf) {
    const auto decision = pick(leaf);
    result.emplace_back(number_of(leaf), decision);
    return decision;
  });
  return result;
}

trial_parameters tpe_sampler::values_of(const combination& x) const {
  auto next = x.begin();
  return space_.decide([&](const space_leaf&) { return (next++)->second; });
}

tpe_sampler::combination tpe_sampler::random(trial_no trial) {
  const auto size = space_.size();
  if (!size)
    return record(order_(trial));
  while (next_random_ < *size) {
    auto result = record(order_(next_random_++));
    if (!tried_.contains(result))
      return result;
  }
  return record(order_(trial)); // everything was tried
}

std::optional<tpe_sampler::combination>
tpe_sampler::proposal(trial_no trial) {
  if (model_step_ == 0)
    return std::nullopt;
  auto found = draw_candidates(trial);
  std::erase_if(found,
                [&](const candidate& x) { return tried_.contains(x.taken); });
  if (found.empty())
    return std::nullopt;
  auto best = found.begin();
  if (work_ != nullptr) {
    auto least = work_->of(values_of(best->taken), first_);
    for (auto x = std::next(best);
         x != found.end() && x->score == best->score && least > 0; ++x) {
      const auto work = work_->of(values_of(x->taken), first_);
      if (work < least) {
        best = x;
        least = work;
      }
    }
  }
  return std::move(best->taken);
}

std::vector<tpe_sampler::candidate>
tpe_sampler::draw_candidates(trial_no trial) {
  std::vector<const combination*> good, rest;
  split_model(good, rest);
  std::unordered_map<leaf_no, densities> known;
  const auto density_of = [&](const space_leaf& leaf,
                              leaf_no number) -> densities& {
    const auto found = known.find(number);
    if (found != known.end())
      return found->second;
    const auto decisions = [number](const auto& trials) {
      std::vector<std::uint64_t> result;
      for (const auto* taken : trials)
        for (const auto& [other, decision] : *taken)
          if (other == number)
            result.push_back(decision);
      return result;
    };
    return known
      .emplace(number, densities{{leaf, decisions(good)},
                                 {leaf, decisions(rest)}})
      .first->second;
  };
  std::vector<candidate> result;
  for (std::uint64_t i = 0; i < candidates_; ++i) {
    candidate x{0, i, {}};
    x.taken = record([&](const space_leaf& leaf) {
      auto& density = density_of(leaf, number_of(leaf));
      addressed_draws draws{{seed_, trial, i}, leaf.path()};
      const auto decision = density.good.draw(draws);
      x.score += density.good.log_of(decision) - density.rest.log_of(decision);
      return decision;
    });
    result.push_back(std::move(x));
  }
  std::sort(result.begin(), result.end(),
            [](const candidate& x, const candidate& y) {
              return x.score != y.score ? x.score > y.score
                                        : x.number < y.number;
            });
  return result;
}

void tpe_sampler::split_model(std::vector<const combination*>& good,
                              std::vector<const combination*>& rest) const {
  const auto& [ranking, trials, in_order] = boards_.at(model_step_);
  auto known = in_order;
  for (auto trial : failed_)
    if (!trials.contains(trial))
      known.push_back(trial);
  const auto good_count = std::min((known.size() + 9) / 10, good_max);
  std::unordered_set<trial_no> is_good;
  for (const auto& x : ranking) {
    if (is_good.size() == good_count)
      break;
    is_good.insert(x.trial);
    good.push_back(&taken_.at(x.trial));
  }
  const auto every = (known.size() + rest_max - 1) / rest_max;
  for (std::size_t i = 0; i < known.size(); i += every)
    if (!is_good.contains(known[i]))
      rest.push_back(&taken_.at(known[i]));
}

} // namespace hippo
