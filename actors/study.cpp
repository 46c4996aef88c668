#include "study.hpp"

#include <chrono>
#include <utility>

#include "fault.hpp"

namespace hippo {

namespace {

using study_self = study_actor::stateful_pointer<study_state>;

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

/// Does what the study has decided.
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
    if (state().number) // else all of them follow when it is registered
      self->send(state().merger, order_atom::value, *state().number,
                 std::move(x.orders));
  }

  void operator()(study_effect::set_paused& x) {
    if (state().number)
      self->send(state().merger, pause_atom::value, *state().number, x.paused);
    else
      state().early.emplace_back(x);
  }

  void operator()(study_effect::set_weight& x) {
    if (state().number)
      self->send(state().merger, weight_atom::value, *state().number, x.weight);
    else
      state().early.emplace_back(x);
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
  for (auto& kvp : waiting)
    std::visit(
      [](auto& to) {
        to.deliver(caf::make_error(caf::sec::request_receiver_down));
      },
      kvp.second);
}

study_actor::behavior_type study(study_self self, study_options options,
                                 merger_actor merger, journal_actor journal,
                                 observer_actor observer) {
  self->set_exception_handler([](std::exception_ptr& x) {
    return fault_of(x);
  });
  auto& state = self->state;
  state.merger = std::move(merger);
  state.journal = std::move(journal);
  state.observer = std::move(observer);
  state.core = std::make_unique<study_core>(std::move(options), now(self));
  return {
    [self](outcome_atom, const study_news& news) {
      perform(self, self->state.core->receive(news, now(self)));
    },
    [self](capacity_atom, std::uint64_t trials) {
      perform(self, self->state.core->offered_capacity(trials, now(self)));
    },
    [self](quiesced_atom) {
      perform(self, self->state.core->quiesced(now(self)));
    },
    [self](spent_atom, study_limit what) {
      perform(self, self->state.core->spent(what, now(self)));
    },
    [self](start_atom) -> caf::result<study_no> {
      if (const auto& why = self->state.core->damage())
        return to_caf_error(*why);
      auto promise = self->make_response_promise<study_no>();
      self
        ->request(self->state.merger, register_timeout, register_atom::value,
                  self->state.core->registration(),
                  caf::actor_cast<trial_owner_actor>(self))
        .then(
          [self, promise](study_no number) mutable {
            self->state.number = number;
            perform(self, std::exchange(self->state.early, {}));
            perform(self, self->state.core->registered(now(self)));
            promise.deliver(number);
          },
          [promise](caf::error& err) mutable {
            promise.deliver(std::move(err));
          });
      return promise;
    },
    [self](command_atom,
           const study_command& x) -> caf::result<command_answer> {
      auto [token, promise] = await<command_answer>(self);
      perform(self, self->state.core->command(x, token, now(self)));
      return promise;
    },
    [self](train_atom, trial_no no,
           step_t to) -> caf::result<trained_answer> {
      auto [token, promise] = await<trained_answer>(self);
      perform(self, self->state.core->train(no, to, token, now(self)));
      return promise;
    },
    [self](memory_atom, std::string& why) {
      perform(self, self->state.core->set_full(std::move(why), now(self)));
    },
    [self](tick_atom) {
      perform(self, self->state.core->time_passed(now(self)));
    },
    [self](retire_atom) {
      const auto& st = self->state;
      const bool goes
        = has_ended(st.core->stored().state) && st.unstored_ends == 0;
      if (goes)
        self->quit(caf::exit_reason::user_shutdown);
      return goes;
    },
    [self](status_atom) { return self->state.core->status(now(self)); },
    [self](overview_atom) { return self->state.core->record(); },
  };
}

} // namespace hippo
