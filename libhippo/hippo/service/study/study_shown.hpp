#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "hippo/model/records.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/model/trial_event.hpp"
#include "hippo/service/study/answers.hpp"
#include "hippo/service/study/study_books.hpp"

// A study as it is shown to people, sent to clients and stored: pure functions
// of its books.

namespace hippo {

/// The parameters of a trial, none if it is yet to be added: what they will be
/// is not decided by then, and to ask would decide.
nlohmann::ordered_json shown_params(const study_books& books, trial_no trial);

/// The best measurement; nothing: there is none, or the study has a front.
std::optional<best_record> shown_best(const study_books& books);

/// The front of a study of several metrics; nothing: it has one metric.
std::optional<front_record> shown_front(const study_books& books);
std::optional<front_so_far> front_in_brief(const study_books& books);

/// The status that a study's row and its specification give.
study_status status_of(const stored_study& stored, const study_spec& spec);

/// The end of a trial that has ended, as observers are told.
trial_event end_of_trial(const study_books& books, trial_no trial);

/// The measurement of a trial at `to`, however far it is by now, or its last.
trained_trial answer_of(const study_books& books, trial_no trial, step_t to);

/// A trial as it is stored.
/// @param is_new whether its parameters are to be stored as well
stored_trial stored_of(const study_books& books, trial_no trial, bool is_new);

/// All that is known of the study and its trials.
study_record record_of(const study_books& books);

} // namespace hippo
