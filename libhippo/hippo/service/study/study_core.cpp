#include "hippo/service/study/study_core.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "hippo/base/number.hpp"
#include "hippo/base/trial_result.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/search/algorithm/client_algorithm.hpp"
#include "hippo/space/complexity.hpp"
#include "hippo/space/own_workload.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;
using verb = study_command::verb;

constexpr auto stopped_text = "the study was stopped";


/// Of the time for which it has been worked on, what may be lost if the service
/// is killed.
constexpr double active_seconds_unsaved_max = 10;

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
    return command->what == verb::widen;
  return !std::holds_alternative<trial_chosen>(x);
}

} // namespace

// -- starting -----------------------------------------------------------------

study_core::study_core(study_options options, moment now)
  : options_(std::move(options)),
    tuner_(std::make_unique<tuner>(options_.spec, options_.search,
                                   defaults_of(options_.workload))),
    trials_(options_.spec.objective), last_rung_(tuner_->when().rungs.back()),
    // Who drives a study looks at each failure anyway.
    only_failed_(options_.spec.on_error != failure_policy::go_on
                 && options_.spec.algorithm.name != "client"),
    now_(now) {
  if (options_.deadline_left)
    deadline_ = now
                + std::chrono::duration_cast<moment::duration>(
                  std::chrono::duration<double>(*options_.deadline_left));
  repeating_ = std::make_unique<repetition>();
  repeating_->last = options_.stored;
}

study_core::~study_core() = default;

bool study_core::catch_up(const std::function<bool()>& is_over) {
  if (!repeating_)
    return true;
  if (!std::exchange(repeating_->has_begun, true)) {
    begin_replay();
    if (is_over())
      return false;
  }
  auto& history = options_.history;
  while (!damage_ && repeating_->next < history.size()) {
    replay(std::move(history[repeating_->next++]));
    if (is_over())
      return false;
  }
  end_replay();
  return true;
}

double study_core::caught_up() const {
  const auto all = options_.history.size();
  return !repeating_ ? 1
         : all == 0  ? 0
                     : static_cast<double>(repeating_->next)
                        / static_cast<double>(all);
}

void study_core::begin_replay() {
  options_.stored.state = study_phase::running;
  for (const auto& x : options_.history)
    if (const auto* chosen = std::get_if<trial_chosen>(&x.what)) {
      tuner_->restore(chosen->trial, chosen->what);
      stored_choices_.insert_or_assign(chosen->trial, chosen->what);
      has_stored_choices_ = true;
    }
  take_turn(tuner_->start());
  end_if_done();
  repeating_->when = tuner_->when();
}

void study_core::replay(stored_event x) {
  if (const auto why = damage_of(x.what, repeating_->when); !why.empty()) {
    damage_ = error{errc::malformed_message,
                    "event " + std::to_string(x.id) + ": " + why};
    return;
  }
  std::visit([this](auto& y) { take(std::move(y)); }, x.what);
  end_if_done();
}

void study_core::end_replay() {
  auto& stored = options_.stored;
  const auto last = std::move(repeating_->last);
  repeating_.reset();
  options_.history = {};
  replaying_ = false;
  // The merger is given the whole of it, and what is stored is of that time.
  orders_ = {};
  answers_.clear();
  effects_.clear();
  stored.active_seconds = saved_active_seconds_ = last.active_seconds;
  study_is_saved_ = stored == last;
  was_given_up_ = !has_ended() && last.state == study_phase::failed;
  trials_.check_invariants();
  check_invariants();
}

study_registration study_core::registration() const {
  const auto phase = options_.stored.state;
  return {options_.stored.id, tuner_->when(), options_.stored.weight,
          phase == study_phase::paused || phase == study_phase::stopping,
          options_.spec.workload.settings, device_seconds_left(),
          complexity_of(options_.spec.space), cost_left()};
}

study_orders study_core::all_orders() const {
  study_orders result;
  for (trial_no no = 0; no < trials_.size(); ++no) {
    const auto& x = trials_[no];
    if (!x.added)
      continue;
    result.added.push_back(order_of(no));
    if (x.asked_to > 0)
      result.asked.push_back(
        {no, x.asked_to, x.acked, hippo::has_ended(x.state), x.shared});
  }
  return result;
}

study_core::effects study_core::registered(moment now) {
  now_ = now;
  if (options_.stored.state == study_phase::running)
    active_since_ = now;
  orders_ = all_orders();
  watch_time();
  return finish();
}

