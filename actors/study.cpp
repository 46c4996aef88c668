#include "study.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/core/number.hpp"
#include "hippo/space/own_workload.hpp"

namespace hippo {

namespace {

using self_ptr = study_actor::stateful_pointer<study_state>;
using json = nlohmann::ordered_json;
using verb = study_command::verb;

/// How long the merger may take to register a study's trials.
constexpr auto register_timeout = std::chrono::minutes(10);

constexpr auto stopped_text = "the study was stopped";

// -- values -------------------------------------------------------------------

/// A measurement's objective, NaN if the workload did not report it.
double value_of(const study_state& st, const metrics& values) {
  const auto i = values.find(st.options.spec.objective.metric);
  return i == values.end() ? std::numeric_limits<double>::quiet_NaN()
                           : i->second;
}

std::string names_of(const metrics& xs) {
  std::string result;
  for (const auto& [name, value] : xs)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

bool is_better(const study_state& st, double x, double y) {
  return st.options.spec.objective.direction == direction::maximize ? x > y
                                                                    : x < y;
}

/// Whether a measurement takes the first place. Of equal ones the lowest trial
/// and step has it, whichever came first: that depends on the trainers.
bool is_new_best(const study_state& st, trial_no no, step_t at,
                 double value) {
  if (std::isnan(value) || !st.best)
    return !std::isnan(value);
  const auto& best = *st.best;
  return is_better(st, value, best.value)
         || (value == best.value
             && std::pair{no, at} < std::pair{best.trial, best.step});
}

/// The parameters of a trial, none if it is yet to be added: what they will be
/// is not decided by then, and to ask would decide.
json shown_params(const study_state& st, trial_no no) {
  return st.trials[no].added ? st.decisions->parameters(no).shown
                             : json::object();
}

std::optional<best_record> shown_best(const study_state& st) {
  auto result = st.best;
  if (result)
    result->params = st.decisions->parameters(result->trial).shown;
  return result;
}

double active_seconds(const study_state& st,
                      caf::actor_clock::time_point now) {
  auto result = st.options.stored.active_seconds;
  if (st.active_since)
    result += std::chrono::duration<double>(now - *st.active_since).count();
  return result;
}

// -- what is stored -----------------------------------------------------------

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
std::vector<journal_record> take_unsaved(self_ptr self) {
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

/// Answers a promise once all that has changed by now is stored: a client must
/// find what it is told.
template <class T>
void answer_later(study_state& st, caf::typed_response_promise<T> promise,
                  T answer) {
  st.answers.push_back(
    [promise, answer = std::move(answer)]() mutable {
      promise.deliver(std::move(answer));
    });
}

/// Stores what has changed. Tells of it, and of the study's end, once it is
/// stored.
void save(self_ptr self) {
  auto& st = self->state;
  auto records = take_unsaved(self);
  const bool ends
    = has_ended(st.options.stored.state) && !std::exchange(st.end_is_told, true);
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
          self->send(self->state.observer, told_atom::value,
                     study_end{stored.id, stored.name, stored.state});
      },
      [self](caf::error& err) { self->quit(std::move(err)); });
}

// -- clients that wait --------------------------------------------------------

/// What a trial has measured at `to`, however far it is by now, or else last.
trained_answer answer_of(const study_state& st, trial_no no, step_t to) {
  const auto& x = st.trials[no];
  trained_answer result;
  result.state = x.state;
  result.failure = x.failure;
  auto i = std::find_if(x.results.begin(), x.results.end(),
                        [&](const auto& y) { return y.step == to; });
  if (i == x.results.end() && !x.results.empty())
    i = std::prev(x.results.end());
  if (i != x.results.end()) {
    result.step = i->step;
    result.values = i->values;
  }
  return result;
}

/// Whether a trial will be no nearer to a state than it is.
bool is_there(const study_state& st, trial_no no, step_t to) {
  return st.trials[no].heard >= to || has_ended(st.trials[no].state)
         || has_ended(st.options.stored.state);
}

void answer_waiters(self_ptr self, trial_no no) {
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

trial_record record_of(const study_state& st, trial_no no) {
  const auto& x = st.trials[no];
  trial_record result;
  result.id = no;
  result.state = x.state;
  result.params = shown_params(st, no);
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
      event.value = value_of(st, x.results.back().values);
    }
  }
  if (st.best)
    event.best = best_so_far{st.best->trial, st.best->value};
  self->send(st.observer, told_atom::value, std::move(event));
}

/// Whether a trial waits for something.
bool is_on_its_way(const study_state::trial_entry& x) {
  return !has_ended(x.state) && x.heard < x.asked_to;
}

study_orders::trial order_of(const study_state& st, trial_no no) {
  const auto* origin = st.decisions->origin(no);
  return {no, st.decisions->segments(no),
          origin != nullptr ? std::optional{origin->from} : std::nullopt,
          st.decisions->is_responsive(no)};
}

bool wants_room(const study_state& st) {
  return st.options.stored.state == study_phase::running
         && st.decisions->wants_room();
}

/// Ends a trial that may be on its way.
void give_up(self_ptr self, trial_no no, trial_state how,
             study_orders& orders, const std::string& why = {}) {
  if (is_on_its_way(self->state.trials[no]))
    orders.dropped.push_back(no);
  end_trial(self, no, how, why);
}

/// Notes what is to be done next.
void take_turn(self_ptr self, const turn& x, study_orders& orders) {
  auto& st = self->state;
  if (st.trials.size() < st.decisions->trials())
    st.trials.resize(st.decisions->trials());
  for (auto no : x.added) {
    st.trials[no].added = true;
    st.unsaved.insert(no);
    st.unsaved_added.insert(no);
    orders.added.push_back(order_of(st, no));
  }
  for (auto no : x.rerouted)
    orders.rerouted.push_back(order_of(st, no));
  for (auto no : x.pruned)
    give_up(self, no, trial_state::pruned, orders);
  for (const auto& [no, to] : x.asked) {
    auto& trial = st.trials[no];
    if (has_ended(trial.state) || to <= trial.asked_to)
      continue;
    st.asked_steps += to - trial.asked_to;
    trial.asked_to = to;
    trial.state = trial_state::running;
    st.unsaved.insert(no);
    orders.asked.push_back({no, to, 0, false});
  }
}

// -- the study's state --------------------------------------------------------

void change_state(self_ptr self, study_phase to, std::string why = {}) {
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

/// Ends the study: what has not ended by then is `rest`.
void end_study(self_ptr self, study_phase how, trial_state rest,
               study_orders& orders, const std::string& why = {}) {
  auto& st = self->state;
  for (trial_no no = 0; no < st.trials.size(); ++no)
    give_up(self, no, rest, orders, why);
  change_state(self, how, why);
}

/// The state of a study that has nothing left to do.
study_phase final_state(const study_state& st) {
  const auto failed
    = std::count_if(st.trials.begin(), st.trials.end(), [](const auto& x) {
        return x.state == trial_state::failed;
      });
  return !st.trials.empty()
             && failed == static_cast<std::ptrdiff_t>(st.trials.size())
           ? study_phase::failed
           : study_phase::complete;
}

void hold(self_ptr self, bool held) {
  auto& st = self->state;
  if (!st.replaying)
    self->send(st.merger, hold_atom::value, st.number, held);
}

/// Sees to it that the study ends when its time is spent.
void watch_time(self_ptr self) {
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

// -- what it hears ------------------------------------------------------------

/// Notes a measurement. @returns its objective
double take_result(self_ptr self, trial_no no, step_t at, metrics values) {
  auto& st = self->state;
  auto& trial = st.trials[no];
  const auto value = value_of(st, values);
  trial.results.push_back({at, std::move(values)});
  st.unsaved.insert(no);
  if (!std::isnan(value)
      && (!trial.best || is_better(st, value, trial.best->value)))
    trial.best = stored_best{at, value};
  if (is_new_best(st, no, at, value))
    st.best = best_record{no, at, value, {}};
  return value;
}

void hear(self_ptr self, trial_measured x, study_orders& orders) {
  auto& st = self->state;
  const auto no = x.trial;
  auto& trial = st.trials[no];
  trial.heard = std::max(trial.heard, x.at);
  if (has_ended(trial.state))
    return;
  if (const auto& wanted = st.options.spec.objective.metric;
      !x.values.contains(wanted)) {
    give_up(self, no, trial_state::failed, orders,
            "at step " + std::to_string(x.at)
              + ": the workload does not measure '" + wanted + "'; it measures "
              + names_of(x.values));
    take_turn(self, st.decisions->on_failure(no), orders);
    return;
  }
  const auto value = take_result(self, no, x.at, std::move(x.values));
  if (x.at == trial.asked_to && x.at < st.last_rung)
    trial.state = trial_state::paused; // unless the algorithm goes on at once
  const auto next = st.decisions->on_result(no, x.at, value);
  if (x.at == st.last_rung)
    end_trial(self, no, trial_state::complete);
  take_turn(self, next, orders);
  answer_waiters(self, no);
}

void hear(self_ptr self, const trial_failed& x, study_orders& orders) {
  auto& st = self->state;
  if (has_ended(st.trials[x.trial].state))
    return;
  end_trial(self, x.trial, trial_state::failed,
            "at step " + std::to_string(x.at) + ": " + x.reason.message);
  take_turn(self, st.decisions->on_failure(x.trial), orders);
}

// What people want of it. All answer with why not, and change nothing then.

expected<command_answer> ask(self_ptr self, const study_command& x,
                             study_orders& orders) {
  auto& st = self->state;
  std::optional<trial_parameters> values;
  if (!x.text.empty()) {
    auto read = read_parameters(x.text, st.options.spec.max_steps,
                                st.options.workload);
    if (!read)
      return read.failure();
    values = std::move(*read);
  }
  auto next = st.decisions->client_ask(std::move(values));
  if (!next)
    return next.failure();
  take_turn(self, *next, orders);
  const auto no = st.decisions->trials() - 1;
  return command_answer{no, st.decisions->parameters(no).shown};
}

expected<command_answer> tell(self_ptr self, const study_command& x,
                              study_orders& orders) {
  auto& st = self->state;
  auto how = trial_state::complete;
  std::optional<observation> measured;
  try {
    const auto said = json::parse(x.text);
    const std::string state = said.value("state", "COMPLETE");
    how = state == to_string(trial_state::pruned)   ? trial_state::pruned
          : state == to_string(trial_state::failed) ? trial_state::failed
                                                    : trial_state::complete;
    if (state != to_string(how))
      return error{errc::invalid_argument,
                   "a trial can be told to be COMPLETE, PRUNED or FAILED, not '"
                     + state + "'"};
    if (said.contains("value"))
      measured = observation{x.at == 0 ? st.last_rung : x.at,
                             said.at("value").get<double>()};
  } catch (const json::exception& e) {
    return error{errc::malformed_message, e.what()};
  }
  auto next = st.decisions->client_end(x.trial, measured);
  if (!next)
    return next.failure();
  if (measured)
    take_result(self, x.trial, measured->at,
                {{st.options.spec.objective.metric, measured->value}});
  give_up(self, x.trial, how, orders,
          how == trial_state::failed ? "a client said so" : "");
  take_turn(self, *next, orders);
  return command_answer{x.trial, {}};
}

expected<command_answer> take(self_ptr self, expected<turn> next,
                              study_orders& orders) {
  if (!next)
    return next.failure();
  take_turn(self, *next, orders);
  return command_answer{};
}

/// Changes whether anything new starts.
expected<command_answer> steer(self_ptr self, const study_command& x) {
  auto& st = self->state;
  const auto now = st.options.stored.state;
  const bool held = x.what != verb::resume;
  const auto to = x.what == verb::stop ? study_phase::stopping
                  : held               ? study_phase::paused
                                       : study_phase::running;
  if (now == to || now == study_phase::stopping)
    return error{errc::invalid_argument,
                 "study " + st.options.stored.name + " is "
                   + to_string(now) + " already"};
  change_state(self, to);
  hold(self, held);
  watch_time(self);
  return command_answer{};
}

expected<command_answer> weigh(self_ptr self, const study_command& x) {
  auto& st = self->state;
  const auto said = json::parse(x.text, nullptr, false);
  const auto weight = said.is_number() ? said.get<double>() : 0.0;
  if (!(weight > 0) || !std::isfinite(weight))
    return error{errc::invalid_argument,
                 "a weight is a number above 0, not '" + x.text + "'"};
  st.options.stored.weight = weight;
  st.study_is_saved = false;
  if (!st.replaying)
    self->send(st.merger, weight_atom::value, st.number, weight);
  return command_answer{};
}

expected<command_answer> obey(self_ptr self, const study_command& x,
                              study_orders& orders) {
  auto& st = self->state;
  const auto& stored = st.options.stored;
  if (has_ended(stored.state))
    return error{errc::invalid_argument, "study " + stored.name + " has ended: "
                                           + to_string(stored.state)};
  switch (x.what) {
    case verb::ask:
      return ask(self, x, orders);
    case verb::train:
      return take(self, st.decisions->client_train(x.trial, x.at), orders);
    case verb::tell:
      return tell(self, x, orders);
    case verb::close:
      return take(self, st.decisions->client_close(), orders);
    case verb::pause:
    case verb::resume:
    case verb::stop:
      return steer(self, x);
    case verb::weight:
      return weigh(self, x);
    case verb::widen:
      take_turn(self, st.decisions->widen(std::stoull(x.text)), orders);
      return command_answer{};
    case verb::cancel:
      end_study(self, study_phase::cancelled, trial_state::cancelled, orders,
                x.text);
      return command_answer{};
  }
  return error{errc::malformed_message, "an unknown command"};
}

void hear(self_ptr self, const study_command& x, study_orders& orders) {
  auto answer = obey(self, x, orders);
  auto waiting = self->state.commands.extract(x.token);
  if (!waiting)
    return;
  if (answer)
    answer_later(self->state, waiting.mapped(), std::move(*answer));
  else
    waiting.mapped().deliver(
      caf::make_error(answer.failure().code, answer.failure().message));
}

/// Sends what is to be done, and ends the study if nothing is to come.
void finish_turn(self_ptr self, study_orders orders) {
  auto& st = self->state;
  if (!has_ended(st.options.stored.state) && st.decisions->done())
    end_study(self, final_state(st), trial_state::pruned, orders);
  orders.wants_room = wants_room(st);
  orders.heard = st.heard;
  const bool wanted = std::exchange(st.told_wants_room, orders.wants_room);
  if (!orders.empty() || orders.wants_room || wanted)
    self->send(st.merger, order_atom::value, st.number, std::move(orders));
  save(self);
}

// -- starting -----------------------------------------------------------------

/// Does again what it did in earlier runs.
void replay(self_ptr self) {
  auto& st = self->state;
  study_orders forgotten;
  auto& stored = st.options.stored;
  const auto last = stored; // where it stood then
  st.replaying = true;
  stored.state = study_phase::running;
  take_turn(self, st.decisions->start(), forgotten);
  for (auto& x : std::exchange(st.options.history, {}))
    std::visit([&](auto& y) { hear(self, std::move(y), forgotten); }, x.what);
  if (!has_ended(stored.state) && st.decisions->done())
    end_study(self, final_state(st), trial_state::pruned, forgotten);
  st.replaying = false;
  stored.active_seconds = last.active_seconds;
  st.study_is_saved = stored == last;
}

/// What the merger has to know of what was decided so far.
study_orders all_orders(const study_state& st) {
  study_orders result;
  for (trial_no no = 0; no < st.trials.size(); ++no) {
    const auto& x = st.trials[no];
    if (!x.added)
      continue;
    result.added.push_back(order_of(st, no));
    if (x.asked_to > 0)
      result.asked.push_back(
        {no, x.asked_to, x.heard, has_ended(x.state)});
  }
  return result;
}

/// Asks for what is to be trained, once the merger knows the study.
void begin(self_ptr self, std::uint64_t number) {
  auto& st = self->state;
  st.number = number;
  if (st.options.stored.state == study_phase::running)
    st.active_since = self->clock().now();
  finish_turn(self, all_orders(st));
  watch_time(self);
}

// -- what others want to know -------------------------------------------------

study_status status_of(const study_state& st,
                       caf::actor_clock::time_point now) {
  const auto& stored = st.options.stored;
  study_status result;
  result.id = stored.id;
  result.name = stored.name;
  result.state = stored.state;
  result.weight = stored.weight;
  result.metric = st.options.spec.objective.metric;
  result.trials = st.decisions->trials();
  result.finished = st.finished;
  result.asked_steps = st.asked_steps;
  result.active_seconds = active_seconds(st, now);
  result.best = shown_best(st);
  return result;
}

study_record full_record_of(const study_state& st) {
  study_record result;
  const auto& spec = st.options.spec;
  result.name = spec.name;
  result.algorithm = spec.algorithm.name;
  result.workload_key = key_of(spec.workload);
  result.exact = is_exact(spec.workload);
  result.metric = spec.objective.metric;
  result.direction = spec.objective.direction;
  result.asked_steps = st.asked_steps;
  result.best = shown_best(st);
  for (trial_no no = 0; no < st.trials.size(); ++no)
    result.trials.push_back(record_of(st, no));
  return result;
}

/// Stores a command; the study hears of it then.
/// @param promise of whoever waits for the answer
void store(self_ptr self, study_command x,
           std::optional<caf::typed_response_promise<command_answer>> promise
           = std::nullopt) {
  auto& st = self->state;
  x.token = ++st.last_token;
  if (promise)
    st.commands.emplace(x.token, *promise);
  journal_entry entry;
  entry.records.emplace_back(event_added{st.options.stored.id, {}, x});
  entry.news.emplace_back(caf::actor_cast<trial_owner_actor>(self),
                          study_news{x});
  self
    ->request(st.journal, caf::infinite, commit_atom::value, std::move(entry))
    .then([](std::uint64_t) {},
          [self, token = x.token](caf::error& err) {
            if (auto waiting = self->state.commands.extract(token))
              waiting.mapped().deliver(std::move(err));
          });
}

/// Whether the merger caused an event.
bool is_of_merger(const study_event& x) {
  const auto* command = std::get_if<study_command>(&x);
  return command == nullptr || command->what == verb::widen;
}

/// Why there is no trial of that number, if there is none.
std::optional<error> find_missing(const study_state& st, trial_no no) {
  if (no < st.trials.size())
    return std::nullopt;
  return error{errc::invalid_argument,
               "study " + st.options.stored.name + " has no trial "
                 + std::to_string(no)};
}

} // namespace

study_actor::behavior_type study(self_ptr self, study_options options,
                                 merger_actor merger, journal_actor journal,
                                 observer_actor observer) {
  auto& state = self->state;
  state.options = std::move(options);
  state.merger = std::move(merger);
  state.journal = std::move(journal);
  state.observer = std::move(observer);
  state.decisions = std::make_unique<tuner>(
    state.options.spec, defaults_of(state.options.workload));
  state.last_rung = state.decisions->when().rungs.back();
  replay(self);
  return {
    [self](outcome_atom, const study_news& news) {
      study_orders orders;
      for (const auto& x : news) {
        self->state.heard += is_of_merger(x);
        std::visit([&](const auto& y) { hear(self, y, orders); }, x);
      }
      finish_turn(self, std::move(orders));
    },
    [self](room_atom, std::uint64_t trainers) {
      auto& st = self->state;
      if (wants_room(st)) {
        study_command x;
        x.what = verb::widen;
        x.text = std::to_string(trainers);
        store(self, std::move(x));
      } else {
        ++st.heard;
        finish_turn(self, {});
      }
    },
    [self](rested_atom) {
      if (self->state.options.stored.state != study_phase::stopping)
        return;
      study_orders orders;
      end_study(self, study_phase::complete, trial_state::cancelled, orders,
                stopped_text);
      finish_turn(self, std::move(orders));
    },
    [self](start_atom) -> caf::result<std::uint64_t> {
      auto promise = self->make_response_promise<std::uint64_t>();
      auto& st = self->state;
      const auto phase = st.options.stored.state;
      self
        ->request(st.merger, register_timeout, register_atom::value,
                  study_registration{st.options.stored.id,
                                     st.decisions->when(),
                                     st.options.stored.weight,
                                     phase == study_phase::paused
                                       || phase == study_phase::stopping},
                  caf::actor_cast<trial_owner_actor>(self))
        .then(
          [self, promise](std::uint64_t number) mutable {
            begin(self, number);
            promise.deliver(number);
          },
          [promise](caf::error& err) mutable {
            promise.deliver(std::move(err));
          });
      return promise;
    },
    [self](command_atom, const study_command& x)
      -> caf::result<command_answer> {
      const auto& stored = self->state.options.stored;
      if (has_ended(stored.state))
        return caf::make_error(errc::invalid_argument,
                               "study " + stored.name + " has ended: "
                                 + to_string(stored.state));
      auto promise = self->make_response_promise<command_answer>();
      store(self, x, promise);
      return promise;
    },
    [self](train_atom, std::uint64_t no,
           step_t to) -> caf::result<trained_answer> {
      auto& st = self->state;
      if (const auto why = find_missing(st, no))
        return caf::make_error(why->code, why->message);
      auto promise = self->make_response_promise<trained_answer>();
      if (is_there(st, no, to)) {
        answer_later(st, promise, answer_of(st, no, to));
        save(self);
        return promise;
      }
      if (st.trials[no].asked_to >= to) {
        st.waiters.emplace(no, study_state::trained_waiter{to, promise});
        return promise;
      }
      self
        ->request(caf::actor_cast<study_actor>(self), caf::infinite,
                  command_atom::value,
                  study_command{verb::train, no, to, {}, 0})
        .then(
          [self, no, to, promise](const command_answer&) mutable {
            auto& now = self->state;
            if (is_there(now, no, to)) {
              answer_later(now, promise, answer_of(now, no, to));
              save(self);
            } else {
              now.waiters.emplace(
                no, study_state::trained_waiter{to, promise});
            }
          },
          [promise](caf::error& err) mutable {
            promise.deliver(std::move(err));
          });
      return promise;
    },
    [self](tick_atom) {
      auto& st = self->state;
      const auto budget = st.options.spec.budget.seconds;
      if (!budget || !st.active_since)
        return;
      if (active_seconds(st, self->clock().now()) < *budget) {
        watch_time(self);
        return;
      }
      study_command x;
      x.what = verb::cancel;
      x.text = "the budget of time, " + to_text(*budget) + " s, is spent";
      store(self, std::move(x));
    },
    [self](status_atom) {
      return status_of(self->state, self->clock().now());
    },
    [self](status_atom, told_atom) { return full_record_of(self->state); },
  };
}

} // namespace hippo
