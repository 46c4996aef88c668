#pragma once

#include <string>
#include <utility>

#include "study.hpp"

// What a study does with what it receives: decisions, orders to the merger, and
// records for the journal. study.cpp is the actor around it.

namespace hippo {

using study_self = study_actor::stateful_pointer<study_state>;

/// The parameters of a trial, none if it is yet to be added: what they will be
/// is not decided by then, and to ask would decide.
nlohmann::ordered_json shown_params(const study_state& st, trial_no no);

std::optional<best_record> shown_best(const study_state& st);

double active_seconds(const study_state& st,
                      caf::actor_clock::time_point now);

/// Answers a promise once all that has changed by now is stored: a client must
/// find what it is answered.
template <class T>
void answer_later(study_state& st, caf::typed_response_promise<T> promise,
                  T answer) {
  st.answers.push_back(
    [promise, answer = std::move(answer)]() mutable {
      promise.deliver(std::move(answer));
    });
}

/// Stores what has changed. Sends news of it, and of the study's end, once it
/// is stored.
void save(study_self self);

/// What a trial has measured at `to`, however far it is by now, or else last.
trained_answer answer_of(const study_state& st, trial_no no, step_t to);

/// Whether a trial will be no nearer to a state than it is.
bool is_there(const study_state& st, trial_no no, step_t to);

study_orders::trial order_of(const study_state& st, trial_no no);

bool wants_capacity(const study_state& st);

/// Notes what is to be done next.
void take_turn(study_self self, const turn& x, study_orders& orders);

/// Ends the study: what has not ended by then is `rest`.
void end_study(study_self self, study_phase how, trial_state rest,
               study_orders& orders, const std::string& why = {});

/// Sees to it that the study ends when its time is spent.
void watch_time(study_self self);

void receive(study_self self, trial_measured x, study_orders& orders);
void receive(study_self self, const trial_failed& x, study_orders& orders);
void receive(study_self self, const study_command& x, study_orders& orders);

/// Sends what is to be done, and ends the study if nothing is to come.
void finish_turn(study_self self, study_orders orders);

} // namespace hippo