/// Sends what is to be done, and ends the study if nothing is to come.
study_core::effects study_core::finish() {
  end_if_done();
  // First: what follows from a choice must not be stored before it.
  save();
  orders_.wants_capacity = wants_capacity();
  orders_.acked = acked_;
  const bool wanted = std::exchange(wanted_capacity_, orders_.wants_capacity);
  if (!orders_.empty() || orders_.wants_capacity || wanted)
    effects_.emplace_back(study_effect::send_orders{std::move(orders_)});
  orders_ = {};
  check_invariants();
  return std::exchange(effects_, {});
}

// -- what it receives ---------------------------------------------------------

study_core::effects study_core::receive(study_news news, moment now) {
  now_ = now;
  for (auto& x : news) {
    acked_ += is_of_merger(x);
    std::visit([this](auto& y) { take(std::move(y)); }, x);
    end_if_done(); // what comes next finds it as a replay does
  }
  return finish();
}

study_core::effects study_core::offered_capacity(std::uint64_t trials,
                                                 moment now) {
  now_ = now;
  if (!wants_capacity()) {
    ++acked_;
    return finish();
  }
  study_command x;
  x.what = verb::widen;
  x.text = std::to_string(trials);
  store(std::move(x));
  return std::exchange(effects_, {});
}

study_core::effects study_core::quiesced(moment now) {
  now_ = now;
  if (options_.stored.state != study_phase::stopping)
    return {};
  return finish_for(stopped_text);
}

study_core::effects study_core::command(study_command x, study_token from,
                                        moment now) {
  now_ = now;
  // Before it is stored: what is stored says all that it comes to.
  if (x.what == verb::ask && !x.text.empty())
    x.text = with_constants(x.text);
  return request(std::move(x), {from});
}

/// Adds to the values that a client gives those of which the space leaves no
/// choice, and those that are made of others. Values that are wrong stay as
/// they are, to be refused.
std::string study_core::with_constants(const std::string& values) const {
  const auto& spec = options_.spec;
  const auto given
    = read_parameters(values, spec.lengths(), options_.workload,
                      name_rules::today, spec.typed);
  if (!given || spec.space.empty())
    return values;
  const auto varied = spec.space.varied();
  auto all = given->shown;
  const auto any = spec.space.sample(0, 0).shown;
  for (const auto& [name, value] : any.items())
    if (!varied.contains(name) && !all.contains(name))
      all[name] = value;
  auto with_products = all;
  const auto products = spec.space.products();
  for (const auto& [name, value] : products.items())
    if (!all.contains(name))
      with_products[name] = value;
  // Unless it has not all that they are made of.
  if (with_products.size() > all.size()
      && read_parameters(with_products.dump(), spec.lengths(),
                         options_.workload, name_rules::today, spec.typed))
    all = std::move(with_products);
  return all.size() == given->shown.size() ? values : all.dump();
}

study_core::effects study_core::train(trial_no trial, step_t to,
                                      study_token from, moment now) {
  now_ = now;
  if (trial >= trials_.size())
    return {study_effect::answer{
      from, error{errc::invalid_argument,
                  "study " + options_.stored.name + " has no trial "
                    + std::to_string(trial)}}};
  // Of a step that it has passed as well: there is nothing to answer with.
  if (auto why = client_algorithm::refusal_of_step(tuner_->when(), to);
      !why.empty())
    return {study_effect::answer{from,
                                 error{errc::invalid_argument,
                                       std::move(why)}}};
  if (is_there(trial, to)) {
    answers_.push_back({from, answer_of(trial, to)});
    return finish();
  }
  if (trials_[trial].asked_to >= to) {
    waiters_.emplace(trial, waiter{to, from});
    return {};
  }
  return request({verb::train, trial, to, {}, 0}, {from, to});
}

void study_core::take(const trial_measured& x) {
  follow(x);
  if (const auto why = reason_to_stop())
    end_study(study_phase::complete, trial_state::cancelled, *why);
}

void study_core::follow(const trial_measured& x) {
  const auto no = x.trial;
  const auto is_first = !std::exchange(has_measured_, true);
  only_failed_ = false;
  const auto before = trials_[no].acked;
  trials_.ack(no, x.at, x.shared);
  steps_without_gain_ += trials_[no].acked - before;
  unsaved_.insert(no);
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
    steps_without_gain_ = 0;
  if (x.at == trials_[no].asked_to && x.at < tuner_->end_of(no))
    trials_.pause(no); // unless the algorithm goes on at once
  const auto next = tuner_->on_result(no, x.at, x.values);
  if (x.at == tuner_->end_of(no))
    end_trial(no, trial_state::complete);
  take_turn(next);
  answer_waiters(no);
}

