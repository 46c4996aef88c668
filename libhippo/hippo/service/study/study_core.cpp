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

namespace hippo {

namespace {

constexpr auto stopped_text = "the study was stopped";

/// The begin of the reason of a study that rests for want of memory.
constexpr auto rest_text = "memory is short: ";

/// What is said of a failure. Code that counts its steps itself has said which
/// it was: `in step 3`, on the way to state 4.
std::string failure_of(const trial_failed& x) {
  const auto& said = x.reason.message;
  return said.starts_with("in step") || said.starts_with("before step ")
           ? said
           : "at step " + std::to_string(x.at) + ": " + said;
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
    tuner_(
      std::make_unique<tuner>(options_.spec, options_.search,
                              defaults_of(options_.workload))),
    trials_(options_.spec.objective),
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
  options_.stored.state = study_phase::running;
  for (const auto& x : history_->events())
    if (const auto* chosen = std::get_if<trial_chosen>(&x.what)) {
      tuner_->restore(chosen->trial, chosen->what);
      outbox_.note_stored_choice(chosen->trial, chosen->what);
    }
  take_turn(tuner_->start());
  end_if_done();
  history_->start(tuner_->when());
}

void study_core::replay(const stored_event& x) {
  if (const auto why = damage_of(x.what, books(), outbox_, history_->when());
      !why.empty()) {
    damage_ = error{errc::malformed_message,
                    "event " + std::to_string(x.id) + ": " + why};
    return;
  }
  take(x.what);
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
          left_of(budget.cost, stored.cost)};
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

void study_core::on(study_core_event::received& x) {
  for (const auto& y : x.news) {
    if (is_of_merger(y))
      orders_.acknowledge();
    take(y);
  }
  finish();
}

void study_core::on(study_core_event::capacity_offered& x) {
  if (!wants_capacity()) {
    orders_.acknowledge();
    finish();
    return;
  }
  study_command wider;
  wider.what = verb::widen;
  wider.text = std::to_string(x.trials);
  store(std::move(wider));
}

void study_core::on(study_core_event::quiesced&) {
  if (options_.stored.state == study_phase::stopping)
    finish_for(stopped_text);
}

void study_core::on(study_core_event::spent& x) {
  if (has_ended())
    return;
  const auto& budget = options_.spec.budget;
  if (x.what == study_limit::cost) {
    assert(budget.cost);
    finish_for("its budget.cost, " + to_text(*budget.cost) + ", is spent");
    return;
  }
  assert(budget.device_seconds);
  finish_for("its device time, " + to_text(*budget.device_seconds / 3600)
             + " h, is spent");
}

void study_core::on(study_core_event::commanded& x) {
  // Before it is stored: what is stored says all that it comes to.
  if (x.what.what == verb::ask && !x.what.text.empty())
    x.what.text = with_constants(x.what.text, options_);
  request(std::move(x.what), {x.from});
}

void study_core::on(study_core_event::train_wanted& x) {
  if (auto why = refusal_of_training(books(), x.trial, x.to)) {
    effects_.emplace_back(study_effect::answer{x.from, std::move(*why)});
  } else if (books().is_there(x.trial, x.to)) {
    answer(x.from, answer_of(books(), x.trial, x.to));
    finish();
  } else if (trials_[x.trial].asked_to >= x.to) {
    requests_.wait(x.trial, x.to, x.from);
  } else {
    request({verb::train, x.trial, x.to, {}, 0}, {x.from, x.to});
  }
}

void study_core::on(study_core_event::filled& x) {
  full_ = std::move(x.why);
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

void study_core::take(const study_input& x) {
  std::visit([this](const auto& y) { take_news(y); }, x);
  end_if_done(); // what comes next finds it as a replay does
}

void study_core::take_news(const trial_measured& x) {
  follow(x);
  if (has_ended() || tuner_->done()) // then it ends anyway
    return;
  if (const auto why = gains_.reason_to_stop(trials_))
    end_study(study_phase::complete, trial_state::cancelled, *why);
}

void study_core::follow(const trial_measured& x) {
  const auto no = x.trial;
  const auto is_first = !std::exchange(has_measured_, true);
  failures_.end();
  const auto before = trials_[no].acked;
  trials_.ack(no, x.at, x.shared);
  gains_.add_steps(trials_[no].acked - before);
  outbox_.change_trial(no);
  if (hippo::has_ended(trials_[no].state))
    return;
  if (const auto* missing = missing_in(x.values)) {
    refuse_measurement(x, *missing, is_first);
    return;
  }
  const auto best = trials_.best();
  const auto changes = trials_.front().changes();
  trials_.measure(no, x.at, x.values);
  if (trials_.has_front() ? trials_.front().changes() != changes
                          : !best || trials_.best()->value != best->value)
    gains_.note_gain();
  if (x.at == trials_[no].asked_to && x.at < tuner_->end_of(no))
    trials_.pause(no); // unless the algorithm goes on at once
  const auto next = tuner_->on_result(no, x.at, x.values);
  if (x.at == tuner_->end_of(no))
    end_trial(no, trial_state::complete);
  take_turn(next);
  answer_waiters(no);
}

void study_core::take_news(const trial_failed& x) {
  if (hippo::has_ended(trials_[x.trial].state))
    return;
  end_trial(x.trial, trial_state::failed, failure_of(x), x.reason.code);
  take_turn(tuner_->on_failure(x.trial));
  end_if_failed();
  if (!has_ended())
    note_failure(x.reason);
}

void study_core::take_news(const study_command& x) {
  if (x.what == verb::pause || x.what == verb::resume)
    is_steered_ = false;
  auto came = carry_out(x);
  const auto waiting = requests_.take(x.token);
  if (!waiting)
    return;
  const auto& [from, trained_to, what] = *waiting;
  if (!came)
    answer(from, came.failure());
  else if (!trained_to)
    answer(from, std::move(*came));
  else if (books().is_there(x.trial, *trained_to))
    answer(from, answer_of(books(), x.trial, *trained_to));
  else
    requests_.wait(x.trial, *trained_to, from);
}

const std::string* study_core::missing_in(const metrics& values) const {
  const auto& wanted = trials_.wanted();
  for (const auto& x : wanted.metrics)
    if (!values.contains(x.metric))
      return &x.metric;
  for (const auto& x : wanted.constraints)
    if (!values.contains(x.metric))
      return &x.metric;
  return nullptr;
}

void study_core::refuse_measurement(const trial_measured& x,
                                    const std::string& missing, bool is_first) {
  std::vector<std::string> names;
  for (const auto& [name, value] : x.values)
    names.push_back(name);
  const auto why = "the workload does not measure '" + missing + "'"
                   + did_you_mean(missing, names) + "; it measures "
                   + names_of(x.values);
  drop_trial(x.trial, trial_state::failed,
             "at step " + std::to_string(x.at) + ": " + why);
  if (!is_first || is_client_driven()) {
    take_turn(tuner_->on_failure(x.trial));
    end_if_failed();
    return;
  }
  // Names do not depend on values: no trial will measure it.
  end_study(study_phase::failed, trial_state::cancelled, why);
}

// -- commands: all answer with why not, and change nothing then ---------------

expected<command_answer> study_core::carry_out(const study_command& x) {
  if (auto why = refusal_of_end(books(), x.what))
    return *why;
  auto parsed
    = parse_command(x, options_.spec.lengths(), options_.workload,
                    name_rules::of_before, options_.spec.typed);
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

expected<command_answer> study_core::on(command::ask x) {
  auto next = tuner_->client_ask(std::move(x.values));
  if (!next)
    return next.failure();
  take_turn(*next);
  const auto no = tuner_->trials() - 1;
  return command_answer{no, tuner_->parameters(no).shown};
}

expected<command_answer> study_core::on(const command::train& x) {
  return take_turn(tuner_->client_train(x.trial, x.to));
}

expected<command_answer> study_core::on(const command::tell& x) {
  std::optional<observation> measured;
  if (x.value)
    measured = observation{x.at == 0 ? tuner_->end_of(x.trial) : x.at,
                           *x.value};
  auto next = tuner_->client_end(x.trial, measured);
  if (!next)
    return next.failure();
  if (measured) {
    trials_.measure(x.trial, measured->at,
                    {{options_.spec.objective.metric, measured->value}});
    outbox_.change_trial(x.trial);
  }
  drop_trial(x.trial, x.how,
             x.how == trial_state::failed ? "a client said so" : "");
  take_turn(*next);
  end_if_failed();
  return command_answer{x.trial, {}};
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

expected<command_answer> study_core::on(const command::pause& x) {
  return steer(study_phase::paused, x.why);
}

expected<command_answer> study_core::on(const command::resume&) {
  failures_.end(); // whoever says so knows of it
  return steer(study_phase::running);
}

expected<command_answer> study_core::on(const command::stop&) {
  return steer(study_phase::stopping);
}

expected<command_answer> study_core::on(const command::cancel& x) {
  end_study(study_phase::cancelled, trial_state::cancelled, x.why);
  return command_answer{};
}

expected<command_answer> study_core::on(const command::finish& x) {
  end_study(study_phase::complete, trial_state::cancelled, x.why);
  return command_answer{};
}

expected<command_answer> study_core::on(const command::weight& x) {
  options_.stored.weight = x.value;
  outbox_.change_study();
  if (!is_replaying())
    effects_.emplace_back(study_effect::set_weight{x.value});
  return command_answer{};
}

expected<command_answer> study_core::on(const command::widen& x) {
  take_turn(tuner_->widen(x.trials));
  return command_answer{};
}

expected<command_answer> study_core::on(const command::retry& x) {
  const auto trials = retried_by(x, books(), was_given_up_);
  if (!trials)
    return trials.failure();
  if (has_ended()) {
    enter(study_phase::running);
    outbox_.reopen();
  }
  was_given_up_ = false;
  failures_.end(); // whoever says so knows of it
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

// -- what it decides ----------------------------------------------------------

void study_core::take_turn(const turn& x) {
  for (auto no : x.added) {
    trials_.add(no);
    outbox_.add_trial(no, tuner_->choice_of(no));
    if (!is_replaying())
      orders_.add(books(), no);
  }
  if (!is_replaying())
    for (auto no : x.rerouted)
      orders_.reroute(books(), no);
  for (auto no : x.pruned)
    drop_trial(no, trial_state::pruned);
  for (const auto& [no, to] : x.asked) {
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

/// Ends the study: what has not ended by then is `rest`.
void study_core::end_study(study_phase how, trial_state rest,
                           const std::string& why) {
  for (trial_no no = 0; no < trials_.size(); ++no)
    drop_trial(no, rest, why);
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

void study_core::end_if_done() {
  if (!has_ended() && tuner_->done())
    end_study(trials_.final_phase(), trial_state::pruned);
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
  // First: what follows from a choice must not be stored before it.
  if (auto commit = outbox_.next_commit(books(), clock_.active_seconds(now_)))
    effects_.emplace_back(std::move(*commit));
  if (auto orders = orders_.take(wants_capacity()))
    effects_.emplace_back(study_effect::send_orders{std::move(*orders)});
  check_invariants();
}

void study_core::request(study_command x, study_requests::stored_command from) {
  if (auto why = refusal_of(x, books(), {requests_, full_, was_given_up_})) {
    effects_.emplace_back(study_effect::answer{from.from, std::move(*why)});
    return;
  }
  from.what = x.what;
  x.token = requests_.add(from);
  store(std::move(x));
}

/// Stores a command; the study receives it then.
void study_core::store(study_command x) {
  study_effect::commit result;
  result.records.emplace_back(event_added{options_.stored.id, {}, x});
  result.news.emplace_back(std::move(x));
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

/// Answers once all is stored.
void study_core::answer(
  study_token to, std::variant<command_answer, trained_answer, error> what) {
  outbox_.answer({to, std::move(what)});
}

void study_core::answer_waiters(trial_no no) {
  const auto known = books();
  for (const auto& x : requests_.take_waiters(
         no, [&](step_t to) { return known.is_there(no, to); }))
    answer(x.from, answer_of(known, no, x.to));
}

// -- looking ------------------------------------------------------------------

bool study_core::wants_capacity() const {
  return options_.stored.state == study_phase::running
         && tuner_->wants_capacity();
}

std::uint64_t study_core::memory_bytes() const {
  // The text with its code is there as it was read, too.
  return 2 * options_.stored.text.size() + trials_.memory_bytes()
         + tuner_->memory_bytes();
}

study_status study_core::status(moment now) const {
  const auto& stored = options_.stored;
  study_status result;
  result.id = stored.id;
  result.name = stored.name;
  result.workload_key = key_of(options_.spec.workload);
  result.state = stored.state;
  result.reason = stored.reason;
  result.weight = stored.weight;
  result.metric = options_.spec.objective.metric;
  result.trials = tuner_->trials();
  result.finished = trials_.finished();
  result.asked_steps = trials_.asked_steps();
  result.memory_bytes = memory_bytes();
  result.active_seconds = clock_.active_seconds(now);
  result.seconds_max = options_.spec.budget.seconds;
  result.deadline_left = clock_.deadline_left(now);
  result.waiting_steps = trials_.waiting_steps();
  result.to_come = has_ended() ? expected_work{} : tuner_->to_come();
  result.best = shown_best(books());
  result.front = front_in_brief(books());
  return result;
}

study_record study_core::record() const {
  return record_of(books());
}

void study_core::check_invariants() const {
#ifndef NDEBUG
  assert(!has_ended() || trials_.finished() == trials_.size());
  assert(has_ended() || !options_.spec.budget.failed
         || trials_.failed() < *options_.spec.budget.failed);
  for (const auto& [no, x] : requests_.waiters()) {
    assert(no < trials_.size());
    assert(!books().is_there(no, x.to) && trials_[no].asked_to >= x.to);
  }
  assert(!clock_.is_running() || options_.stored.state == study_phase::running);
#endif
}

} // namespace hippo
