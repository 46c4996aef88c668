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
    result->params = st.decisions->parameters(result->trial).shown;
  return result;
}

trial_record record_of(const study_state& st, trial_no no) {
  const auto& x = st.trials[no];
  trial_record result;
  result.id = no;
  result.state = x.state;
  result.params = st.decisions->parameters(no).shown;
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
  event.params = st.decisions->parameters(no).shown;
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

study_orders::trial order_of(const study_state& st, trial_no no) {
  const auto* origin = st.decisions->origin(no);
  return {no, st.decisions->segments(no),
          origin != nullptr ? std::optional{origin->from} : std::nullopt,
          st.decisions->is_responsive(no)};
}

/// Notes what is to be done next.
void take_turn(self_ptr self, const turn& x, study_orders& orders) {
  auto& st = self->state;
  if (st.trials.size() < st.decisions->trials())
    st.trials.resize(st.decisions->trials());
  for (auto no : x.added)
    orders.added.push_back(order_of(st, no));
  for (auto no : x.rerouted)
    orders.rerouted.push_back(order_of(st, no));
  for (auto no : x.pruned) {
    const auto& trial = st.trials[no];
    if (!has_ended(trial.state)
        && (trial.results.empty()
            || trial.results.back().step < trial.asked_to))
      orders.dropped.push_back(no);
    end_trial(self, no, trial_state::pruned);
  }
  for (const auto& [no, to] : x.asked) {
    auto& trial = st.trials[no];
    if (has_ended(trial.state) || to <= trial.asked_to)
      continue;
    st.asked_steps += to - trial.asked_to;
    trial.asked_to = to;
    trial.state = trial_state::running;
    orders.asked.emplace_back(no, to);
  }
}

/// Sends what is to be done, and ends the study if nothing is to come.
void finish_turn(self_ptr self, study_orders orders) {
  auto& st = self->state;
  if (!orders.added.empty() || !orders.rerouted.empty()
      || !orders.dropped.empty() || !orders.asked.empty())
    self->send(st.merger, order_atom::value, st.number, std::move(orders));
  if (st.done || !st.decisions->done())
    return;
  st.done = true;
  for (trial_no no = 0; no < st.trials.size(); ++no)
    end_trial(self, no, trial_state::pruned); // those that were at rest
  self->send(st.observer, told_atom::value, st.options.spec.name);
}

void take_measurement(self_ptr self, const delivery& x, study_orders& orders) {
  auto& st = self->state;
  const auto no = x.trial;
  auto& trial = st.trials[no];
  if (has_ended(trial.state))
    return;
  trial.results.push_back({x.at, x.values});
  const auto value = value_of(st, x.values);
  if (is_new_best(st, no, x.at, value))
    st.best = best_record{no, x.at, value, {}};
  if (x.at == trial.asked_to && x.at < st.last_rung)
    trial.state = trial_state::paused; // unless the algorithm goes on at once
  const auto next = st.decisions->on_result(no, x.at, value);
  if (x.at == st.last_rung)
    end_trial(self, no, trial_state::complete);
  take_turn(self, next, orders);
}

void take_failure(self_ptr self, const trial_failure& x,
                  study_orders& orders) {
  auto& st = self->state;
  if (has_ended(st.trials[x.trial].state))
    return;
  end_trial(self, x.trial, trial_state::failed,
            "at step " + std::to_string(x.at) + ": " + x.reason.message);
  take_turn(self, st.decisions->on_failure(x.trial), orders);
}

void cancel(self_ptr self, const std::string& why) {
  auto& st = self->state;
  if (st.done)
    return;
  spdlog::info("study {}: cancelled: {}", st.options.spec.name, why);
  st.done = true;
  study_orders orders;
  for (trial_no no = 0; no < st.trials.size(); ++no)
    if (!has_ended(st.trials[no].state)) {
      if (st.trials[no].asked_to > 0) // else the merger may not know it
        orders.dropped.push_back(no);
      end_trial(self, no, trial_state::cancelled, why);
    }
  self->send(st.merger, order_atom::value, st.number, std::move(orders));
  self->send(st.observer, told_atom::value, st.options.spec.name);
}

/// Asks for the first trials, once the merger knows the study.
void begin(self_ptr self, std::uint64_t number) {
  auto& st = self->state;
  st.number = number;
  study_orders orders;
  take_turn(self, st.decisions->start(), orders);
  finish_turn(self, std::move(orders));
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
  result.trials = st.decisions->trials();
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
  state.decisions
    = std::make_unique<tuner>(state.options.spec, state.options.defaults);
  state.last_rung = state.decisions->when().rungs.back();
  return {
    [self](outcome_atom, const outcomes& x) {
      study_orders orders;
      for (const auto& measured : x.measured)
        take_measurement(self, measured, orders);
      for (const auto& failed : x.failed)
        take_failure(self, failed, orders);
      finish_turn(self, std::move(orders));
    },
    [self](start_atom) -> caf::result<std::uint64_t> {
      auto promise = self->make_response_promise<std::uint64_t>();
      self
        ->request(self->state.merger, register_timeout, register_atom::value,
                  study_registration{self->state.options.spec.name,
                                     self->state.decisions->when()},
                  caf::actor_cast<trial_owner_actor>(self))
        .then(
          [self, promise](std::uint64_t number) mutable {
            begin(self, number);
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