void study_core::take(const trial_failed& x) {
  if (hippo::has_ended(trials_[x.trial].state))
    return;
  end_trial(x.trial, trial_state::failed, failure_of(x), x.reason.code);
  take_turn(tuner_->on_failure(x.trial));
  end_if_failed();
  if (!has_ended())
    note_failure(x.reason);
}

void study_core::take(study_command x) {
  if (x.what == verb::pause || x.what == verb::resume)
    is_steered_ = false;
  auto answer = carry_out(x);
  const auto waiting = requests_.extract(x.token);
  if (!waiting)
    return;
  const auto& [from, trained_to, what] = waiting.mapped();
  if (!answer)
    answers_.push_back({from, answer.failure()});
  else if (!trained_to)
    answers_.push_back({from, std::move(*answer)});
  else if (is_there(x.trial, *trained_to))
    answers_.push_back({from, answer_of(x.trial, *trained_to)});
  else
    waiters_.emplace(x.trial, waiter{*trained_to, from});
}

// -- commands: all answer with why not, and change nothing then ---------------

expected<command_answer> study_core::carry_out(const study_command& x) {
  if (auto why = refusal_of_end(x.what))
    return *why;
  auto parsed
    = parse_command(x, options_.spec.lengths(), options_.workload,
                    name_rules::of_before, options_.spec.typed);
  if (!parsed)
    return parsed.failure();
  return std::visit([this](auto& y) { return apply(std::move(y)); }, *parsed);
}

expected<command_answer> study_core::take(expected<turn> next) {
  if (!next)
    return next.failure();
  take_turn(*next);
  return command_answer{};
}

expected<command_answer> study_core::apply(command::ask x) {
  auto next = tuner_->client_ask(std::move(x.values));
  if (!next)
    return next.failure();
  take_turn(*next);
  const auto no = tuner_->trials() - 1;
  return command_answer{no, tuner_->parameters(no).shown};
}

expected<command_answer> study_core::apply(const command::train& x) {
  return take(tuner_->client_train(x.trial, x.to));
}

expected<command_answer> study_core::apply(const command::tell& x) {
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
    unsaved_.insert(x.trial);
  }
  drop_trial(x.trial, x.how,
             x.how == trial_state::failed ? "a client said so" : "");
  take_turn(*next);
  end_if_failed();
  return command_answer{x.trial, {}};
}

expected<command_answer> study_core::apply(const command::close&) {
  return take(tuner_->client_close());
}

expected<command_answer> study_core::steer(study_phase to, std::string why) {
  if (auto refused = refusal_of_state(to))
    return *refused;
  enter(to, std::move(why));
  return command_answer{};
}

/// Goes on as running, paused or stopping.
void study_core::enter(study_phase to, std::string why) {
  change_state(to, std::move(why));
  if (!replaying_)
    effects_.emplace_back(
      study_effect::set_paused{to != study_phase::running});
  watch_time();
}

expected<command_answer> study_core::apply(const command::pause& x) {
  return steer(study_phase::paused, x.why);
}

expected<command_answer> study_core::apply(const command::resume&) {
  only_failed_ = false; // whoever says so knows of it
  return steer(study_phase::running);
}

expected<command_answer> study_core::apply(const command::stop&) {
  return steer(study_phase::stopping);
}

expected<command_answer> study_core::apply(const command::cancel& x) {
  end_study(study_phase::cancelled, trial_state::cancelled, x.why);
  return command_answer{};
}

expected<command_answer> study_core::apply(const command::finish& x) {
  end_study(study_phase::complete, trial_state::cancelled, x.why);
  return command_answer{};
}

expected<command_answer> study_core::apply(const command::weight& x) {
  options_.stored.weight = x.value;
  study_is_saved_ = false;
  if (!replaying_)
    effects_.emplace_back(study_effect::set_weight{x.value});
  return command_answer{};
}

expected<command_answer> study_core::apply(const command::widen& x) {
  take_turn(tuner_->widen(x.trials));
  return command_answer{};
}

// -- what it decides ----------------------------------------------------------

