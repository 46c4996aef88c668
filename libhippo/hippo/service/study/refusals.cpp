#include "hippo/service/study/refusals.hpp"

#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>

#include "hippo/base/number.hpp"
#include "hippo/search/algorithm/client_algorithm.hpp"
#include "hippo/service/study/space_change.hpp"
#include "hippo/space/lengthened.hpp"
#include "hippo/space/together.hpp"

namespace hippo {

using verb = study_command::verb;

std::optional<error> refusal_of_state(const study_books& books,
                                      study_phase to) {
  const auto& stored = books.stored();
  if (stored.state == to || stored.state == study_phase::stopping)
    return error{errc::invalid_argument, "study " + stored.name + " is "
                                           + to_string(stored.state)
                                           + " already"};
  return std::nullopt;
}

std::optional<error> refusal_of_end(const study_books& books, verb what) {
  const auto& stored = books.stored();
  if (!books.has_ended() || is_for_ended(what))
    return std::nullopt;
  return error{errc::invalid_argument, "study " + stored.name + " has ended: "
                                         + to_string(stored.state)};
}

std::optional<error> refusal_of_training(const study_books& books,
                                         trial_no trial, step_t to) {
  if (trial >= books.trials.size())
    return error{errc::invalid_argument, "study " + books.stored().name
                                           + " has no trial "
                                           + std::to_string(trial)};
  // Of a step that it has passed as well: there is nothing to answer with.
  if (auto why = client_algorithm::refusal_of_step(books.decisions.when(), to);
      !why.empty())
    return error{errc::invalid_argument, std::move(why)};
  return std::nullopt;
}

namespace {

/// Says why a study has no future, if it has none.
/// @param what is done to it once it has ended
std::optional<error> refusal_of_future(const study_books& books, bool may_go_on,
                                       const std::string& what) {
  const auto& stored = books.stored();
  const auto refused = [&](const std::string& why) {
    return error{errc::invalid_argument, "study " + stored.name + ' ' + why};
  };
  if (stored.state == study_phase::stopping)
    return refused("is STOPPING: " + what + " once it has ended");
  if (books.has_ended() && !may_go_on)
    return refused(std::string{"has ended: "} + to_string(stored.state)
                   + (stored.reason.empty() ? "" : " (" + stored.reason + ")")
                   + "; submit it again to go on: what is known is not trained "
                     "again");
  return std::nullopt;
}

} // namespace

std::optional<error> refusal_of_space(const study_books& books,
                                      bool may_go_on) {
  if (auto why = refusal_of_future(books, may_go_on, "change its space"))
    return why;
  return books.decisions.refusal_of_space();
}

std::optional<error> refusal_of_growth(const study_books& books,
                                       const command::extend& more,
                                       bool are_given, bool may_go_on) {
  if (auto why = refusal_of_future(books, may_go_on, "extend it"))
    return why;
  const auto& stored = books.stored();
  const auto& budget = books.spec().budget;
  const auto refused = [&](const std::string& why) {
    return error{errc::invalid_argument, "study " + stored.name + ' ' + why};
  };
  if (more.seconds > 0 && !budget.seconds)
    return refused("has no budget.seconds that could be extended");
  if (more.deadline_seconds > 0 && !budget.deadline)
    return refused("has no deadline that could be extended");
  if (more.device_seconds > 0 && !budget.device_seconds)
    return refused("has no budget.device_hours that could be extended");
  if (more.cost > 0 && !budget.cost)
    return refused("has no budget.cost that could be extended");
  if (more.budget_steps > 0 && !budget.steps)
    return refused("has no budget.steps that could be extended");
  if (more.steps > 0)
    if (auto why = books.decisions.refusal_of_length(more.steps))
      return why;
  if (more.trials > 0)
    return books.decisions.refusal_of_growth(more.trials, are_given);
  if (more.steps == 0 && books.decisions.done())
    return refused("has nothing left to train: extend it by trials or steps");
  return std::nullopt;
}

namespace {

/// Says which budget leaves a study that has ended nothing, also when it is
/// extended.
std::optional<error> refusal_of_budgets(const study_books& books,
                                        const refusal_facts& facts,
                                        const command::extend& more) {
  const auto& stored = books.stored();
  const auto& budget = books.spec().budget;
  const auto refused = [&](const std::string& what, const std::string& remedy) {
    return error{errc::invalid_argument,
                 "study " + stored.name + ": its " + what + ": " + remedy};
  };
  const auto is_spent = [&](study_limit what, const std::optional<double>& most,
                            double had, double wider) {
    return most && wider == 0 && (had >= *most || facts.spent.contains(what));
  };
  if (is_spent(study_limit::device_time, budget.device_seconds,
               stored.device_seconds, more.device_seconds))
    return refused("budget.device_hours is spent",
                   "extend it as well (device_seconds)");
  if (is_spent(study_limit::cost, budget.cost, stored.cost, more.cost))
    return refused("budget.cost is spent", "extend it as well (cost)");
  if (const auto over = books.decisions.overspent_steps();
      over && more.budget_steps <= *over)
    return refused("budget.steps is spent",
                   *over == 0
                     ? "extend it as well (budget_steps)"
                     : "extend it by more than " + std::to_string(*over)
                         + " as well (budget_steps)");
  if (facts.clock.seconds_left(facts.now) == 0.0 && more.seconds == 0)
    return refused("budget.seconds is spent", "extend it as well (seconds)");
  const auto left = facts.clock.deadline_left(facts.now);
  if (left && *left + more.deadline_seconds <= 0)
    return refused("deadline was " + to_text(std::ceil(-*left)) + " s ago",
                   "extend it by more than that as well (deadline_seconds)");
  return std::nullopt;
}

std::optional<error> refusal_of_more(const study_books& books,
                                     const refusal_facts& facts,
                                     const command::extend& more,
                                     bool are_given) {
  if (auto why = refusal_of_growth(books, more, are_given, facts.may_go_on))
    return why;
  if (!facts.full.empty() && more.trials > 0)
    return error{errc::resource_exhausted, facts.full};
  if (more.steps > books.spec().max_steps)
    for (const auto& space : books.decisions.spaces())
      if (auto why = refusal_of_values(lengthened(space, more.steps),
                                       books.options.workload))
        return why;
  return books.has_ended() ? refusal_of_budgets(books, facts, more)
                           : std::nullopt;
}

std::optional<error> refusal_of_new_space(const study_command& wanted,
                                          const command::set_space& command,
                                          const study_books& books,
                                          const refusal_facts& facts) {
  if (auto why = refusal_of_space(books, facts.may_go_on))
    return why;
  if (auto why = refusal_of_other_keys(wanted.text, books.stored().text))
    return why;
  const auto change = plan_change(books, command, facts.ended_fresh);
  if (!change)
    return change.failure();
  if (!change->goes_on)
    return std::nullopt;
  if (!facts.full.empty())
    return error{errc::resource_exhausted, facts.full};
  return refusal_of_budgets(books, facts, {});
}

/// Says why trials, or the study, cannot be hidden yet, if they cannot.
std::optional<error> refusal_of_removal_now(const command::remove& command,
                                            const study_books& books,
                                            bool was_given_up) {
  const auto& stored = books.stored();
  if (!books.has_ended() && command.trials.empty())
    return error{errc::invalid_argument, "study " + stored.name + " is "
                                           + to_string(stored.state)
                                           + ": cancel it first"};
  if (was_given_up && !command.trials.empty())
    return error{errc::invalid_argument,
                 "study " + stored.name
                   + " has failed by a fault of the service, before its trials"
                     " ended: try it again first (retry)"};
  return std::nullopt;
}

} // namespace

std::optional<error> refusal_of(const study_command& wanted,
                                const study_books& books,
                                const refusal_facts& facts) {
  if (auto why = refusal_of_end(books, wanted.what))
    return why;
  auto parsed = parse_command(wanted, books.spec(), books.options.workload,
                              name_rules::today);
  if (!parsed)
    return parsed.failure();
  if (wanted.what == verb::ask && !facts.full.empty())
    return error{errc::resource_exhausted, facts.full};
  // Of what is being stored, these may make possible what is not now.
  const auto unless = [&facts](std::initializer_list<verb> xs,
                               std::optional<error> why) {
    return facts.requests.is_storing(xs) ? std::nullopt : std::move(why);
  };
  const auto& decisions = books.decisions;
  switch (wanted.what) {
    case verb::ask:
      if (const auto& values = std::get<command::ask>(*parsed).values)
        if (auto why = refusal_together(*values, books.options.workload))
          return why;
      return decisions.refusal_of_ask();
    case verb::train:
      return unless({verb::ask, verb::tell, verb::retry},
                    decisions.refusal_of_train(wanted.trial, wanted.at));
    case verb::tell:
      return unless(
        {verb::ask, verb::retry},
        decisions.refusal_of_end(
          wanted.trial, std::get<command::tell>(*parsed).value.has_value()));
    case verb::close:
      return decisions.refusal_of_close();
    case verb::pause:
      return unless({verb::resume},
                    refusal_of_state(books, study_phase::paused));
    case verb::resume:
      return unless({verb::pause},
                    refusal_of_state(books, study_phase::running));
    case verb::stop:
      return refusal_of_state(books, study_phase::stopping);
    case verb::retry:
      if (auto what = retried_by(std::get<command::retry>(*parsed), books,
                                 facts.was_given_up);
          !what)
        return what.failure();
      return std::nullopt;
    case verb::extend:
      return refusal_of_more(books, facts, std::get<command::extend>(*parsed),
                             false);
    case verb::enqueue: {
      const auto& x = std::get<command::enqueue>(*parsed);
      if (auto why =
            refusal_of_more(books, facts, {.trials = x.trials.size()}, true))
        return why;
      const auto own = own_trials_of(x, books, name_rules::today);
      if (!own)
        return own.failure();
      for (const auto& trial : *own)
        if (auto why = refusal_together(trial.values, books.options.workload))
          return why;
      return std::nullopt;
    }
    case verb::tell_past:
      return decisions.refusal_of_past();
    case verb::note:
      return refusal_of_note(std::get<command::note>(*parsed), books);
    case verb::remove: {
      const auto& x = std::get<command::remove>(*parsed);
      if (auto why = refusal_of_removal_now(x, books, facts.was_given_up))
        return why;
      return unless({verb::ask, verb::restore}, refusal_of_removal(x, books));
    }
    case verb::restore:
      return unless(
        {verb::remove},
        refusal_of_return(std::get<command::restore>(*parsed), books));
    case verb::set_space:
      return refusal_of_new_space(wanted, std::get<command::set_space>(*parsed),
                                  books, facts);
    case verb::cancel:
    case verb::weight:
    case verb::widen:
    case verb::finish:
      return std::nullopt;
  }
  return std::nullopt;
}

// -- what is hidden ----------------------------------------------------------

std::optional<error> refusal_of_removal(const command::remove& command,
                                        const study_books& books) {
  const auto study = "study " + books.stored().name;
  const auto refused = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  if (command.trials.empty()) {
    // It has ended: or it was ended by no event, which a replay would know of.
    return books.stored().removed
             ? std::optional{refused(study + " is removed already")}
             : std::nullopt;
  }
  for (const auto no : command.trials) {
    const auto trial = "trial " + std::to_string(no);
    if (no < books.trials.size() && books.trials[no].removed)
      return refused(trial + " of " + study + " is removed already");
    if (!books.trials.is_shown(no))
      return refused(study + " has no " + trial);
    if (const auto state = books.trials[no].state; !has_ended(state))
      return refused(trial + " of " + study + " is " + to_string(state)
                     + ": it can be removed once it has ended");
  }
  return std::nullopt;
}

std::optional<error> refusal_of_return(const command::restore& command,
                                       const study_books& books) {
  const auto study = "study " + books.stored().name;
  const auto refused = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  if (command.trials.empty() && !books.stored().removed)
    return refused(study + " is not removed");
  for (const auto no : command.trials)
    if (no >= books.trials.size() || !books.trials[no].removed)
      return refused("trial " + std::to_string(no) + " of " + study
                     + " is not removed");
  return std::nullopt;
}

std::optional<error> refusal_of_note(const command::note& command,
                                     const study_books& books) {
  const auto& known = books.stored().tags;
  std::set<std::string> tags{known.begin(), known.end()};
  tags.insert(command.added_tags.begin(), command.added_tags.end());
  for (const auto& x : command.removed_tags)
    if (tags.erase(x) == 0)
      return error{errc::invalid_argument,
                   "study " + books.stored().name + " has no tag '" + x + "'"};
  if (tags.size() > tags_max)
    return error{errc::invalid_argument, "a study has at most "
                                           + std::to_string(tags_max)
                                           + " tags, and this one would have "
                                           + std::to_string(tags.size())};
  return std::nullopt;
}

// -- what has failed ----------------------------------------------------------

namespace {

std::optional<error> refusal_of_retry(const study_books& books, trial_no no,
                                      bool all) {
  const auto& study = books.stored().name;
  const auto name = "trial " + std::to_string(no) + " of study " + study;
  const auto refused = [](std::string why) {
    return error{errc::invalid_argument, std::move(why)};
  };
  if (no >= books.trials.size() || books.trials[no].removed)
    return refused("study " + study + " has no trial " + std::to_string(no));
  const auto& x = books.trials[no];
  if (x.state != trial_state::failed)
    return refused(name + " has not failed: it is " + to_string(x.state));
  if (!x.cause)
    return refused(name + " has failed, but not in training: " + x.failure);
  if (!all && !may_pass(*x.cause))
    return refused(name
                   + " has failed for a reason that does not pass (--all "
                     "tries it all the same): "
                   + x.failure.substr(0, x.failure.find('\n')));
  return std::nullopt;
}

} // namespace

expected<std::vector<trial_no>> retried_by(const command::retry& command,
                                           const study_books& books,
                                           bool was_given_up) {
  const auto& stored = books.stored();
  if (books.has_ended() && !was_given_up && !books.decisions.done())
    return {errc::invalid_argument,
            "study " + stored.name + " was ended before it was done ("
              + to_string(stored.state)
              + (stored.reason.empty() ? "" : ": " + stored.reason)
              + "): submit it again to go on; what is known is not trained "
                "again"};
  std::vector<trial_no> result;
  if (!command.trials.empty()) {
    for (const auto no : command.trials)
      if (auto why = refusal_of_retry(books, no, command.all))
        return *why;
    result.assign(command.trials.begin(), command.trials.end());
    return result;
  }
  std::uint64_t failed = 0;
  for (trial_no no = 0; no < books.trials.size(); ++no) {
    failed += books.trials[no].state == trial_state::failed
              && !books.trials[no].removed;
    if (!refusal_of_retry(books, no, command.all))
      result.push_back(no);
  }
  if (!result.empty() || was_given_up)
    return result;
  if (failed == 0)
    return {errc::invalid_argument,
            "no trial of study " + stored.name + " has failed"};
  return {errc::invalid_argument,
          "the " + std::to_string(failed) + " trials of study " + stored.name
            + " that have failed did so for reasons that do not pass: they "
              "diverged, or three trainers said the same, or a client did"
            + (command.all ? "" : " (--all tries again what trainers said)")};
}

// -- trials with values of their own ------------------------------------------

expected<std::vector<own_trial>> own_trials_of(const command::enqueue& command,
                                               const study_books& books,
                                               name_rules rules) {
  std::vector<own_trial> result;
  for (const auto& x : command.trials.outside)
    result.push_back({x, "outside the space"});
  for (const auto& x : command.trials.forks) {
    const auto name = "trial " + std::to_string(x.from);
    if (!books.trials.is_shown(x.from))
      return {errc::invalid_argument,
              "study " + books.stored().name + " has no " + name};
    auto values = values_of(x, books.decisions.parameters(x.from),
                            books.spec(), books.options.workload, rules);
    if (!values)
      return values.failure();
    result.push_back({std::move(*values), "fork of " + name + " at step "
                                            + std::to_string(x.at)});
  }
  return result;
}

} // namespace hippo
