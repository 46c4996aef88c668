#include "study.hpp"

#include <chrono>
#include <iterator>
#include <utility>

#include "fault.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/service/study/study_shown.hpp"
#include "turn_watch.hpp"

namespace hippo {

namespace {

/// How long the merger may take to register a study's trials.
constexpr auto register_timeout = std::chrono::minutes(10);

// -- effects ------------------------------------------------------------------

/// Answers whoever gave the token.
void deliver(study_state& st, study_effect::answer& x) {
  auto waiting = st.waiting.extract(x.to);
  if (!waiting)
    return;
  std::visit(
    [](auto& to, auto& what) {
      using answer = std::decay_t<decltype(what)>;
      if constexpr (std::is_same_v<answer, error>)
        to.deliver(to_caf_error(what));
      else if constexpr (std::is_same_v<std::decay_t<decltype(to)>,
                                        caf::typed_response_promise<answer>>)
        to.deliver(std::move(what));
    },
    waiting.mapped(), x.what);
}

/// Does what the study has decided. REQUIRES: the merger knows it
struct study_effect_performer {
  study_self self;

  study_state& state() { return self->state; }

  void operator()(study_effect::answer& x) { deliver(state(), x); }

  void operator()(study_effect::commit& x) {
    journal_entry entry;
    entry.records = std::move(x.records);
    if (!x.news.empty())
      entry.news.emplace_back(caf::actor_cast<trial_owner_actor>(self),
                              std::move(x.news));
    state().unstored_ends += x.end.has_value();
    self
      ->request(state().journal, caf::infinite, commit_atom::value,
                std::move(entry))
      .then(
        [self = self, answers = std::move(x.answers),
         end = std::move(x.end)](std::uint64_t) mutable {
          for (auto& y : answers)
            deliver(self->state, y);
          if (!end)
            return;
          --self->state.unstored_ends;
          self->send(self->state.observer, notify_atom::value, *end);
        },
        [self = self](caf::error& err) { self->quit(std::move(err)); });
  }

  void operator()(study_effect::send_orders& x) {
    self->send(state().merger, order_atom::value, *state().number,
               std::move(x.orders));
  }

  void operator()(study_effect::set_paused& x) {
    self->send(state().merger, pause_atom::value, *state().number, x.paused);
  }

  void operator()(study_effect::set_weight& x) {
    self->send(state().merger, weight_atom::value, *state().number, x.weight);
  }

  void operator()(study_effect::raise_budget& x) {
    self->send(state().merger, raise_atom::value, *state().number,
               x.device_seconds, x.cost);
  }

  void operator()(study_effect::notify_trial& x) {
    self->send(state().observer, notify_atom::value, std::move(x.what));
  }