void study_core::take_turn(const turn& x) {
  for (auto no : x.added) {
    trials_.add(no);
    unsaved_.insert(no);
    unsaved_added_.insert(no);
    if (const auto choice = tuner_->choice_of(no)) {
      const auto stored = stored_choices_.extract(no);
      if (!stored || stored.mapped() != *choice)
        unsaved_chosen_.insert(no);
    }
    if (!replaying_)
      orders_.added.push_back(order_of(no));
  }
  if (!replaying_)
    for (auto no : x.rerouted)
      orders_.rerouted.push_back(order_of(no));
  for (auto no : x.pruned)
    drop_trial(no, trial_state::pruned);
  for (const auto& [no, to] : x.asked) {
    if (!trials_.ask(no, to))
      continue;
    unsaved_.insert(no);
    orders_.asked.push_back({no, to, 0, false});
  }
}

void study_core::end_trial(trial_no no, trial_state how, std::string failure,
                           std::optional<errc> cause) {
  if (!trials_.end(no, how, std::move(failure), cause))
    return;
  const auto& x = trials_[no];
  unsaved_.insert(no);
  if (replaying_)
    return;
  answer_waiters(no);
  trial_event event;
  event.study = options_.spec.name;
  event.trial = no;
  event.state = how;
  event.params = shown_params(no);
  event.failure = x.failure;
  if (const auto last = trials_.last_result(no)) {
    event.step = last->step;
    if (how == trial_state::complete)
      event.value
        = x.best ? x.best->value : std::numeric_limits<double>::quiet_NaN();
    else
      event.value = trials_.value_of(last->values);
  }
  if (const auto& best = trials_.best())
    event.best = best_so_far{best->trial, best->value};
  tell_front(event);
  effects_.emplace_back(study_effect::notify_trial{std::move(event)});
}

/// Ends a trial that may be on its way.
void study_core::drop_trial(trial_no no, trial_state how,
                            const std::string& why) {
  if (trials_.is_on_its_way(no))
    orders_.dropped.push_back(no);
  end_trial(no, how, why);
}

/// Ends the study: what has not ended by then is `rest`.
void study_core::end_study(study_phase how, trial_state rest,
                           const std::string& why) {
  for (trial_no no = 0; no < trials_.size(); ++no)
    drop_trial(no, rest, why);
  // What this event has asked for comes after what is dropped.
  std::erase_if(orders_.asked, [](const auto& x) { return !x.is_over; });
  change_state(how, why);
  is_finishing_ = false;
}

void study_core::change_state(study_phase to, std::string why) {
  auto& stored = options_.stored;
  stored.active_seconds = active_seconds(now_);
  stored.state = to;
  stored.reason = std::move(why);
  active_since_.reset();
  if (to == study_phase::running && !replaying_)
    active_since_ = now_;
  study_is_saved_ = false;
}

// -- what follows -------------------------------------------------------------

study_core::effects study_core::request(study_command x,
                                        stored_request from) {
  if (auto why = refusal(x))
    return {study_effect::answer{from.from, std::move(*why)}};
  x.token = ++last_request_;
  from.what = x.what;
  requests_.emplace(x.token, from);
  store(std::move(x));
  return std::exchange(effects_, {});
}

/// Stores a command; the study receives it then.
void study_core::store(study_command x) {
  study_effect::commit result;
  result.records.emplace_back(event_added{options_.stored.id, {}, x});
  result.news.emplace_back(std::move(x));
  effects_.emplace_back(std::move(result));
}

void study_core::answer_waiters(trial_no no) {
  const auto [first, last] = waiters_.equal_range(no);
  for (auto i = first; i != last;)
    if (is_there(no, i->second.to)) {
      answers_.push_back({i->second.from, answer_of(no, i->second.to)});
      i = waiters_.erase(i);
    } else {
      ++i;
    }
}

void study_core::save() {
  study_effect::commit result;
  result.records = take_unsaved();
  result.answers = std::exchange(answers_, {});
  const auto& stored = options_.stored;
  if (has_ended() && !std::exchange(end_is_announced_, true))
    result.end = study_end{stored.id, stored.name, stored.state};
  if (!result.records.empty() || !result.answers.empty() || result.end)
    effects_.emplace_back(std::move(result));
}

std::vector<journal_record> study_core::take_unsaved() {
  std::vector<journal_record> result;
  auto& stored = options_.stored;
  const auto active = active_seconds(now_);
  const bool is_time_due
    = !unsaved_.empty()
      && active - saved_active_seconds_ >= active_seconds_unsaved_max;
  if (!std::exchange(study_is_saved_, true) || is_time_due) {
    auto row = stored;
    row.active_seconds = saved_active_seconds_ = active;
    row.text.clear(); // has not changed
    result.emplace_back(study_saved{std::move(row)});
  }
  for (auto no : std::exchange(unsaved_chosen_, {}))
    result.emplace_back(
      event_added{stored.id, {}, trial_chosen{no, *tuner_->choice_of(no)}});
  for (auto no : std::exchange(unsaved_, {}))
    result.emplace_back(
      trial_saved{stored.id, stored_of(no, unsaved_added_.erase(no) > 0)});
  save_front(result);
  return result;
}

