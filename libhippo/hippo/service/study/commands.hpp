#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/records.hpp"
#include "hippo/service/study/given_trials.hpp"
#include "hippo/space/first_trials.hpp"
#include "hippo/space/new_space.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

// The commands of clients and the merger to a study, read from the text that is
// stored. Numbers are in range by then; whether the study can do so at the
// moment is not known.

namespace command {

/// One more trial, with values of the sampler if there are none.
struct ask {
  std::optional<trial_parameters> values;
};
struct train {
  trial_no trial = 0;
  step_t to = 0;
};
/// Ends a trial.
struct tell {
  trial_no trial = 0;
  step_t at = 0; ///< of `value`; 0: at the last rung
  trial_state how = trial_state::complete; ///< or pruned, or failed
  std::optional<double> value;             ///< of the objective
};
struct close {};
struct pause {
  std::string why; ///< empty: somebody wanted it
};
struct resume {};
struct stop {};
struct cancel {
  std::string why;
};
/// @invariant `value` is finite and above 0
struct weight {
  double value = 1;
};
struct widen {
  std::uint64_t trials = 0;
};
/// Tries again what has failed.
struct retry {
  std::set<trial_no> trials; ///< these; none: all that have failed
  /// Whether those as well whose failures do not pass; see `may_pass`.
  bool all = false;
};
/// Ends the study, complete: what it was given is spent.
struct finish {
  std::string why;
};

/// Raises the budget of the study, or the length of its trials.
/// @invariant something is above 0
struct extend {
  std::uint64_t trials = 0;
  double seconds = 0;          ///< of `budget.seconds`
  double deadline_seconds = 0; ///< by which its deadline comes later
  double device_seconds = 0;   ///< of `budget.device_hours`
  double cost = 0;             ///< of `budget.cost`
  std::uint64_t budget_steps = 0; ///< of `budget.steps`
  step_t steps = 0;            ///< the new length of trials; 0: as before
};
/// Adds trials that come next.
/// @invariant there are some
struct enqueue {
  given_trials trials;
};
/// Gives results of other studies to the sampler.
struct tell_past {
  std::vector<past_result> results;
};
/// Changes the words of people about the study.
/// @invariant it changes something; no tag is in both lists
struct note {
  std::optional<std::string> text; ///< in place of the note; nothing: it stays
  std::vector<std::string> added_tags;
  std::vector<std::string> removed_tags;
};
/// Hides trials; without any the study.
struct remove {
  std::set<trial_no> trials;
};
/// Shows again what was hidden.
struct restore {
  std::set<trial_no> trials;
};
/// Takes another space for trials that have not begun.
struct set_space {
  new_space what;
};

} // namespace command

using parsed_command =
  std::variant<command::ask, command::train, command::tell, command::close,
               command::pause, command::resume, command::stop, command::cancel,
               command::weight, command::widen, command::retry, command::finish,
               command::extend, command::enqueue, command::tell_past,
               command::note, command::remove, command::restore,
               command::set_space>;

/// Reads a command as it is sent and stored.
/// @param spec,workload of the study
/// @param rules by which names are judged
/// @returns the command, or `errc::invalid_argument` or
///          `errc::malformed_message` with what is wrong with its text
expected<parsed_command> parse_command(const study_command& wanted,
                                       const study_spec& spec,
                                       const workload_descriptor& workload,
                                       name_rules rules);

} // namespace hippo
