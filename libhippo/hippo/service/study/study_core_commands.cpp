// The commands to a study: all answer with why not, and change nothing then.

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/service/study/refusals.hpp"
#include "hippo/service/study/space_change.hpp"
#include "hippo/service/study/study_core.hpp"
#include "hippo/space/lengthened.hpp"

namespace hippo {

expected<command_answer> study_core::carry_out(const study_command& command) {
  if (auto why = refusal_of_end(books(), command.what))
    return *why;
  auto parsed = parse_command(command, options_.spec, options_.workload,
                              name_rules::of_before);
  if (!parsed)
    return parsed.failure();
  return std::visit([this](auto& y) { return on(std::move(y)); }, *parsed);
}

expected<command_answer> study_core::take_turn(expected<turn> next) {
  if (!next)
    return next.failure();
  take_turn(*next);
  return command_answer{};
}

expected<command_answer> study_core::on(command::ask command) {
  auto next = tuner_->client_ask(std::move(command.values));
  if (!next)
    return next.failure();
  take_turn(*next);
  const auto no = tuner_->trials() - 1;
  return command_answer{no, tuner_->parameters(no).shown};
}

expected<command_answer> study_core::on(const command::train& command) {
  return take_turn(tuner_->client_train(command.trial, command.to));
}

expected<command_answer> study_core::on(const command::tell& command) {
  std::optional<observation> measured;
  if (command.value)
    measured =
      observation{command.at == 0 ? tuner_->end_of(command.trial) : command.at,
                  *command.value};
  auto next = tuner_->client_end(command.trial, measured);
  if (!next)
    return next.failure();
  if (measured) {
    trials_.measure(command.trial, measured->at,
                    {{options_.spec.objective.metric, measured->value}});
    outbox_.change_trial(command.trial);
  }
  drop_trial(command.trial, command.how,
             command.how == trial_state::failed ? "a client said so" : "");
  take_turn(*next);
  end_if_failed();
  return command_answer{command.trial, {}};
}

expected<command_answer> study_core::on(const command::close&) {
  return take_turn(tuner_->client_close());
}

expected<command_answer> study_core::steer(study_phase to, std::string why) {
  if (auto refused = refusal_of_state(books(), to))
    return *refused;
  enter(to, std::move(why));
  return command_answer{};
}

expected<command_answer> study_core::on(const command::pause& command) {
  return steer(study_phase::paused, command.why);
}

expected<command_answer> study_core::on(const command::resume&) {
  failures_.end(); // its sender knows of them
  return steer(study_phase::running);
}

expected<command_answer> study_core::on(const command::stop&) {
  return steer(study_phase::stopping);
}

expected<command_answer> study_core::on(const command::cancel& command) {
  end_study(study_phase::cancelled, trial_state::cancelled, command.why);
  return command_answer{};
}

expected<command_answer> study_core::on(const command::finish& command) {
  end_study(study_phase::complete, trial_state::cancelled, command.why);
  may_go_on_ = true;
  return command_answer{};
}

command_answer study_core::growth_answer() const {
  return {.params = {}, .trials = shown_trials(), .space = {}};
}

expected<command_answer> study_core::on(const command::extend& command) {
  if (auto why = refusal_of_growth(books(), command, false, may_go_on()))
    return *why;
  auto& budget = options_.spec.budget;
  if (command.seconds > 0) {
    *budget.seconds += command.seconds;
    clock_.extend(command.seconds);
  }
  if (command.device_seconds > 0 || command.cost > 0)
    raise_budget(command.device_seconds, command.cost);
  if (command.budget_steps > 0) {
    *budget.steps += command.budget_steps;
    tuner_->raise_steps(command.budget_steps);
  }
  if (command.deadline_seconds > 0) {
    budget.deadline->text +=
      " and " + to_text(command.deadline_seconds) + " s more";
    clock_.extend_deadline(command.deadline_seconds);
  }
  reopen();
  if (command.steps > 0)
    lengthen(command.steps);
  if (command.trials > 0)
    take_turn(tuner_->extend(command.trials));
  watch_time();
  return growth_answer();
}

expected<command_answer> study_core::on(const command::enqueue& command) {
  const command::extend more{.trials = command.trials.size()};
  if (auto why = refusal_of_growth(books(), more, true, may_go_on()))
    return *why;
  auto own = own_trials_of(command, books(), name_rules::of_before);
  if (!own)
    return own.failure();
  reopen();
  take_turn(own->empty() ? tuner_->enqueue(command.trials.of_space)
                         : tuner_->enqueue(std::move(*own)));
  return growth_answer();
}

expected<command_answer> study_core::on(const command::tell_past& command) {
  if (auto why = tuner_->refusal_of_past())
    return *why;
  tuner_->learn(command.results);
  return growth_answer();
}

expected<command_answer> study_core::on(const command::weight& command) {
  options_.stored.weight = command.value;
  outbox_.change_study();
  if (!is_replaying())
    effects_.emplace_back(study_effect::set_weight{command.value});
  return command_answer{};
}

expected<command_answer> study_core::on(const command::widen& command) {
  take_turn(tuner_->widen(command.trials));
  return command_answer{};
}

expected<command_answer> study_core::on(const command::retry& command) {
  const auto trials = retried_by(command, books(), was_given_up_);
  if (!trials)
    return trials.failure();
  reopen();
  failures_.end(); // its sender knows of them
  for (const auto no : *trials) {
    trials_.retry(no);
    const auto to = trials_[no].asked_to;
    tuner_->retry(no, to);
    outbox_.change_trial(no);
    orders_.retry(no, to);
  }
  command_answer result;
  result.retried = trials->size();
  return result;
}

void study_core::raise_budget(double device_seconds, double cost) {
  auto& budget = options_.spec.budget;
  if (device_seconds > 0) {
    *budget.device_seconds += device_seconds;
    spent_.erase(study_limit::device_time);
  }
  if (cost > 0) {
    *budget.cost += cost;
    spent_.erase(study_limit::cost);
  }
  if (is_replaying()) // it is registered with all of it
    return;
  ++raises_;
  effects_.emplace_back(study_effect::raise_budget{device_seconds, cost});
}

/// Makes trials longer, those that have come to their end too.
void study_core::lengthen(step_t to) {
  const auto next = tuner_->lengthen(to);
  auto& spec = options_.spec;
  if (to > spec.max_steps) {
    spec.max_steps = to;
    spec.space = lengthened(spec.space, to);
  }
  gains_.lengthen(to);
  if (!is_replaying())
    orders_.measure(tuner_->when());
  for (const auto no : next.resumed) {
    if (trials_[no].removed) // the algorithm goes on with it
      show_trial(no);
    trials_.revive(no, trial_state::paused);
    outbox_.change_trial(no);
    orders_.resume(no, trials_[no].asked_to);
  }
  take_turn(next);
}

std::set<trial_no> study_core::ended_fresh() const {
  std::set<trial_no> result;
  for (const auto& [no, before] : ended_with_it_)
    if (has_ended() && trials_[no].withdrawn)
      result.insert(no);
  return result;
}

void study_core::answer_only(const study_core_event::commanded& event) {
  auto why = refusal_now(event.what);
  auto parsed = parse_command(event.what, options_.spec, options_.workload,
                              name_rules::today);
  const auto* wanted =
    parsed ? std::get_if<command::set_space>(&*parsed) : nullptr;
  if (!why && wanted == nullptr)
    why = error{errc::invalid_argument, std::string{"a dry run of "}
                                          + to_string(event.what.what)
                                          + " is not possible"};
  if (why) {
    effects_.emplace_back(study_effect::answer{event.from, std::move(*why)});
    return;
  }
  command_answer told;
  told.space = plan_change(books(), *wanted, ended_fresh())->view;
  told.trials = told.space.trials;
  told.has_ended = has_ended();
  effects_.emplace_back(study_effect::answer{event.from, std::move(told)});
}

expected<command_answer> study_core::on(const command::set_space& command) {
  if (auto why = refusal_of_space(books(), may_go_on()))
    return *why;
  const auto change = plan_change(books(), command, ended_fresh());
  if (!change)
    return change.failure();
  const auto& plan = change->plan;
  // Those that its end has withdrawn do not come back.
  std::erase_if(ended_with_it_, [&](const auto& x) {
    return std::ranges::binary_search(plan.withdrawn, x.first);
  });
  if (was_given_up_ || change->goes_on)
    reopen();
  options_.spec = plan.changed;
  const auto when = tuner_->when();
  const auto next = tuner_->set_space(plan, options_.search, change->histories);
  if (!is_replaying() && tuner_->when() != when)
    orders_.measure(tuner_->when());
  take_turn(next);
  watch_time();
  auto result = growth_answer();
  result.space = change->view;
  return result;
}

expected<command_answer> study_core::on(command::note command) {
  if (auto why = refusal_of_note(command, books()))
    return *why;
  auto& stored = options_.stored;
  std::set<std::string> tags{stored.tags.begin(), stored.tags.end()};
  tags.insert(command.added_tags.begin(), command.added_tags.end());
  for (const auto& x : command.removed_tags)
    tags.erase(x);
  stored.tags.assign(tags.begin(), tags.end());
  if (command.text)
    stored.note = std::move(*command.text);
  outbox_.change_study();
  return growth_answer();
}

expected<command_answer> study_core::on(const command::remove& command) {
  if (auto why = refusal_of_removal(command, books()))
    return *why;
  for (const auto no : command.trials) {
    trials_.remove(no);
    tuner_->remove(no);
    outbox_.remove_trial(no);
  }
  options_.stored.removed |= command.trials.empty();
  outbox_.change_study();
  return growth_answer();
}

expected<command_answer> study_core::on(const command::restore& command) {
  if (auto why = refusal_of_return(command, books()))
    return *why;
  for (const auto no : command.trials)
    show_trial(no);
  options_.stored.removed &= !command.trials.empty();
  outbox_.change_study();
  return growth_answer();
}

} // namespace hippo
