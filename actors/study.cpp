#include "study.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "hippo/core/number.hpp"
#include "hippo/space/own_workload.hpp"
#include "study_turns.hpp"

namespace hippo {

namespace {

using self_ptr = study_self;
using verb = study_command::verb;

/// How long the merger may take to register a study's trials.
constexpr auto register_timeout = std::chrono::minutes(10);

constexpr auto stopped_text = "the study was stopped";

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
    std::visit([&](auto& y) { receive(self, std::move(y), forgotten); },
               x.what);
  if (!has_ended(stored.state) && st.decisions->done())
    end_study(self, st.trials.final_phase(), trial_state::pruned, forgotten);
  st.replaying = false;
  st.trials.check_invariants();
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
        {no, x.asked_to, x.acked, has_ended(x.state)});
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
  result.finished = st.trials.finished();
  result.asked_steps = st.trials.asked_steps();
  result.active_seconds = active_seconds(st, now);
  result.best = shown_best(st);
  return result;
}

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

study_record full_record_of(const study_state& st) {
  study_record result;
  const auto& spec = st.options.spec;
  result.name = spec.name;
  result.algorithm = spec.algorithm.name;
  result.workload_key = key_of(spec.workload);
  result.exact = is_exact(spec.workload);
  result.metric = spec.objective.metric;
  result.direction = spec.objective.direction;
  result.asked_steps = st.trials.asked_steps();
  result.best = shown_best(st);
  for (trial_no no = 0; no < st.trials.size(); ++no)
    result.trials.push_back(record_of(st, no));
  return result;
}

/// Stores a command; the study receives it then.
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
bool is_of_merger(const study_input& x) {
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
  state.trials = study_trials{state.options.spec.objective};
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
        self->state.acked += is_of_merger(x);
        std::visit([&](const auto& y) { receive(self, y, orders); }, x);
      }
      finish_turn(self, std::move(orders));
    },
    [self](capacity_atom, std::uint64_t trainers) {
      auto& st = self->state;
      if (wants_capacity(st)) {
        study_command x;
        x.what = verb::widen;
        x.text = std::to_string(trainers);
        store(self, std::move(x));
      } else {
        ++st.acked;
        finish_turn(self, {});
      }
    },
    [self](quiesced_atom) {
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
                                       || phase == study_phase::stopping,
                                     st.options.spec.workload.settings},
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
    [self](overview_atom) { return full_record_of(self->state); },
  };
}

} // namespace hippo