stored_trial study_core::stored_of(trial_no no, bool is_new) const {
  const auto& x = trials_[no];
  stored_trial result;
  result.trial = no;
  result.state = x.state;
  if (is_new)
    result.params = shown_params(no).dump();
  result.asked_to = x.asked_to;
  result.steps = x.acked;
  if (has_result(x.state))
    result.best = x.best;
  result.failure = x.failure;
  result.shared = x.shared;
  if (auto choice = tuner_->choice_of(no))
    result.why = std::move(choice->why);
  return result;
}

study_orders::trial study_core::order_of(trial_no no) const {
  const auto* origin = tuner_->origin(no);
  return {no, tuner_->segments(no),
          origin != nullptr ? std::optional{origin->from} : std::nullopt,
          tuner_->is_responsive(no)};
}

// -- looking ------------------------------------------------------------------

bool study_core::wants_capacity() const {
  return options_.stored.state == study_phase::running
         && tuner_->wants_capacity();
}

/// Whether a trial will be no nearer to a state than it is.
bool study_core::is_there(trial_no no, step_t to) const {
  return trials_[no].acked >= to || hippo::has_ended(trials_[no].state)
         || has_ended();
}

/// What a trial has measured at `to`, however far it is by now, or else last.
trained_answer study_core::answer_of(trial_no no, step_t to) const {
  const auto& x = trials_[no];
  trained_answer result;
  result.state = x.state;
  result.failure = x.failure;
  if (const auto found = trials_.result_near(no, to)) {
    result.step = found->step;
    result.values = found->values;
  }
  return result;
}

/// The parameters of a trial, none if it is yet to be added: what they will be
/// is not decided by then, and to ask would decide.
json study_core::shown_params(trial_no no) const {
  return trials_[no].added ? tuner_->parameters(no).shown : json::object();
}

std::optional<best_record> study_core::shown_best() const {
  const auto& best = trials_.best();
  if (!best)
    return std::nullopt;
  return best_record{best->trial, best->at, best->value,
                     tuner_->parameters(best->trial).shown};
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
  result.active_seconds = active_seconds(now);
  result.seconds_max = options_.spec.budget.seconds;
  if (deadline_)
    result.deadline_left = seconds_between(now, *deadline_);
  result.waiting_steps = trials_.waiting_steps();
  result.to_come = has_ended() ? expected_work{} : tuner_->to_come();
  result.best = shown_best();
  result.front = front_in_brief();
  return result;
}

trial_record study_core::record_of(trial_no no) const {
  const auto& x = trials_[no];
  trial_record result;
  result.id = no;
  result.state = x.state;
  result.params = shown_params(no);
  result.steps = x.acked;
  result.shared_steps = x.shared;
  result.results = trials_.results_of(no);
  result.failure = x.failure;
  if (auto choice = tuner_->choice_of(no))
    result.why = std::move(choice->why);
  return result;
}

study_record study_core::record() const {
  study_record result;
  const auto& spec = options_.spec;
  result.name = spec.name;
  result.algorithm = spec.algorithm.name;
  result.workload_key = key_of(spec.workload);
  result.exact = is_exact(spec.workload);
  result.metric = spec.objective.metric;
  result.direction = spec.objective.direction;
  result.asked_steps = trials_.asked_steps();
  result.reason = options_.stored.reason;
  result.best = shown_best();
  result.wanted = trials_.wanted();
  result.front = shown_front();
  for (trial_no no = 0; no < trials_.size(); ++no) {
    const auto& x = result.trials.emplace_back(record_of(no));
    result.delivered_steps += x.steps;
    result.shared_steps += x.shared_steps;
  }
  return result;
}

void study_core::check_invariants() const {
#ifndef NDEBUG
  assert(!has_ended() || trials_.finished() == trials_.size());
  assert(has_ended() || !options_.spec.budget.failed
         || trials_.failed() < *options_.spec.budget.failed);
  for (const auto& [no, x] : waiters_) {
    assert(no < trials_.size());
    assert(!is_there(no, x.to) && trials_[no].asked_to >= x.to);
  }
  assert(!active_since_ || options_.stored.state == study_phase::running);
#endif
}

} // namespace hippo
