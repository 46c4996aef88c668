#include "hippo/search/algorithm/hyperband.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/algorithm/rungs.hpp"
#include "hippo/search/algorithm/sha.hpp"
#include "hippo/search/algorithm/sub_sampling.hpp"

namespace hippo {

std::vector<hyperband_bracket> hyperband_brackets(step_t min, step_t max,
                                                  std::uint64_t eta) {
  const auto rungs = rung_steps(min, max, eta);
  std::vector<std::uint64_t> powers{1}; // eta^s for s = 0, ..., s_max
  for (auto at = min; at <= max / eta; at *= eta)
    powers.push_back(powers.back() * eta);
  const auto count = powers.size(); // s_max + 1
  std::vector<hyperband_bracket> result;
  for (auto s = count; s-- > 0;)
    result.push_back(
      {(count * powers[s] + s) / (s + 1),
       {rungs.begin() + static_cast<std::ptrdiff_t>(count - 1 - s),
        rungs.end()}});
  return result;
}

hyperband::hyperband(std::uint64_t trials,
                     std::vector<hyperband_bracket> round, bool in_turn,
                     make_rule rule)
  : trials_(trials),
    round_(std::move(round)),
    in_turn_(in_turn),
    rule_(std::move(rule)) {}

std::vector<step_t> hyperband::rungs() const {
  std::set<step_t> result;
  std::uint64_t before = 0; // trials
  for (const auto& x : round_) {
    if (before >= trials_)
      break;
    result.insert(x.rungs.begin(), x.rungs.end());
    before += x.trials;
  }
  return {result.begin(), result.end()};
}

std::vector<action> hyperband::open(std::uint64_t trials) {
  while (opened_ < trials) {
    if (brackets_.empty() || opened_ == end_of(brackets_.back())) {
      const auto& next = round_[brackets_.size() % round_.size()];
      assert(next.trials > 0);
      const auto size = std::min(next.trials, trials_ - opened_);
      brackets_.push_back({opened_, rule_(size, next.rungs, opened_)});
    }
    auto& last = brackets_.back();
    opened_ = std::min(trials, end_of(last));
    for (auto& x : numbered(last, last.race->open(opened_ - last.first)))
      held_.push_back(x);
  }
  std::vector<action> out;
  proceed(out);
  return out;
}

std::vector<action> hyperband::on_result(trial_no trial, step_t at,
                                         double value) {
  const auto index = bracket_of(trial);
  if (!has_begun(index)) // so the trial cannot have been trained
    return {};
  auto& [first, race] = brackets_[index];
  const bool was_done = race->done();
  return take(index, was_done, race->on_result(trial - first, at, value));
}

std::vector<action> hyperband::on_failure(trial_no trial) {
  std::erase_if(held_, [&](const action& x) {
    return std::get<advance>(x).trial == trial;
  });
  const auto index = bracket_of(trial);
  auto& [first, race] = brackets_[index];
  const bool was_done = race->done();
  return take(index, was_done, race->on_failure(trial - first));
}

bool hyperband::take_back(trial_no trial) {
  auto& [first, race] = brackets_[bracket_of(trial)];
  const bool was_done = race->done();
  if (!race->take_back(trial - first))
    return false;
  ended_ -= was_done;
  return true;
}

std::size_t hyperband::bracket_of(trial_no trial) const {
  const auto after = std::upper_bound(
    brackets_.begin(), brackets_.end(), trial,
    [](trial_no x, const bracket& y) { return x < y.first; });
  return static_cast<std::size_t>(after - brackets_.begin()) - 1;
}

std::vector<action> hyperband::numbered(const bracket& which,
                                        std::vector<action> actions) {
  for (auto& y : actions)
    std::visit([&which](auto& z) { z.trial += which.first; }, y);
  return actions;
}

std::vector<action> hyperband::take(std::size_t index, bool was_done,
                                    std::vector<action> actions) {
  const auto& x = brackets_[index];
  auto out = numbered(x, std::move(actions));
  if (!was_done && x.race->done()) {
    ++ended_;
    proceed(out);
  }
  return out;
}

expected_work hyperband::to_come() const {
  expected_work result;
  const auto add = [&](const expected_work& x) {
    result.steps += x.steps;
    result.longest = in_turn_ ? result.longest + x.longest
                              : std::max(result.longest, x.longest);
  };
  for (const auto& x : brackets_)
    add(x.race->to_come());
  for (const auto& x : held_) { // of the trials that are open
    const auto& go = std::get<advance>(x);
    result.steps += go.to;
  }
  auto index = brackets_.size();
  for (auto trials = brackets_.empty() ? 0 : end_of(brackets_.back());
       trials < trials_; ++index) {
    const auto& next = round_[index % round_.size()];
    const auto size = std::min(next.trials, trials_ - trials);
    auto whole = rule_(size, next.rungs, trials)->to_come();
    whole.longest += next.rungs.front();
    add(whole);
    trials += size;
  }
  return result;
}

void hyperband::proceed(std::vector<action>& out) {
  while (turn_ < brackets_.size() && brackets_[turn_].race->done())
    ++turn_;
  const auto first_held
    = std::find_if(held_.begin(), held_.end(), [this](const action& x) {
        return !has_begun(bracket_of(std::get<advance>(x).trial));
      });
  out.insert(out.end(), held_.begin(), first_held);
  held_.erase(held_.begin(), first_held);
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option hyperband_count{
  .name = "brackets",
  .low = 1,
  .high_text = "all",
  .fallback_text = "all",
  .meaning = "the number of brackets of a round, the longest first"};

constexpr option hyperband_iterations{
  .name = "iterations",
  .low = 1,
  .high = max_trials,
  .fallback_text = "as many as `budget.trials` fills, else 1",
  .meaning = "the largest number of rounds"};

constexpr option hyperband_order{
  .name = "order",
  .type = option_type::word,
  .words = {"together", "in-turn"},
  .fallback_text = "`in-turn` with a sampler that learns, else `together`",
  .meaning = "whether a bracket waits for the one before it"};

constexpr option hyperband_rule{.name = "rule",
                                .type = option_type::word,
                                .words = {"halving", "sub-sampling"},
                                .fallback = "halving",
                                .meaning =
                                  "the rule by which a bracket selects trials"};

constexpr option hyperband_options[]{
  eta_option,      min_option,           max_option,
  hyperband_count, hyperband_iterations, sampler_option,
  hyperband_order, hyperband_rule,       prefer_shared_option};

constexpr option learning_hyperband_options[]{
  eta_option,           min_option,      max_option,          hyperband_count,
  hyperband_iterations, hyperband_order, prefer_shared_option};

std::shared_ptr<algorithm_settings> read_hyperband(algorithm_reader& from,
                                                   bracket_rule own_rule) {
  auto result = std::make_shared<hyperband_settings>();
  const auto& study = from.study();
  const bool has_rule = from.declares(hyperband_rule);
  if (has_rule && !study.objective.all().is_one()
      && from.says(hyperband_rule, "sub-sampling"))
    from.error(from.path_of(hyperband_rule),
               "sub-sampling takes one metric, without constraints: use"
               " halving");
  from.read_rungs(*result);
  from.read_sampling();
  const auto round =
    hyperband_brackets(result->first, result->max, result->eta);
  result->brackets = from.whole(hyperband_count, 1, round.size(), round.size());
  result->rule = own_rule;
  if (has_rule && from.word(hyperband_rule) == "sub-sampling")
    result->rule = bracket_rule::sub_sampling;
  result->in_turn =
    from.word(hyperband_order, from.sampler().learns ? "in-turn" : "together")
    == "in-turn";
  std::uint64_t round_trials = 0;
  for (std::size_t i = 0; i < result->brackets; ++i)
    round_trials += round[i].trials;
  // A budget alone says how often the brackets are repeated.
  const auto iterations = from.whole(hyperband_iterations, 1, max_trials,
                                     study.budget.trials ? 0 : 1);
  std::optional<std::uint64_t> own;
  if (iterations > 0)
    own = round_trials * iterations;
  result->trials = from.count_trials(
    own, {round_trials, "a round of the brackets", "the last ones stay empty"});
  return result;
}

std::shared_ptr<algorithm_settings> read_halving(algorithm_reader& from) {
  return read_hyperband(from, bracket_rule::halving);
}

std::shared_ptr<algorithm_settings> read_sub_sampling(algorithm_reader& from) {
  return read_hyperband(from, bracket_rule::sub_sampling);
}

} // namespace

first_comparison hyperband_settings::compares() const {
  const auto bracket = hyperband_brackets(first, max, eta).front();
  return bracket.rungs.size() > 1
           ? first_comparison{bracket.rungs[0],
                              std::min(bracket.trials, trials)}
           : first_comparison{};
}

std::unique_ptr<algorithm>
hyperband_settings::make(const study_spec& study, const trial_states* states,
                         const trial_outcomes* outcomes) const {
  auto round = hyperband_brackets(first, max, eta);
  round.resize(brackets);
  const auto better = study.objective.direction;
  hyperband::make_rule make;
  if (rule == bracket_rule::sub_sampling)
    make = [better](std::uint64_t count, const std::vector<step_t>& steps,
                    trial_no) {
      return std::make_unique<sub_sampling>(count, steps, better);
    };
  else
    make = [better, eta = eta, states,
            outcomes](std::uint64_t count, const std::vector<step_t>& steps,
                      trial_no begin) {
      return std::make_unique<sha>(count, steps, eta, better, states, begin,
                                   outcomes);
    };
  return std::make_unique<hyperband>(trials, std::move(round), in_turn,
                                     std::move(make));
}

const algorithm_type hyperband_type{
  .name = "hyperband",
  .meaning = "several `sha`, from many short trials to few long ones",
  .options = hyperband_options,
  .read = read_halving};

const algorithm_type bohb_type{.name = "bohb",
                               .meaning = "`hyperband` with learned values",
                               .options = learning_hyperband_options,
                               .sampler = "tpe",
                               .read = read_halving};

const algorithm_type boss_type{
  .name = "boss",
  .meaning = "`bohb`, but a trial of a bracket continues as long as it is as"
             " good as the leader was at its start",
  .options = learning_hyperband_options,
  .sampler = "tpe",
  .for_several_goals = "bohb, asha or hyperband",
  .read = read_sub_sampling};

} // namespace hippo