  void operator()(study_effect::wake_after& x) {
    self->delayed_send(self, x.span, tick_atom::value);
  }
};

void perform(study_self self, study_core::effects effects) {
  study_effect_performer performer{self};
  for (auto& x : effects)
    std::visit(performer, x);
}

moment now(study_self self) {
  return self->clock().now();
}

// -- thinking -----------------------------------------------------------------

/// What is known of a study before it has been worked out where it stands.
study_status first_status(const study_options& x) {
  auto result = status_of(x.stored, x.spec);
  result.view.deadline_seconds_left = x.deadline_left;
  result.caught_up = 0;
  return result;
}

/// Has a job begin if there is something to do and none is at it.
void go_on(study_self self) {
  auto& st = self->state;
  const bool has_work = st.number        ? !st.inbox.empty()
                                         : st.starting
                                             && !st.mind->has_caught_up
                                             && !st.mind->failure;
  if (st.is_thinking || !has_work)
    return;
  auto& mind = *st.mind;
  if (st.number) {
    mind.steps.insert(mind.steps.end(),
                      std::make_move_iterator(st.inbox.begin()),
                      std::make_move_iterator(st.inbox.end()));
    st.inbox.clear();
  }
  mind.now = now(self);
  mind.wants_status = std::exchange(st.wants_status, false);
  st.is_thinking = true;
  st.place.post([mind = st.mind, to = study_actor{self}](const job_turn& turn) {
    mind->work(turn);
    caf::anon_send(to, thought_atom::value);
  });
}

/// What comes at once: more of it may make for more decisions.
constexpr std::size_t quick_items_max = 16;
constexpr std::size_t many_items = quick_items_max + 1;

/// @param items that it says, news for instance
void think(study_self self, study_step x, std::size_t items = 1) {
  auto& st = self->state;
  if (st.number && !st.is_thinking && st.inbox.empty()
      && st.mind->is_quick && items <= quick_items_max) {
    perform(self, st.mind->take(x, now(self)));
    if (x.then)
      x.then(self);
    return;
  }
  st.inbox.push_back(std::move(x));
  go_on(self);
}

/// Once a study has caught up: the merger gets to know it.
void register_study(study_self self) {
  self
    ->request(self->state.merger, register_timeout, register_atom::value,
              self->state.mind->registration,
              caf::actor_cast<trial_owner_actor>(self))
    .then(
      [self](study_no number) {
        auto& st = self->state;
        st.number = number;
        st.inbox.push_front(
          {study_core_event::registered{}, {}, [number](study_self me) {
             if (auto promise = std::exchange(me->state.starting, {}))
               promise->deliver(number);
           }});
        go_on(self);
      },
      [self](caf::error& err) {
        if (auto promise = std::exchange(self->state.starting, {}))
          promise->deliver(std::move(err));
      });
}

/// A study that was at catching up has come further, or has caught up.
void note_progress(study_self self) {
  auto& st = self->state;
  auto& mind = *st.mind;
  st.told.caught_up = mind.caught_up;
  if (mind.failure) {
    if (auto promise = std::exchange(st.starting, {}))
      promise->deliver(to_caf_error(*mind.failure));
  } else if (mind.has_caught_up) {
    st.told.caught_up = 1;
    st.wants_status = true; // before anybody asks: it is out of date
    register_study(self);
  }
}

/// A job has ended, or paused.
void take_thought(study_self self) {
  auto& st = self->state;
  auto& mind = *st.mind;
  if (mind.fault)
    std::rethrow_exception(mind.fault);
  // What was left when its turn was over comes before what has come since.
  st.inbox.insert(st.inbox.begin(),
                  std::make_move_iterator(mind.steps.begin()),
                  std::make_move_iterator(mind.steps.end()));
  mind.steps.clear();
  perform(self, std::exchange(mind.effects, {}));
  for (auto& f : std::exchange(mind.done, {}))
    f(self);
  if (!st.number)
    note_progress(self);
  else if (mind.status)
    st.told = std::move(*std::exchange(mind.status, {}));
  st.is_thinking = false; // the mind is not looked at from here on
  go_on(self);
}

/// Says whether the study has ended for good, once all that has come is done.
/// @param is_journal_empty whether that holds all the results that the journal
///        had to store when the study was asked
void answer_retire(study_self self, caf::typed_response_promise<bool> promise,
                   bool is_journal_empty) {
  auto& st = self->state;
  const bool goes = has_ended(st.mind->core->stored().state)
              && st.unstored_ends == 0;
  const auto again = [promise](bool is_empty) {
    return study_step{{}, {}, [promise, is_empty](study_self me) {
                        answer_retire(me, promise, is_empty);
                      }};
  };
  if (goes && !st.inbox.empty()) {
    think(self, again(is_journal_empty));
    return;
  }
  if (goes && !is_journal_empty) {
    // Commits are stored in their order: results before this one are told
    // before it is answered.
    self
      ->request(st.journal, caf::infinite, commit_atom::value, journal_entry{})
      .then([self, again](std::uint64_t) { think(self, again(true)); },
            [self](caf::error& err) { self->quit(std::move(err)); });
    return;
  }
  if (goes)
    self->quit(caf::exit_reason::user_shutdown);
  promise.deliver(goes);
}

/// Makes a promise that is kept once the core answers its token.
template <class Answer>
std::pair<study_token, caf::typed_response_promise<Answer>>
await(study_self self) {
  auto& st = self->state;
  auto promise = self->template make_response_promise<Answer>();
  const study_token token{++st.last_token};
  st.waiting.emplace(token, promise);
  return {token, promise};
}

} // namespace

study_state::~study_state() {
  if (starting)
    starting->deliver(caf::make_error(caf::sec::request_receiver_down));
  // They were taken in, so that nobody may ask for the same once more.
  const auto interrupted = caf::make_error(
    errc::io_failed, "the study was interrupted before it had answered; what "
                     "was asked for may be done");
  for (auto& kvp : waiting)
    std::visit([&](auto& to) { to.deliver(interrupted); }, kvp.second);
}

// -- a job of a study ---------------------------------------------------------

void study_mind::work(const job_turn& turn) noexcept {
  try {
    if (!catch_up(turn))
      return;
    while (!steps.empty()) {
      auto step = std::move(steps.front());
      steps.pop_front();
      auto more = take(step, now);
      effects.insert(effects.end(), std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
      if (step.then)
        done.push_back(std::move(step.then));
      if (turn.is_over())
        break;
    }
    if (wants_status)
      status = core->status(now);
  } catch (...) {
    fault = std::current_exception();
  }
}

study_core::effects study_mind::take(study_step& step, moment at) {
  study_core::effects result;
  if (step.event)
    result = trace.apply(*core, std::move(*step.event), at);
  if (step.look)
    step.look(*core);
  return result;
}

/// @returns whether it stands where it stood
bool study_mind::catch_up(const job_turn& turn) {
  if (has_caught_up)
    return true;
  if (!core) {
    if (!read_history(turn))
      return false;
    trace.begin(setup.options, begun);
    core = std::make_unique<study_core>(std::move(setup.options), begun);
    if (turn.is_over())
      return false;
  }
  const bool has = core->catch_up([&] { return turn.is_over(); });
  if (!has) {
    caught_up = core->caught_up();
    return false;
  }
  failure = core->damage();
  if (failure)
    return false;
  registration = core->registration();
  if (const auto draws =
        draws_per_event(core->search(), core->spec().space.leaves()))
    is_quick = *draws <= setup.draws_at_once_max;
  has_caught_up = true;
  return true;
}

/// @returns whether all of it is here
bool study_mind::read_history(const job_turn& turn) {
  auto& history = setup.options.history;
  while (setup.read_history) {
    auto more = setup.read_history(history.empty() ? 0 : history.back().id);
    if (!more) {
      failure = more.failure();
      return false;
    }
    if (more->empty())
      setup.read_history = nullptr;
    history.insert(history.end(), std::make_move_iterator(more->begin()),
                   std::make_move_iterator(more->end()));
    if (turn.is_over())
      return false;
  }
  return true;
}

// -- the actor ----------------------------------------------------------------

study_actor::behavior_type study(study_self self, study_setup setup,
                                 merger_actor merger, journal_actor journal,
                                 observer_actor observer) {
  self->set_exception_handler([](std::exception_ptr& x) {
    return fault_of(x);
  });
  auto& state = self->state;
  state.merger = std::move(merger);
  state.journal = std::move(journal);
  state.observer = std::move(observer);
  state.place = thinking_place{setup.where, job_kind::decision};
  state.told = first_status(setup.options);
  state.mind = std::make_shared<study_mind>();
  state.mind->begun = now(self);
  state.mind->trace = core_trace{std::move(setup.trace),
                                 "study " + to_string(setup.options.stored.id)};
  state.mind->setup = std::move(setup);
  return watched<study_actor::behavior_type>(
    "study",
    {
      [self](outcome_atom, study_news& news) {
        const auto items = news.size();
        think(self, {study_core_event::received{std::move(news)}}, items);
      },
      [self](capacity_atom, std::uint64_t trials) {
        think(self, {study_core_event::capacity_offered{trials}});
      },
      [self](quiesced_atom) { think(self, {study_core_event::quiesced{}}); },
      [self](spent_atom, study_limit what, std::uint64_t raises) {
        think(self, {study_core_event::spent{what, raises}});
      },
      [self](start_atom) -> caf::result<study_no> {
        auto promise = self->make_response_promise<study_no>();
        self->state.starting = promise;
        go_on(self);
        return promise;
      },
      [self](command_atom,
             const study_command& x) -> caf::result<command_answer> {
        auto [token, promise] = await<command_answer>(self);
        think(self, {study_core_event::commanded{x, token}});
        return promise;
      },
      [self](train_atom, trial_no no, step_t to) -> caf::result<trained_trial> {
        auto [token, promise] = await<trained_trial>(self);
        think(self, {study_core_event::train_wanted{no, to, token}});
        return promise;
      },
      [self](memory_atom, std::string& why) {
        think(self, {study_core_event::filled{std::move(why)}});
      },
      [self](tick_atom) { think(self, {study_core_event::time_passed{}}); },
      [self](thought_atom) { take_thought(self); },
      [self](retire_atom) -> caf::result<bool> {
        auto promise = self->make_response_promise<bool>();
        think(self, {{}, {}, [promise](study_self me) {
                       answer_retire(me, promise, false);
                     }});
        return promise;
      },
      [self](status_atom) {
        auto& st = self->state;
        if (st.is_thinking || !st.mind->has_caught_up)
          st.wants_status = true;
        else
          st.told = st.mind->core->status(now(self));
        return st.told;
      },
      [self](overview_atom) -> caf::result<study_record> {
        auto promise = self->make_response_promise<study_record>();
        const auto record = std::make_shared<study_record>();
        think(self,
              {{},
               [record](const study_core& core) { *record = core.record(); },
               [record, promise](study_self) mutable {
                 promise.deliver(std::move(*record));
               }},
              many_items);
        return promise;
      },
    });
}

} // namespace hippo
