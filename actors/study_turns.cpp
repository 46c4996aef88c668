#include "study_turns.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "hippo/study/commands.hpp"

namespace hippo {

using json = nlohmann::ordered_json;

// -- values -------------------------------------------------------------------

namespace {

std::string names_of(const metrics& xs) {
  std::string result;
  for (const auto& [name, value] : xs)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

} // namespace

json shown_params(const study_state& st, trial_no no) {
  return st.trials[no].added ? st.decisions->parameters(no).shown
                             : json::object();
}

std::optional<best_record> shown_best(const study_state& st) {
  const auto& best = st.trials.best();
  if (!best)
    return std::nullopt;
  return best_record{best->trial, best->at, best->value,
                     st.decisions->parameters(best->trial).shown};
}

double active_seconds(const study_state& st,
                      caf::actor_clock::time_point now) {
  auto result = st.options.stored.active_seconds;
  if (st.active_since)
    result += std::chrono::duration<double>(now - *st.active_since).count();
  return result;
}

// -- what is stored -----------------------------------------------------------

namespace {

stored_trial stored_of(const study_state& st, trial_no no, bool is_new) {
  const auto& x = st.trials[no];
  stored_trial result;
  result.trial = no;
  result.state = x.state;
  if (is_new)
    result.params = shown_params(st, no).dump();
  result.asked_to = x.asked_to;
  result.steps = x.results.empty() ? 0 : x.results.back().step;
  result.best = x.best;
  result.failure = x.failure;
  return result;
}

/// Collects what is to be stored of the study and its trials.
std::vector<journal_record> take_unsaved(study_self self) {
  auto& st = self->state;
  std::vector<journal_record> result;
  auto& stored = st.options.stored;
  if (!std::exchange(st.study_is_saved, true)) {
    auto row = stored;
    row.active_seconds = active_seconds(st, self->clock().now());
    row.text.clear(); // has not changed
    result.emplace_back(study_saved{std::move(row)});
  }
  for (auto no : std::exchange(st.unsaved, {}))
    result.emplace_back(trial_saved{
      stored.id, stored_of(st, no, st.unsaved_added.erase(no) > 0)});
  return result;
}

} // namespace

void save(study_self self) {
  auto& st = self->state;
  auto records = take_unsaved(self);
  const bool ends
    = has_ended(st.options.stored.state)
      && !std::exchange(st.end_is_told, true);
  auto answers = std::exchange(st.answers, {});
  if (records.empty() && !ends && answers.empty())
    return;
  self
    ->request(st.journal, caf::infinite, commit_atom::value,
              journal_entry{std::move(records), {}})
    .then(
      [self, ends, answers = std::move(answers)](std::uint64_t) {
        for (const auto& answer : answers)
          answer();
        const auto& stored = self->state.options.stored;
        if (ends)
          self->send(self->state.observer, notify_atom::value,
                     study_end{stored.id, stored.name, stored.state});
      },
      [self](caf::error& err) { self->quit(std::move(err)); });
}

// -- clients that wait --------------------------------------------------------

trained_answer answer_of(const study_state& st, trial_no no, step_t to) {
  const auto& x = st.trials[no];
  trained_answer result;
  result.state = x.state;
  result.failure = x.failure;
  if (const auto* found = st.trials.result_near(no, to)) {
    result.step = found->step;
    result.values = found->values;
  }
  return result;
}

bool is_there(const study_state& st, trial_no no, step_t to) {
  return st.trials[no].acked >= to || has_ended(st.trials[no].state)
         || has_ended(st.options.stored.state);
}

namespace {

void answer_waiters(study_self self, trial_no no) {
  auto& st = self->state;
  const auto [first, last] = st.waiters.equal_range(no);
  for (auto i = first; i != last;)
    if (is_there(st, no, i->second.to)) {
      answer_later(st, i->second.promise, answer_of(st, no, i->second.to));
      i = st.waiters.erase(i);
    } else {
      ++i;
    }
}

// -- trials -------------------------------------------------------------------

void end_trial(study_self self, trial_no no, trial_state how,
               std::string failure = {}) {
  auto& st = self->state;
  if (!st.trials.end(no, how, std::move(failure)))
    return;
  const auto& x = st.trials[no];
  st.unsaved.insert(no);
  if (st.replaying)
    return;
  answer_waiters(self, no);
  trial_event event;
  event.study = st.options.spec.name;
  event.trial = no;
  event.state = how;
  event.params = shown_params(st, no);
  event.failure = x.failure;
  if (!x.results.empty()) {
    event.step = x.results.back().step;
    if (how == trial_state::complete) {
      event.value
        = x.best ? x.best->value : std::numeric_limits<double>::quiet_NaN();
    } else {
      event.value = st.trials.value_of(x.results.back().values);
    }
  }
  if (const auto& best = st.trials.best())
    event.best = best_so_far{best->trial, best->value};
  self->send(st.observer, notify_atom::value, std::move(event));
}

} // namespace

study_orders::trial order_of(const study_state& st, trial_no no) {
  const auto* origin = st.decisions->origin(no);
  return {no, st.decisions->segments(no),
          origin != nullptr ? std::optional{origin->from} : std::nullopt,
          st.decisions->is_responsive(no)};
}

bool wants_capacity(const study_state& st) {
  return st.options.stored.state == study_phase::running
         && st.decisions->wants_capacity();
}

namespace {

/// Ends a trial that may be on its way.
void drop_trial(study_self self, trial_no no, trial_state how,
             study_orders& orders, const std::string& why = {}) {
  if (self->state.trials.is_on_its_way(no))
    orders.dropped.push_back(no);
  end_trial(self, no, how, why);
}

} // namespace

void take_turn(study_self self, const turn& x, study_orders& orders) {
  auto& st = self->state;
  for (auto no : x.added) {
    st.trials.add(no);
    st.unsaved.insert(no);
    st.unsaved_added.insert(no);
    orders.added.push_back(order_of(st, no));
  }
  for (auto no : x.rerouted)
    orders.rerouted.push_back(order_of(st, no));
  for (auto no : x.pruned)
    drop_trial(self, no, trial_state::pruned, orders);
  for (const auto& [no, to] : x.asked) {
    if (!st.trials.ask(no, to))
      continue;
    st.unsaved.insert(no);
    orders.asked.push_back({no, to, 0, false});
  }
}

// -- the study's state --------------------------------------------------------

namespace {

void change_state(study_self self, study_phase to, std::string why = {}) {
  auto& st = self->state;
  const auto now = self->clock().now();
  auto& stored = st.options.stored;
  stored.active_seconds = active_seconds(st, now);
  stored.state = to;
  stored.reason = std::move(why);
  st.active_since.reset();
  if (to == study_phase::running && !st.replaying)
    st.active_since = now;
  st.study_is_saved = false;
}

} // namespace

void end_study(study_self self, study_phase how, trial_state rest,
               study_orders& orders, const std::string& why) {
  auto& st = self->state;
  for (trial_no no = 0; no < st.trials.size(); ++no)
    drop_trial(self, no, rest, orders, why);
  change_state(self, how, why);
}

namespace {

void send_pause(study_self self, bool paused) {
  auto& st = self->state;
  if (!st.replaying)
    self->send(st.merger, pause_atom::value, st.number, paused);
}

} // namespace

void watch_time(study_self self) {
  const auto& st = self->state;
  const auto budget = st.options.spec.budget.seconds;
  if (!budget || !st.active_since)
    return;
  const auto left
    = std::max(0.0, *budget - active_seconds(st, self->clock().now()));
  self->delayed_send(self,
                     std::chrono::milliseconds(
                       static_cast<std::int64_t>(std::ceil(left * 1000))),
                     tick_atom::value);
}

// -- what it receives ---------------------------------------------------------

namespace {

/// Notes a measurement. @returns its objective
double take_result(study_self self, trial_no no, step_t at, metrics values) {
  auto& st = self->state;
  const auto value = st.trials.measure(no, at, std::move(values));
  st.unsaved.insert(no);
  return value;
}

} // namespace

void receive(study_self self, trial_measured x, study_orders& orders) {
  auto& st = self->state;
  const auto no = x.trial;
  st.trials.ack(no, x.at);
  if (has_ended(st.trials[no].state))
    return;
  if (const auto& wanted = st.options.spec.objective.metric;
      !x.values.contains(wanted)) {
    drop_trial(self, no, trial_state::failed, orders,
            "at step " + std::to_string(x.at)
              + ": the workload does not measure '" + wanted + "'; it measures "
              + names_of(x.values));
    take_turn(self, st.decisions->on_failure(no), orders);
    return;
  }
  const auto value = take_result(self, no, x.at, std::move(x.values));
  if (x.at == st.trials[no].asked_to && x.at < st.last_rung)
    st.trials.pause(no); // unless the algorithm goes on at once
  const auto next = st.decisions->on_result(no, x.at, value);
  if (x.at == st.last_rung)
    end_trial(self, no, trial_state::complete);
  take_turn(self, next, orders);
  answer_waiters(self, no);
}

void receive(study_self self, const trial_failed& x, study_orders& orders) {
  auto& st = self->state;
  if (has_ended(st.trials[x.trial].state))
    return;
  end_trial(self, x.trial, trial_state::failed,
            "at step " + std::to_string(x.at) + ": " + x.reason.message);
  take_turn(self, st.decisions->on_failure(x.trial), orders);
}

namespace {

// What people want of it. All answer with why not, and change nothing then.

expected<command_answer> take(study_self self, expected<turn> next,
                              study_orders& orders) {
  if (!next)
    return next.failure();
  take_turn(self, *next, orders);
  return command_answer{};
}

expected<command_answer> apply_command(study_self self, command::ask x,
                                       study_orders& orders) {
  auto& st = self->state;
  auto next = st.decisions->client_ask(std::move(x.values));
  if (!next)
    return next.failure();
  take_turn(self, *next, orders);
  const auto no = st.decisions->trials() - 1;
  return command_answer{no, st.decisions->parameters(no).shown};
}

expected<command_answer> apply_command(study_self self, const command::train& x,
                                       study_orders& orders) {
  return take(self, self->state.decisions->client_train(x.trial, x.to),
              orders);
}

expected<command_answer> apply_command(study_self self, const command::tell& x,
                                       study_orders& orders) {
  auto& st = self->state;
  std::optional<observation> measured;
  if (x.value)
    measured = observation{x.at == 0 ? st.last_rung : x.at, *x.value};
  auto next = st.decisions->client_end(x.trial, measured);
  if (!next)
    return next.failure();
  if (measured)
    take_result(self, x.trial, measured->at,
                {{st.options.spec.objective.metric, measured->value}});
  drop_trial(self, x.trial, x.how, orders,
             x.how == trial_state::failed ? "a client said so" : "");
  take_turn(self, *next, orders);
  return command_answer{x.trial, {}};
}

expected<command_answer> apply_command(study_self self, const command::close&,
                                       study_orders& orders) {
  return take(self, self->state.decisions->client_close(), orders);
}

/// Changes whether anything new starts.
expected<command_answer> steer(study_self self, study_phase to) {
  auto& st = self->state;
  const auto now = st.options.stored.state;
  if (now == to || now == study_phase::stopping)
    return error{errc::invalid_argument,
                 "study " + st.options.stored.name + " is "
                   + to_string(now) + " already"};
  change_state(self, to);
  send_pause(self, to != study_phase::running);
  watch_time(self);
  return command_answer{};
}

expected<command_answer> apply_command(study_self self, const command::pause&,
                                       study_orders&) {
  return steer(self, study_phase::paused);
}

expected<command_answer> apply_command(study_self self, const command::resume&,
                                       study_orders&) {
  return steer(self, study_phase::running);
}

expected<command_answer> apply_command(study_self self, const command::stop&,
                                       study_orders&) {
  return steer(self, study_phase::stopping);
}

expected<command_answer> apply_command(study_self self,
                                       const command::cancel& x,
                                       study_orders& orders) {
  end_study(self, study_phase::cancelled, trial_state::cancelled, orders,
            x.why);
  return command_answer{};
}

expected<command_answer> apply_command(study_self self,
                                       const command::weight& x,
                                       study_orders&) {
  auto& st = self->state;
  st.options.stored.weight = x.value;
  st.study_is_saved = false;
  if (!st.replaying)
    self->send(st.merger, weight_atom::value, st.number, x.value);
  return command_answer{};
}

expected<command_answer> apply_command(study_self self, const command::widen& x,
                                       study_orders& orders) {
  take_turn(self, self->state.decisions->widen(x.trials), orders);
  return command_answer{};
}

expected<command_answer> parse_and_apply(study_self self,
                                         const study_command& x,
                                         study_orders& orders) {
  const auto& st = self->state;
  const auto& stored = st.options.stored;
  if (has_ended(stored.state))
    return error{errc::invalid_argument, "study " + stored.name + " has ended: "
                                           + to_string(stored.state)};
  auto parsed = parse_command(x, st.options.spec.max_steps,
                              st.options.workload);
  if (!parsed)
    return parsed.failure();
  return std::visit(
    [&](auto& y) { return apply_command(self, std::move(y), orders); },
    *parsed);
}

} // namespace

void receive(study_self self, const study_command& x, study_orders& orders) {
  auto answer = parse_and_apply(self, x, orders);
  auto waiting = self->state.commands.extract(x.token);
  if (!waiting)
    return;
  if (answer)
    answer_later(self->state, waiting.mapped(), std::move(*answer));
  else
    waiting.mapped().deliver(
      caf::make_error(answer.failure().code, answer.failure().message));
}

void finish_turn(study_self self, study_orders orders) {
  auto& st = self->state;
  if (!has_ended(st.options.stored.state) && st.decisions->done())
    end_study(self, st.trials.final_phase(), trial_state::pruned, orders);
  orders.wants_capacity = wants_capacity(st);
  orders.acked = st.acked;
  const bool wanted = std::exchange(st.told_wants_room, orders.wants_capacity);
  if (!orders.empty() || orders.wants_capacity || wanted)
    self->send(st.merger, order_atom::value, st.number, std::move(orders));
  save(self);
}

} // namespace hippo
