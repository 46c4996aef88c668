#include "hippo/service/study/study_core.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/service/study/client_values.hpp"
#include "hippo/service/study/refusals.hpp"
#include "hippo/service/study/study_shown.hpp"
#include "hippo/space/complexity.hpp"
#include "hippo/space/repeats_reader.hpp"

namespace hippo {

namespace {

constexpr auto stopped_text = "the study was stopped";

/// The begin of the reason of a study that rests for want of memory.
constexpr auto rest_text = "memory is short: ";

/// What is said of a failure. Code that counts its steps itself has said which
/// it was: `in step 3`, on the way to state 4.
std::string failure_of(const seed_failure& x, step_t at) {
  const auto seed = x.seed.empty() ? std::string{} : x.seed + ", ";
  return x.message.starts_with("in step")
             || x.message.starts_with("before step ")
           ? seed + x.message
           : seed + "at step " + std::to_string(at) + ": " + x.message;
}

/// Whether the merger caused an event.
bool is_of_merger(const study_input& x) {
  if (const auto* command = std::get_if<study_command>(&x))
    return command->what == study_command::verb::widen;
  return !std::holds_alternative<trial_chosen>(x);
}

std::string names_of(const metrics& xs) {
  std::string result;
  for (const auto& [name, value] : xs)
    result += (result.empty() ? "" : ", ") + name;
  return result;
}

/// The part of a budget that is left, if there is one.
std::optional<double> left_of(const std::optional<double>& budget,
                              double spent) {
  if (!budget)
    return std::nullopt;
  return std::max(0.0, *budget - spent);
}

} // namespace

using verb = study_command::verb;

study_core::study_core(study_options options, moment begun)
  : options_(std::move(options)),
    tuner_(std::make_unique<tuner>(options_.spec, options_.search,
                                   trial_defaults{options_.workload})),
    trials_(options_.spec.objective, options_.spec.repeats.seeds),
    gains_(options_.spec, tuner_->when().rungs.back()),
    // Who drives a study looks at each failure anyway.
    failures_(options_.spec.on_error != failure_policy::go_on
              && !is_client_driven()),
    clock_(options_.spec.budget.seconds, options_.deadline_left, begun),
    history_(std::make_unique<study_history>(
      std::exchange(options_.history, {}), options_.stored)),
    now_(begun) {
  clock_.restore(options_.stored.active_seconds);
}

study_core::~study_core() = default;

// -- earlier runs -------------------------------------------------------------

bool study_core::catch_up(const std::function<bool()>& is_over) {
  if (!history_)
    return true;
  if (!history_->has_started()) {
    begin_replay();
    if (is_over())
      return false;
  }
  while (!damage_ && !history_->is_over()) {
    replay(history_->take_next());
    if (is_over())
      return false;
  }
  end_replay();
  return true;
}

double study_core::caught_up() const {
  return history_ ? history_->progress() : 1;
}

void study_core::begin_replay() {
  auto& stored = options_.stored;
  stored.state = study_phase::running;
  stored.note.clear();
  stored.tags = options_.spec.tags;
  stored.removed = false;
  for (const auto& x : history_->events())
    if (const auto* chosen = std::get_if<trial_chosen>(&x.what)) {
      tuner_->restore(chosen->trial, chosen->what);
      outbox_.note_stored_choice(chosen->trial, chosen->what);
    }
  take_turn(tuner_->start());
  end_if_done();
  history_->start();
}

void study_core::replay(const stored_event& event) {
  if (const auto why = damage_of(event.what, books(), outbox_, tuner_->when());
      !why.empty()) {
    damage_ = error{errc::malformed_message,
                    "event " + std::to_string(event.id) + ": " + why};
    return;
  }
  take(event.what);
}

void study_core::end_replay() {
  auto& stored = options_.stored;
  const auto last = std::exchange(history_, nullptr)->last();
  // The merger is given the whole of it, and what is stored is of that time.
  orders_.clear();
  effects_.clear();
  stored.active_seconds = last.active_seconds;
  clock_.restore(last.active_seconds);
  outbox_.begin(stored == last, last.active_seconds);
  was_given_up_ = !has_ended() && last.state == study_phase::failed;
  given_up_for_ = last.reason;
  trials_.check_invariants();
  check_invariants();
}

study_registration study_core::registration() const {
  const auto& stored = options_.stored;
  const auto& budget = options_.spec.budget;
  return {stored.id,
          tuner_->when(),
          stored.weight,
          stored.state == study_phase::paused
            || stored.state == study_phase::stopping,
          options_.spec.workload.settings,
          left_of(budget.device_seconds, stored.device_seconds),
          complexity_of(options_.spec.space),
          left_of(budget.cost, stored.cost),
          repeats_of(options_.spec)};
}

// -- events -------------------------------------------------------------------

study_core::effects study_core::apply(any_study_event event, moment now) {
  assert(!is_replaying());
  now_ = now;
  std::visit([this](auto& x) { on(x); }, event);
  return std::exchange(effects_, {});
}

void study_core::on(study_core_event::registered&) {
  if (options_.stored.state == study_phase::running)
    clock_.start(now_);
  orders_.order_all(books());
  watch_time();
  finish();
}

void study_core::on(study_core_event::received& event) {
  for (const auto& y : event.news) {
    if (is_of_merger(y))
      orders_.acknowledge();
    take(y);
  }
  finish();
}

void study_core::on(study_core_event::capacity_offered& event) {
  if (!wants_capacity()) {
    orders_.acknowledge();
    finish();
    return;
  }
  study_command wider;
  wider.what = verb::widen;
  wider.text = std::to_string(event.trials);
  store(std::move(wider));
}

void study_core::on(study_core_event::quiesced&) {
  if (options_.stored.state == study_phase::stopping)
    finish_for(stopped_text);
}

void study_core::on(study_core_event::spent& event) {
  if (event.raises < raises_) // the merger did not know of the last one
    return;
  spent_.insert(event.what);
  finish();
}

void study_core::on(study_core_event::commanded& event) {
  // Before it is stored: what is stored says all that it comes to.
  if (event.what.what == verb::ask && !event.what.text.empty())
    event.what.text = with_constants(event.what.text, options_.spec,
                                     options_.workload, name_rules::today);
  if (event.what.dry_run)
    answer_only(event);
  else
    request(std::move(event.what), {event.from});
}

void study_core::on(study_core_event::train_wanted& event) {
  if (auto why = refusal_of_training(books(), event.trial, event.to)) {
    effects_.emplace_back(study_effect::answer{event.from, std::move(*why)});
  } else if (books().is_there(event.trial, event.to)) {
    answer(event.from, answer_of(books(), event.trial, event.to));
    finish();
  } else if (trials_[event.trial].asked_to >= event.to) {
    requests_.wait(event.trial, event.to, event.from);
  } else {
    request({verb::train, event.trial, event.to, {}, 0},
            {event.from, event.to});
  }
}

void study_core::on(study_core_event::filled& event) {
  full_ = std::move(event.why);
  const auto& stored = options_.stored;
  if (is_client_driven() || is_steered_)
    return;
  study_command steering;
  if (!full_.empty() && stored.state == study_phase::running) {
    steering.what = verb::pause;
    steering.text = rest_text + full_;
  } else if (full_.empty() && stored.state == study_phase::paused
             && stored.reason.starts_with(rest_text)) {
    steering.what = verb::resume;
  } else {
    return;
  }
  is_steered_ = true;
  store(std::move(steering));
}

void study_core::on(study_core_event::time_passed&) {
  const auto& budget = options_.spec.budget;
  if (has_ended())
    return;
  if (clock_.is_at_deadline(now_))
    finish_for("its deadline, " + budget.deadline->text
               + (budget.deadline->seconds ? " after it was submitted" : "")
               + ", has come");
  else if (clock_.is_spent(now_))
    finish_for("its time, " + to_text(*budget.seconds) + " s, is spent");
  else
    watch_time();
}

// -- what it receives ---------------------------------------------------------

void study_core::take(const study_input& input) {
  std::visit([this](const auto& y) { take_news(y); }, input);
  end_if_done(); // what comes next finds it as a replay does
}

void study_core::take_news(const trial_measured& report) {
  follow(report);
  end_if_spent();
}

/// Ends the study if it gains nothing any more, or its steps are spent.
void study_core::end_if_spent() {
  if (has_ended() || tuner_->done()) // then it ends anyway
    return;
  if (const auto why = gains_.reason_to_stop(trials_)) {
    end_study(study_phase::complete, trial_state::cancelled, *why);
  } else if (const auto budget = tuner_->spent()) {
    end_study(study_phase::complete, trial_state::cancelled, *budget);
    may_go_on_ = true;
  }
}

void study_core::follow(const trial_measured& report) {
  const auto no = report.trial;
  failures_.end();
  admit_trial(no);
  if (!trials_[no].removed)
    outbox_.change_trial(no);
  if (has_ended())
    outbox_.change_study(); // so that it is synced: nothing replays it
  if (report.seed_no > 0)
    trials_.ack_seed(no, report.seed_no, report.at, report.shared);
  if (report.is_part)
    return;
  const auto before = trials_[no].acked;
  trials_.ack(no, report.at, report.seed_no > 0 ? 0 : report.shared);
  gains_.add_steps(trials_[no].acked - before);
  if (!hippo::has_ended(trials_[no].state))
    measure(report);
  else if (has_ended())
    late_.push_back(report);
}

/// Takes a measurement of a trial that is in training.
void study_core::measure(const trial_measured& report) {
  const auto no = report.trial;
  const auto is_first = !std::exchange(has_measured_, true);
  if (const auto* missing = trials_.missing_in(report.values)) {
    refuse_measurement(report, *missing, is_first);
    return;
  }
  const auto best = trials_.best();
  const auto changes = trials_.front().changes();
  trials_.measure(no, report.at, report.values);
  if (trials_.has_front() ? trials_.front().changes() != changes
                          : !best || trials_.best()->value != best->value)
    gains_.note_gain();
  if (report.at == trials_[no].asked_to && report.at < tuner_->end_of(no))
    trials_.pause(no); // unless the algorithm goes on at once
  const auto next = tuner_->on_result(no, report.at, report.values);
  if (report.at == tuner_->end_of(no))
    end_trial(no, trial_state::complete);
  take_turn(next);
  answer_waiters(no);
}

void study_core::take_news(const trial_failed& news) {
  admit_trial(news.trial);
  if (hippo::has_ended(trials_[news.trial].state))
    return;
  seed_failure failure{{}, news.reason.message};
  if (options_.spec.repeats.seeds > 1) {
    failure = seed_failure_from(news.reason.message);
    orders_.drop(news.trial); // its other seeds are not needed
  }
  end_trial(news.trial, trial_state::failed, failure_of(failure, news.at),
            news.reason.code);
  take_turn(tuner_->on_failure(news.trial));
  end_if_failed();
  if (!has_ended())
    note_failure({news.reason.code, failure.message});
}

void study_core::take_news(const study_command& command) {
  if (command.what == verb::pause || command.what == verb::resume)
    is_steered_ = false;
  const bool had_ended = has_ended();
  auto came = carry_out(command);
  if (had_ended && !has_ended())
    take_late();
  const auto waiting = requests_.take(command.token);
  if (!waiting)
    return;
  const auto& [from, trained_to, what] = *waiting;
  if (!came)
    answer(from, came.failure());
  else if (!trained_to)
    answer(from, std::move(*came));
  else if (books().is_there(command.trial, *trained_to))
    answer(from, answer_of(books(), command.trial, *trained_to));
  else
    requests_.wait(command.trial, *trained_to, from);
}

void study_core::refuse_measurement(const trial_measured& report,
                                    const std::string& missing, bool is_first) {
  std::vector<std::string> names;
  for (const auto& [name, value] : report.values)
    names.push_back(name);
  const auto why = "the workload does not measure '" + missing + "'"
                   + did_you_mean(missing, names) + "; it measures "
                   + names_of(report.values);
  drop_trial(report.trial, trial_state::failed,
             "at step " + std::to_string(report.at) + ": " + why);
  if (!is_first || is_client_driven()) {
    take_turn(tuner_->on_failure(report.trial));
    end_if_failed();
    return;
  }
  // Names do not depend on values: no trial will measure it.
  end_study(study_phase::failed, trial_state::cancelled, why);
}

// -- what it decides ----------------------------------------------------------

void study_core::take_turn(const turn& turn) {
  for (auto no : turn.withdrawn)
    if (no >= trials_.size() || !trials_[no].withdrawn)
      withdraw_trial(no);
  for (auto no : turn.added) {
    trials_.add(no);
    outbox_.add_trial(no, tuner_->choice_of(no));
    if (!is_replaying())
      orders_.add(books(), no);
  }
  if (!is_replaying())
    for (auto no : turn.rerouted)
      orders_.reroute(books(), no);
  for (auto no : turn.pruned)
    drop_trial(no, trial_state::pruned);
  for (const auto& [no, to] : turn.asked) {
    if (!trials_.ask(no, to))
      continue;
    outbox_.change_trial(no);
    orders_.ask(no, to);
  }
}

void study_core::end_trial(trial_no no, trial_state how, std::string failure,
                           std::optional<errc> cause) {
  if (!trials_.end(no, how, std::move(failure), cause))
    return;
  outbox_.change_trial(no);
  if (is_replaying())
    return;
  answer_waiters(no);
  effects_.emplace_back(study_effect::notify_trial{end_of_trial(books(), no)});
}

/// Ends a trial that may be on its way.
void study_core::drop_trial(trial_no no, trial_state how,
                            const std::string& why) {
  if (trials_.is_on_its_way(no))
    orders_.drop(no);
  end_trial(no, how, why);
}

void study_core::withdraw_trial(trial_no no) {
  if (no < trials_.size() && trials_.is_on_its_way(no))
    orders_.drop(no);
  trials_.withdraw(no);
  outbox_.remove_trial(no);
}

void study_core::show_trial(trial_no no) {
  trials_.restore(no);
  tuner_->restore_removed(no);
  outbox_.bring_back_trial(no);
}

/// A trial of which something is heard was begun, also if the study has ended
/// by then.
void study_core::admit_trial(trial_no no) {
  if (!trials_[no].withdrawn)
    return;
  trials_.admit(no);
  outbox_.bring_back_trial(no);
  outbox_.change_study(); // so that it is synced
}

/// Ends the study: the trials that have not ended by then are `rest`.
void study_core::end_study(study_phase how, trial_state rest,
                           const std::string& why) {
  ended_with_it_.clear();
  for (trial_no no = 0; no < trials_.size(); ++no) {
    const auto before = trials_[no].state;
    if (hippo::has_ended(before))
      continue;
    ended_with_it_.emplace_back(no, before);
    if (trials_.is_begun(no) || is_client_driven())
      drop_trial(no, rest, why);
    else
      withdraw_trial(no);
  }
  may_go_on_ = false;
  orders_.forget_asked(); // what this event has asked for
  change_state(how, why);
  is_finishing_ = false;
}

/// Goes on as running, paused or stopping.
void study_core::enter(study_phase to, std::string why) {
  change_state(to, std::move(why));
  if (!is_replaying())
    effects_.emplace_back(study_effect::set_paused{to != study_phase::running});
  watch_time();
}

void study_core::change_state(study_phase to, std::string why) {
  auto& stored = options_.stored;
  clock_.stop(now_);
  stored.active_seconds = clock_.active_seconds(now_);
  stored.state = to;
  stored.reason = std::move(why);
  if (to == study_phase::running && !is_replaying())
    clock_.start(now_);
  outbox_.change_study();
}

void study_core::reopen() {
  was_given_up_ = false;
  if (!has_ended())
    return;
  enter(study_phase::running);
  outbox_.reopen();
  may_go_on_ = false;
  for (const auto& [no, state] : std::exchange(ended_with_it_, {})) {
    const bool was_withdrawn = trials_[no].withdrawn;
    if (trials_[no].removed) // the algorithm goes on with it
      show_trial(no);
    trials_.revive(no, state);
    if (!was_withdrawn)
      outbox_.change_trial(no);
    else if (trials_[no].added)
      outbox_.bring_back_trial(no);
    if (const auto to = trials_[no].asked_to; to > 0)
      orders_.retry(no, to);
  }
}

/// Takes what it heard of after its end, now that it goes on.
void study_core::take_late() {
  for (const auto& x : std::exchange(late_, {}))
    if (!hippo::has_ended(trials_[x.trial].state))
      measure(x);
  end_if_spent();
}

void study_core::end_if_done() {
  if (has_ended() || !tuner_->done())
    return;
  end_study(trials_.final_phase(), trial_state::pruned);
  may_go_on_ = true;
}

void study_core::end_if_failed() {
  const auto& most = options_.spec.budget.failed;
  if (!most || has_ended() || trials_.failed() < *most)
    return;
  end_study(study_phase::failed, trial_state::cancelled,
            "as many trials have failed as may (budget.failed, "
              + std::to_string(*most) + ")");
}

void study_core::note_failure(const error& why) {
  const auto said = failures_.note(why);
  if (!said || options_.stored.state != study_phase::running || tuner_->done())
    return;
  if (options_.spec.on_error == failure_policy::end)
    end_study(study_phase::failed, trial_state::cancelled, *said);
  else
    enter(study_phase::paused,
          *said
            + "; mend the cause, then retry and resume it, or give the study "
              "anew if its code has changed (on_error: continue goes on)");
}

/// Sees to it that the study ends when its time is spent, or its deadline has
/// come.
void study_core::watch_time() {
  if (const auto span = clock_.due_after(now_, has_ended()))
    effects_.emplace_back(study_effect::wake_after{*span});
}

// -- what follows -------------------------------------------------------------

void study_core::finish() {
  end_if_done();
  finish_if_spent();
  // First: what follows from a choice must not be stored before it.
  if (auto commit = outbox_.next_commit(books(), clock_.active_seconds(now_)))
    effects_.emplace_back(std::move(*commit));
  if (auto orders = orders_.take(wants_capacity()))
    effects_.emplace_back(study_effect::send_orders{std::move(*orders)});
  check_invariants();
}

void study_core::request(study_command command,
                         study_requests::stored_command from) {
  const auto what = command.what;
  if (was_given_up_ && !has_ended()
      && (what == verb::note || what == verb::remove || what == verb::restore))
    end_study(study_phase::failed, trial_state::cancelled, given_up_for_);
  if (auto why = refusal_now(command)) {
    effects_.emplace_back(study_effect::answer{from.from, std::move(*why)});
    if (was_given_up_) { // it was opened for nothing else
      if (!has_ended())
        end_study(study_phase::failed, trial_state::cancelled, given_up_for_);
      finish();
    }
    return;
  }
  from.what = command.what;
  command.token = requests_.add(from);
  store(std::move(command));
}

std::optional<error>
study_core::refusal_now(const study_command& command) const {
  return refusal_of(command, books(),
                    {requests_, full_, clock_, now_, was_given_up_, may_go_on(),
                     spent_, ended_fresh()});
}

/// Stores a command; the study receives it then.
void study_core::store(study_command command) {
  study_effect::commit result;
  result.records.emplace_back(event_added{options_.stored.id, {}, command});
  result.news.emplace_back(std::move(command));
  effects_.emplace_back(std::move(result));
}

void study_core::finish_for(std::string why) {
  if (std::exchange(is_finishing_, true))
    return;
  study_command x;
  x.what = verb::finish;
  x.text = std::move(why);
  store(std::move(x));
}

void study_core::finish_if_spent() {
  // A command that is being stored may raise it.
  if (spent_.empty() || has_ended() || requests_.is_storing({verb::extend}))
    return;
  const auto& budget = options_.spec.budget;
  if (spent_.contains(study_limit::cost))
    finish_for("its budget.cost, " + to_text(*budget.cost) + ", is spent");
  else
    finish_for("its device time, " + to_text(*budget.device_seconds / 3600)
               + " h, is spent");
}

/// Answers once all is stored.
void study_core::answer(
  study_token to, std::variant<command_answer, trained_trial, error> what) {
  if (auto* told = std::get_if<command_answer>(&what))
    told->has_ended = has_ended();
  outbox_.answer({to, std::move(what)});
}

void study_core::answer_waiters(trial_no no) {
  const auto known = books();
  for (const auto& x : requests_.take_waiters(
         no, [&](step_t to) { return known.is_there(no, to); }))
    answer(x.from, answer_of(known, no, x.to));
}

} // namespace hippo
