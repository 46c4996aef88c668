#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/study/commands.hpp"
#include "hippo/service/study/requests.hpp"
#include "hippo/service/study/study_books.hpp"
#include "hippo/service/study/study_clock.hpp"

// Reasons to refuse a command, as far as they are known before it is stored: so
// that nobody can fill the store with commands that are refused.

namespace hippo {

/// Why a study cannot be brought to a state, if it cannot.
std::optional<error> refusal_of_state(const study_books& books, study_phase to);

/// A study that has ended stays as it is, unless it is tried again or extended.
std::optional<error> refusal_of_end(const study_books& books,
                                    study_command::verb what);

/// Why a trial cannot be trained up to a state, if it cannot, whatever it is
/// doing.
std::optional<error> refusal_of_training(const study_books& books,
                                         trial_no trial, step_t to);

/// Further facts that decide whether a command can be carried out.
struct refusal_facts {
  const study_requests& requests;
  const std::string& full; ///< why no new trials may begin; empty: they may
  const study_clock& clock;
  moment now;
  /// Whether the study was ended by no decision of its own.
  bool was_given_up = false;
  bool may_go_on = false; ///< as of `refusal_of_growth`
  /// The budgets that it has spent since it was restored.
  std::set<study_limit> spent{};
  std::set<trial_no> ended_fresh{}; ///< as of `plan_change`
};

/// Says why a study cannot be given more, if it cannot, whatever its budgets
/// leave it.
/// @param are_given whether the values of these trials are
/// @param may_go_on whether a study that has ended did so because there was
///                  nothing left to do, because a budget was spent, or by a
///                  fault of the service
std::optional<error> refusal_of_growth(const study_books& books,
                                       const command::extend& more,
                                       bool are_given, bool may_go_on);

/// Says why a study cannot have another space now, whatever it is, if it
/// cannot. @param may_go_on as of `refusal_of_growth`
std::optional<error> refusal_of_space(const study_books& books, bool may_go_on);

/// Says why a command cannot be carried out now, if it cannot.
std::optional<error> refusal_of(const study_command& wanted,
                                const study_books& books,
                                const refusal_facts& facts);

/// The trials of a command that are outside of the space or forks, or why it
/// cannot give them.
/// @param rules by which names are judged
expected<std::vector<own_trial>> own_trials_of(const command::enqueue& command,
                                               const study_books& books,
                                               name_rules rules);

/// Says why trials, or the study, cannot be hidden, or shown again, if they
/// cannot.
std::optional<error> refusal_of_removal(const command::remove& command,
                                        const study_books& books);
std::optional<error> refusal_of_return(const command::restore& command,
                                       const study_books& books);

/// Says why a study cannot have these tags, if it cannot.
std::optional<error> refusal_of_note(const command::note& command,
                                     const study_books& books);

/// The trials that a command tries again, or why it does nothing.
/// @param was_given_up as of `refusal_facts`
expected<std::vector<trial_no>> retried_by(const command::retry& command,
                                           const study_books& books,
                                           bool was_given_up);

} // namespace hippo
