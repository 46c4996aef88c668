#include "hippo/search/algorithm/client_algorithm.hpp"

#include <algorithm>
#include <utility>

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

void client_algorithm::end(trial_state& x) {
  if (x.phase == trial_phase::training)
    limit_.leave();
  x.phase = trial_phase::ended;
  ++ended_;
}

trial_parameters client_sampler::draw(trial_no trial) {
  const auto found = given_.find(trial);
  return found == given_.end() ? others_->draw(trial)
                               : std::move(given_.extract(found).mapped());
}

std::optional<trial_parameters> client_sampler::recall(trial_no trial) const {
  return was_given_.contains(trial) ? std::nullopt : others_->recall(trial);
}

} // namespace hippo
