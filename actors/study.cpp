#include "study.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/core/number.hpp"

namespace hippo {

namespace {

using self_ptr = study_actor::stateful_pointer<study_state>;

/// How long the merger may take to register a study's trials.
constexpr auto register_timeout = std::chrono::minutes(10);

bool has_ended(trial_state x) {
  return x == trial_state::complete || x == trial_state::pruned
         || x == trial_state::failed || x == trial_state::cancelled;
}

/// A measurement's objective, NaN if the workload did not report it.
double value_of(const study_state& st, const metrics& values) {
  const auto i = values.find(st.options.spec.objective.metric);
  return i == values.end() ? std::numeric_limits<double>::quiet_NaN()
                           : i->second;
}

bool is_better(const study_state& st, double x, double y) {
  return st.options.spec.objective.direction == direction::maximize ? x > y
                                                                    : x < y;
}

/// Whether a measurement takes the first place. Of equal ones the lowest trial
/// and step has it, whichever came first: that depends on the trainers.
bool is_new_best(const study_state& st, trial_no no, step_t at, double value) {
  if (std::isnan(value) || !st.best)
    return !std::isnan(value);
  const auto& best = *st.best;
  return is_better(st, value, best.value)
         || (value == best.value
             && std::pair{no, at} < std::pair{best.trial, best.step});
}

/// The best of a trial's measurements, NaN if there is none.
double best_value(const study_state& st,
                  const std::vector<trial_measurement>& results) {
  auto best = std::numeric_limits<double>::quiet_NaN();
  for (const auto& x : results)
    if (const auto value = value_of(st, x.values);
        std::isnan(best) || is_better(st, value, best))
      best = value;
  return best;
}

std::optional<best_record> shown_best(const study_state& st) {
  auto result = st.best;
  if (result)
    result->params = st.values->parameters(result->trial).shown;
  return result;
}

trial_record record_of(const study_state& st, trial_no no) {
  const auto& x = st.trials[no];
  trial_record result;
  result.id = no;
  result.state = x.state;
  result.params = st.values->parameters(no).shown;
  result.steps = x.results.empty() ? 0 : x.results.back().step;
  result.results = x.results;
  result.failure = x.failure;
  return result;
}

void end_trial(self_ptr self, trial_no no, trial_state how,
               std::string failure = {}) {
  auto& st = self->state;
  auto& x = st.trials[no];
  if (has_ended(x.state))
    return;
  x.state = how;
  x.failure = std::move(failure);
  ++st.finished;
  trial_event event;
  event.study = st.options.spec.name;
  event.trial = no;
  event.state = how;
  event.params = st.values->parameters(no).shown;
  event.failure = x.failure;
  if (!x.results.empty()) {
    event.step = x.results.back().step;
    event.value = how == trial_state::complete
                    ? best_value(st, x.results)
                    : value_of(st, x.results.back().values);
  }
  if (st.best)
    event.best = best_so_far{st.best->trial, st.best->value};
  self->send(st.observer, told_atom::value, std::move(event));
}

/// Carries out what the algorithm wants.
void act(self_ptr self, const std::vector<action>& actions, asking& asks) {
  auto& st = self->state;
  for (const auto& x : actions) {
    if (auto* go = std::get_if<advance>(&x)) {
      auto& trial = st.trials[go->trial];
      if (has_ended(trial.state) || go->to <= trial.asked_to)
        continue;
      st.asked_steps += go->to - trial.asked_to;
      trial.asked_to = go->to;
      trial.state = trial_state::running;
      asks.trials.emplace_back(st.first_trial + go->trial, go->to);
    } else {
      const auto no = std::get<prune>(x).trial;
      const auto& trial = st.trials[no];
      if (!has_ended(trial.state)
          && (trial.results.empty()
              || trial.results.back().step < trial.asked_to))
        self->send(st.merger, drop_atom::value,
                   std::vector<trial_id>{st.first_trial + no});
      end_trial(self, no, trial_state::pruned);
    }
  }
}

/// Sends what has been asked for, and ends the study if nothing is to come.
void finish_turn(self_ptr self, asking asks) {
  auto& st = self->state;
  if (!asks.trials.empty())
    self->send(st.merger, ask_atom::value, std::move(asks));
  if (st.done || !st.tuner->done())
    return;
  st.done = true;
  for (trial_no no = 0; no < st.trials.size(); ++no)
    end_trial(self, no, trial_state::pruned); // those that were at rest
  self->send(st.observer, told_atom::value, st.options.spec.name);
}

void take_measurement(self_ptr self, const delivery& x, asking& asks) {
  auto& st = self->state;
  const auto no = x.trial - st.first_trial;
  auto& trial = st.trials[no];
  if (has_ended(trial.state))
    return;
  trial.results.push_back({x.at, x.values});
  const auto value = value_of(st, x.values);
  if (is_new_best(st, no, x.at, value))
    st.best = best_record{no, x.at, value, {}};
  if (x.at == trial.asked_to && x.at < st.last_rung)
    trial.state = trial_state::paused; // unless the algorithm goes on at once
  const auto actions = st.tuner->on_result(no, x.at, value);
  if (x.at == st.last_rung)
    end_trial(self, no, trial_state::complete);
  act(self, actions, asks);
}

void cancel(self_ptr self, const std::string& why) {
  auto& st = self->state;
  if (st.done)
    return;
  spdlog::info("study {}: cancelled: {}", st.options.spec.name, why);
  st.done = true;
  std::vector<trial_id> dropped;
  for (trial_no no = 0; no < st.trials.size(); ++no)
    if (!has_ended(st.trials[no].state)) {
      dropped.push_back(st.first_trial + no);
      end_trial(self, no, trial_state::cancelled, why);
    }
  self->send(st.merger, drop_atom::value, std::move(dropped));
  self->send(st.observer, told_atom::value, st.options.spec.name);
}

study_registration registration_of(const study_state& st) {
  study_registration result;
  const auto& spec = st.options.spec;
  result.name = spec.name;
  result.when = {spec.objective.every, st.tuner->rungs()};
  for (trial_no no = 0; no < st.tuner->trials(); ++no) {
    auto sequences = st.values->parameters(no).sequences;
    sequences.insert(st.options.defaults.begin(), st.options.defaults.end());
    result.trials.push_back(join(sequences, spec.max_steps));
  }
  return result;
}

/// Asks for the first trials, once the merger knows them all.
void begin(self_ptr self, trial_id first) {
  auto& st = self->state;
  st.first_trial = first;
  asking asks;
  act(self, st.tuner->start(), asks);
  finish_turn(self, std::move(asks));
  if (const auto seconds = st.options.spec.budget.seconds)
    self->delayed_send(
      self,
      std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000)),
      cancel_atom::value);
}

