#include "hippo/search/algorithm/client_algorithm.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/algorithm/interval_steps.hpp"
#include "hippo/search/sampler/client_sampler.hpp"
#include "hippo/sequence/family.hpp"

namespace hippo {

namespace {

constexpr auto closed_text = "the study was closed";

} // namespace

client_algorithm::client_algorithm(std::uint64_t most, measuring when,
                                   std::optional<std::uint64_t> concurrent,
                                   const trial_states* states)
  : most_(most), when_(std::move(when)), limit_(concurrent), lengths_(states) {}

step_t client_algorithm::end_of(trial_no trial) const {
  const auto last = when_.rungs.back();
  return lengths_ == nullptr ? last : std::min(lengths_->end_of(trial), last);
}

expected<std::vector<action>> client_algorithm::ask() {
  if (auto why = refusal_of_ask(); !why.empty())
    return {errc::invalid_argument, std::move(why)};
  states_.emplace_back();
  return std::vector<action>{};
}

expected<std::vector<action>> client_algorithm::train(trial_no trial,
                                                      step_t to) {
  if (auto why = refusal_of_train(trial, to); !why.empty())
    return {errc::invalid_argument, std::move(why)};
  states_[trial] = {trial_phase::training, to};
  limit_.enter();
  return std::vector<action>{advance{trial, to}};
}

expected<std::vector<action>> client_algorithm::stop(trial_no trial) {
  if (auto why = refusal_of_stop(trial); !why.empty())
    return {errc::invalid_argument, std::move(why)};
  end(states_[trial]);
  return std::vector<action>{prune{trial}};
}

std::vector<action> client_algorithm::close() {
  closed_ = true;
  std::vector<action> actions;
  for (trial_no trial = 0; trial < states_.size(); ++trial)
    if (states_[trial].phase == trial_phase::resting) {
      end(states_[trial]);
      actions.emplace_back(prune{trial});
    }
  return actions;
}

std::vector<action> client_algorithm::on_result(trial_no trial, step_t at,
                                                double) {
  auto& x = states_[trial];
  if (x.phase != trial_phase::training || at != x.to)
    return {};
  if (at == end_of(trial)) {
    end(x);
    x.finished = true;
    return {};
  }
  if (closed_) {
    end(x);
    return {prune{trial}};
  }
  x.phase = trial_phase::resting;
  limit_.leave();
  return {};
}

std::vector<action> client_algorithm::on_failure(trial_no trial) {
  if (states_[trial].phase != trial_phase::ended)
    end(states_[trial]);
  return {};
}

bool client_algorithm::take_back(trial_no trial) {
  states_[trial].phase = trial_phase::training;
  --ended_;
  limit_.enter();
  return true;
}

step_t client_algorithm::length_max() const {
  return std::min(step_limit, when_.rungs.front() * max_interval_rungs);
}

std::vector<trial_no> client_algorithm::lengthen(step_t max) {
  std::vector<step_t> rungs;
  std::ranges::set_union(when_.rungs, interval_steps(when_.rungs.front(), max),
                         std::back_inserter(rungs));
  when_.rungs = std::move(rungs);
  closed_ = false;
  std::vector<trial_no> result;
  for (trial_no trial = 0; trial < states_.size(); ++trial)
    if (auto& x = states_[trial]; std::exchange(x.finished, false)) {
      x.phase = trial_phase::resting;
      --ended_;
      result.push_back(trial);
    }
  return result;
}

std::string client_algorithm::refusal_of_ask() const {
  if (closed_)
    return closed_text;
  if (states_.size() == most_)
    return "there may be " + std::to_string(most_)
           + " trials, and there are that many";
  return {};
}

std::string client_algorithm::refusal_of_step(const measuring& when,
                                              step_t to) {
  if (when.covers(to))
    return {};
  return "a trial cannot be trained to step " + std::to_string(to)
         + ", where nothing is measured: the nearest step is "
         + std::to_string(to < when.rungs.back() ? when.next(to)
                                                 : when.rungs.back());
}

std::string client_algorithm::refusal_of_train(trial_no trial,
                                               step_t to) const {
  if (auto why = refusal_of_stop(trial); !why.empty())
    return why;
  if (closed_)
    return closed_text;
  if (auto why = refusal_of_step(when_, to); !why.empty())
    return why;
  if (to > end_of(trial))
    return "trial " + std::to_string(trial) + " ends at step "
           + std::to_string(end_of(trial)) + ", before step "
           + std::to_string(to);
  if (!limit_.has_room())
    return "as many trials are in flight as may be: "
           + std::to_string(limit_.most());
  const auto& x = states_[trial];
  if (x.phase == trial_phase::training)
    return "trial " + std::to_string(trial) + " is on its way to step "
           + std::to_string(x.to);
  if (to <= x.to)
    return "trial " + std::to_string(trial) + " is at step "
           + std::to_string(x.to) + " already";
  return {};
}

std::string client_algorithm::refusal_of_stop(trial_no trial) const {
  if (trial >= states_.size())
    return "there is no trial " + std::to_string(trial);
  if (states_[trial].phase == trial_phase::ended)
    return "trial " + std::to_string(trial) + " has ended";
  return {};
}

void client_algorithm::end(trial_state& state) {
  if (state.phase == trial_phase::training)
    limit_.leave();
  state.phase = trial_phase::ended;
  ++ended_;
}

// -- options ------------------------------------------------------------------

namespace {

constexpr option client_interval = [] {
  auto result = interval_option;
  result.fallback_text = "`max`";
  return result;
}();

constexpr option client_concurrent{
  .name = "max_concurrent",
  .fallback = 0.0,
  .meaning = "the largest number of trials in flight; 0: no limit"};

constexpr option client_options[]{client_interval, max_option, sampler_option,
                                  client_concurrent, prefer_shared_option};

std::shared_ptr<algorithm_settings> read_client(algorithm_reader& from) {
  auto result = std::make_shared<client_settings>();
  result->max = from.read_max();
  result->interval = read_interval(from, result->max, result->max);
  result->first = std::min(result->interval, result->max);
  from.read_lengths(*result);
  result->concurrent = from.whole(client_concurrent);
  from.read_sampling();
  // A client may give values of its own, so the space is no limit.
  if (from.check_space_is_finite())
    result->trials =
      std::min(from.study().budget.trials.value_or(max_trials), max_trials);
  return result;
}

} // namespace

std::unique_ptr<algorithm> client_settings::make(const study_spec& study,
                                                 const trial_states* states,
                                                 const trial_outcomes*) const {
  std::vector<step_t> rungs;
  std::ranges::set_union(interval_steps(interval, max), lengths,
                         std::back_inserter(rungs));
  return std::make_unique<client_algorithm>(
    trials, measuring{study.objective.every, std::move(rungs)}, concurrent,
    states);
}

std::unique_ptr<sampler>
client_settings::make_sampler(const study_spec& study,
                              const sampler_settings& sampling,
                              const sampler_context& context) const {
  return std::make_unique<client_sampler>(
    algorithm_settings::make_sampler(study, sampling, context));
}

const algorithm_type client_type{.name = "client",
                                 .meaning = "a client of the service decides",
                                 .options = client_options,
                                 .takes_lengths = true,
                                 .by_clients = true,
                                 .read = read_client};

} // namespace hippo