study_status status_of(const study_state& st) {
  study_status result;
  result.name = st.options.spec.name;
  result.metric = st.options.spec.objective.metric;
  result.trials = st.tuner->trials();
  result.finished = st.finished;
  result.asked_steps = st.asked_steps;
  result.best = shown_best(st);
  result.done = st.done;
  return result;
}

study_record full_record_of(const study_state& st) {
  study_record result;
  const auto& spec = st.options.spec;
  result.name = spec.name;
  result.algorithm = spec.algorithm.name;
  result.metric = spec.objective.metric;
  result.direction = spec.objective.direction;
  result.asked_steps = st.asked_steps;
  result.best = shown_best(st);
  for (trial_no no = 0; no < st.trials.size(); ++no)
    result.trials.push_back(record_of(st, no));
  return result;
}

} // namespace

study_actor::behavior_type study(self_ptr self, study_options options,
                                 merger_actor merger, observer_actor observer) {
  auto& state = self->state;
  state.options = std::move(options);
  state.merger = std::move(merger);
  state.observer = std::move(observer);
  state.tuner = make_algorithm(state.options.spec);
  state.values = std::make_unique<sampler>(state.options.spec);
  state.trials.resize(state.tuner->trials());
  state.last_rung = state.tuner->rungs().back();
  return {
    [self](outcome_atom, const outcomes& x) {
      asking asks;
      for (const auto& measured : x.measured)
        take_measurement(self, measured, asks);
      for (const auto& failed : x.failed) {
        auto& st = self->state;
        const auto no = failed.trial - st.first_trial;
        if (has_ended(st.trials[no].state))
          continue;
        end_trial(self, no, trial_state::failed,
                  "at step " + std::to_string(failed.at) + ": "
                    + failed.reason.message);
        act(self, st.tuner->on_failure(no), asks);
      }
      finish_turn(self, std::move(asks));
    },
    [self](start_atom) -> caf::result<std::uint64_t> {
      auto promise = self->make_response_promise<std::uint64_t>();
      self
        ->request(self->state.merger, register_timeout, register_atom::value,
                  registration_of(self->state),
                  caf::actor_cast<trial_owner_actor>(self))
        .then(
          [self, promise](trial_id first) mutable {
            begin(self, first);
            promise.deliver(std::uint64_t{self->state.trials.size()});
          },
          [promise](caf::error& err) mutable {
            promise.deliver(std::move(err));
          });
      return promise;
    },
    [self](cancel_atom) {
      cancel(self, "the budget of time is spent, or somebody cancelled");
    },
    [self](status_atom) { return status_of(self->state); },
    [self](status_atom, told_atom) { return full_record_of(self->state); },
  };
}

} // namespace hippo
