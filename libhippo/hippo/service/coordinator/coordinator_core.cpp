#include "hippo/service/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

namespace {

using level = log_level;

error not_running(study_id id) {
  return {errc::unknown_study, "study " + to_string(id) + " is not running"};
}

error retired_error() {
  return {errc::invalid_argument,
          "this run ends, as all its studies have: start another one, or a "
          "service that stays (hippo serve)"};
}

} // namespace

coordinator_core::coordinator_core(coordinator_begin known, moment begun)
  : begun_(std::move(known)), last_study_(begun_.last_study),
    last_lease_epoch_(begun_.last_lease_epoch),
    memory_(begun_.memory_bytes_max), now_(begun) {
  for (const auto id : begun_.awaited)
    awaited_.emplace(id, 0);
}

coordinator_core::effects coordinator_core::apply(any_coordinator_event event,
                                                  moment now) {
  assert(now >= now_);
  assert(effects_.empty());
  now_ = now;
  std::visit([this](auto& x) { on(x); }, event);
  answer_questions();
  check_invariants();
  return std::exchange(effects_, {});
}

// -- submissions --------------------------------------------------------------

void coordinator_core::on(coordinator_event::submitted& event) {
  const auto request = event.request;
  if (retired_) {
    refuse(request, retired_error());
    return;
  }
  if (event.stored && !event.has_ended) {
    const auto id = *event.stored;
    // Since it was read, it may have ended.
    if (begun_.restores && !awaited_.contains(id)) {
      refuse_cancelled(request, id);
      return;
    }
    if (event.refusal)
      fail(id, event.name, "it cannot go on: " + event.refusal->message);
  }
  if (event.refusal) {
    refuse(request, std::move(*event.refusal));
    return;
  }
  if (!event.stored)
    if (auto why = memory_.refusal_of_study(event.first_bytes)) {
      refuse(request, std::move(*why));
      return;
    }
  const bool is_new = !event.stored;
  if (is_new)
    last_study_ = study_id{number_of(last_study_) + 1};
  const auto id = is_new ? last_study_ : *event.stored;
  awaited_[id] = request;
  if (memory_.is_limited())
    memory_.add_study(id, event.workload_key, event.first_bytes);
  submissions_[request] = {id, std::move(event.name),
                           std::move(event.workload_key), event.by_client,
                           false};
  // Along with what is there already, so that the plan is read after it.
  effects_.emplace_back(coordinator_effect::store_submission{
    request, id, is_new, last_lease_epoch_ + 1});
}

void coordinator_core::on(coordinator_event::stored& event) {
  submissions_.at(event.request).is_stored = true;
  go_on(event.request);
}

void coordinator_core::on(coordinator_event::unstored& event) {
  const auto gone = submissions_.extract(event.request);
  if (is_awaited(event.request, gone.mapped())) {
    awaited_.erase(gone.mapped().id);
    memory_.remove_study(gone.mapped().id);
  }
  effects_.emplace_back(coordinator_effect::refuse_unstored{event.request});
}

void coordinator_core::on(coordinator_event::plan_read& event) {
  const auto entry = reading_.extract(event.key);
  if (!entry)
    return;
  if (!event.failure) {
    mergers_[event.key];
    effects_.emplace_back(coordinator_effect::make_merger{event.key});
    if (going_)
      effects_.emplace_back(coordinator_effect::start_merger{event.key});
  }
  for (const auto request : entry.mapped()) {
    if (!event.failure) {
      go_on(request);
      continue;
    }
    const auto gone = submissions_.extract(request);
    const auto& x = gone.mapped();
    if (is_awaited(request, x))
      fail(x.id, x.name, "it cannot start: " + event.failure->message);
    refuse(request, *event.failure);
  }
}

/// A submission that is stored goes on as far as it can.
void coordinator_core::go_on(request_number request) {
  const auto& x = submissions_.at(request);
  if (!is_awaited(request, x)) {
    const auto id = x.id;
    submissions_.erase(request);
    refuse_cancelled(request, id);
    return;
  }
  const auto& key = x.workload_key;
  if (const auto i = mergers_.find(key); i == mergers_.end()) {
    auto& waiting = reading_[key];
    waiting.push_back(request);
    if (waiting.size() == 1)
      effects_.emplace_back(
        coordinator_effect::read_plan{request, key, ++last_lease_epoch_});
  } else if (i->second.retiring) {
    i->second.waiting.push_back(request);
  } else {
    spawn(request, i->second);
  }
}

void coordinator_core::spawn(request_number request, merger_entry& merger) {
  const auto gone = submissions_.extract(request);
  const auto& x = gone.mapped();
  awaited_.erase(x.id);
  const auto [i, is_new] = studies_.try_emplace(x.id);
  if (!is_new) {
    refuse(request,
           {errc::in_use, "study " + to_string(x.id) + " is running already"});
    return;
  }
  auto& entry = i->second;
  entry.name = x.name;
  entry.workload_key = x.workload_key;
  entry.request = request;
  entry.by_client = x.by_client;
  entry.submitter = request;
  ++merger.live_studies;
  effects_.emplace_back(
    coordinator_effect::spawn_study{request, x.id, x.workload_key});
  log(level::info, "study " + to_string(x.id) + " is " + x.name);
  effects_.emplace_back(coordinator_effect::start_study{x.id, request});
}

void coordinator_core::refuse(request_number request, error why) {
  effects_.emplace_back(
    coordinator_effect::refuse_submission{request, std::move(why)});
}

void coordinator_core::refuse_cancelled(request_number request, study_id id) {
  refuse(request,
         {errc::cancelled, "study " + to_string(id) + " has been cancelled"});
}

/// Whether a submission is still wanted: its study may have been cancelled.
bool coordinator_core::is_awaited(request_number request,
                                  const submission& which) const {
  const auto i = awaited_.find(which.id);
  return i != awaited_.end() && i->second == request;
}

void coordinator_core::on(coordinator_event::not_spawned& event) {
  const auto i = studies_.find(event.id);
  if (i != studies_.end() && i->second.request == event.request)
    fail(event.id, i->second.name, "it cannot start: " + event.why, true);
}

void coordinator_core::on(coordinator_event::started& event) {
  const auto i = studies_.find(event.id);
  if (i == studies_.end() || i->second.request != event.request)
    return; // it has died, and that was seen to
  i->second.number = event.number;
  if (const auto who = std::exchange(i->second.submitter, std::nullopt))
    effects_.emplace_back(
      coordinator_effect::accept_submission{*who, event.id});
}

void coordinator_core::on(coordinator_event::not_started& event) {
  const auto i = studies_.find(event.id);
  if (i != studies_.end() && i->second.request == event.request)
    fail(event.id, i->second.name, event.why, true);
}

void coordinator_core::on(coordinator_event::not_resubmitted& event) {
  if (const auto i = awaited_.find(event.id);
      i != awaited_.end() && i->second == 0)
    awaited_.erase(i);
  if (event.unreadable)
    unreadable_[event.id] = *event.unreadable;
}

// -- questions and commands ---------------------------------------------------

void coordinator_core::on(coordinator_event::asked& event) {
  questions_.emplace_back(event.request, event.id);
}

/// Answers the questions for studies, as far as it is known by now whether
/// these come.
void coordinator_core::answer_questions() {
  std::erase_if(questions_, [&](const auto& x) {
    const auto& [request, id] = x;
    const bool is_there = studies_.contains(id);
    if (!is_there && !(going_ && reading_.empty() && !awaited_.contains(id)))
      return false;
    effects_.emplace_back(
      coordinator_effect::answer_question{request, id, is_there});
    return true;
  });
}

void coordinator_core::on(coordinator_event::commanded& event) {
  if (retired_)
    effects_.emplace_back(
      coordinator_effect::refuse_command{event.request, retired_error()});
  else if (studies_.contains(event.id))
    command(event.request, event.id);
  else if (const auto [i, is_first] = reopening_.try_emplace(event.id);
           is_first)
    effects_.emplace_back(
      coordinator_effect::reopen_study{event.request, event.id});
  else
    i->second.push_back(event.request);
}

void coordinator_core::on(coordinator_event::reopened& event) {
  std::vector<request_number> others;
  if (const auto i = reopening_.find(event.id); i != reopening_.end())
    others.swap(i->second);
  command(event.request, event.id);
  for (const auto request : others)
    command(request, event.id);
}

void coordinator_core::on(coordinator_event::not_reopened& event) {
  end_reopening(event.id);
}

/// Commands that waited for the first one of a study are given once more.
/// @returns whether it was opened for a command
bool coordinator_core::end_reopening(study_id id) {
  const auto entry = reopening_.extract(id);
  if (!entry)
    return false;
  command_again(entry.mapped(), id);
  return true;
}

void coordinator_core::command_again(
  const std::vector<request_number>& requests, study_id id) {
  for (const auto request : requests) {
    coordinator_event::commanded again{request, id};
    on(again);
  }
}

/// Gives a command to a study in memory, unless that one may leave: then the
/// command waits until it has left, or stays.
void coordinator_core::command(request_number request, study_id id) {
  const auto i = studies_.find(id);
  if (i == studies_.end()) {
    refuse_command(request, id);
    end_reopening(id);
  } else if (i->second.leaving > 0) {
    i->second.held.push_back(request);
  } else {
    effects_.emplace_back(coordinator_effect::command_study{request, id});
  }
}

void coordinator_core::refuse_command(request_number request, study_id id) {
  effects_.emplace_back(
    coordinator_effect::refuse_command{request, not_running(id)});
}

void coordinator_core::on(coordinator_event::command_answered& event) {
  const bool was_opened = end_reopening(event.id);
  if (!event.is_failure)
    note_return(event.id);
  else if (was_opened)
    let_go(event.id, std::nullopt); // it was opened for nothing else
}

/// A study that is kept goes on again after its end.
void coordinator_core::note_return(study_id id) {
  const auto i = studies_.find(id);
  if (i == studies_.end() || !std::exchange(i->second.ended, false)
      || i->second.is_orphan)
    return;
  ++mergers_.at(i->second.workload_key).live_studies;
  if (memory_.is_limited())
    memory_.add_study(id, i->second.workload_key, 0);
}

/// Whether no study is at work, or to come.
bool coordinator_core::is_idle() const {
  return awaited_.empty() && submissions_.empty() && reopening_.empty()
         && std::ranges::all_of(studies_,
                                [](const auto& x) { return x.second.ended; });
}

void coordinator_core::on(coordinator_event::retirement_asked& event) {
  retired_ = is_idle();
  effects_.emplace_back(
    coordinator_effect::answer_retirement{event.request, retired_});
}

// -- from the process and the clock -------------------------------------------

void coordinator_core::on(coordinator_event::begun&) {
  if (memory_.is_limited())
    look_later();
}

void coordinator_core::on(coordinator_event::going&) {
  going_ = true;
  for (const auto& [key, x] : mergers_)
    effects_.emplace_back(coordinator_effect::start_merger{key});
}

void coordinator_core::on(coordinator_event::halted&) {
  for (const auto& [key, x] : mergers_)
    effects_.emplace_back(coordinator_effect::halt_merger{key});
}

void coordinator_core::on(coordinator_event::ticked&) {
  if (!begun_.keep_ended)
    retire_idle(begun_.idle_merger_max);
  // Plans that are read must agree with the files.
  const bool is_storing = std::ranges::any_of(
    submissions_, [](const auto& x) { return !x.second.is_stored; });
  if (begun_.limits_space && !is_storing && reading_.empty())
    effects_.emplace_back(coordinator_effect::divide_space{});
}

void coordinator_core::retire_idle(std::chrono::seconds idle_max) {
  for (auto& [key, x] : mergers_)
    if (x.live_studies == 0 && !x.retiring && now_ - x.idle_since >= idle_max) {
      x.retiring = true;
      effects_.emplace_back(coordinator_effect::retire_merger{key});
    }
}

// -- memory -------------------------------------------------------------------

void coordinator_core::on(coordinator_event::memory_due&) {
  if (memory_.is_full())
    retire_idle(std::chrono::seconds(0));
  is_looking_ = false;
  if (std::exchange(has_let_go_, false))
    effects_.emplace_back(coordinator_effect::trim_memory{});
  if (!memory_.is_limited())
    return;
  look_later();
  tell_rooms();
  for (const auto& [id, x] : studies_)
    if (!x.ended)
      effects_.emplace_back(coordinator_effect::ask_study_memory{id});
  for (const auto& [key, x] : mergers_)
    effects_.emplace_back(coordinator_effect::ask_merger_memory{key});
}

void coordinator_core::on(coordinator_event::study_measured& event) {
  memory_.note_study(event.id, event.bytes);
}

void coordinator_core::on(coordinator_event::plan_measured& event) {
  if (mergers_.contains(event.key))
    memory_.note_plan(event.key, event.bytes, event.segments);
}

/// Looks at memory in a while, unless that is due anyway.
void coordinator_core::look_later() {
  if (!std::exchange(is_looking_, true))
    effects_.emplace_back(coordinator_effect::look_after{});
}

/// A study or a plan is gone.
void coordinator_core::note_let_go() {
  has_let_go_ = true;
  look_later();
}

/// Tells studies whether new trials of them may begin.
void coordinator_core::tell_rooms() {
  for (auto& [id, x] : studies_) {
    if (x.ended)
      continue;
    const auto why = x.by_client ? memory_.refusal_of_trial(id)
                                 : memory_.reason_to_rest(id, x.is_full);
    const bool is_full = why.has_value();
    if (std::exchange(x.is_full, is_full) != is_full)
      log(level::info, "study " + to_string(id) + ' '
                         + (is_full ? "begins no new trials: " + why->message
                                    : "begins new trials again"));
    // The figures in it change all the time.
    if (is_full || !x.is_room_told)
      effects_.emplace_back(coordinator_effect::tell_room{
        id, is_full ? why->message : std::string{}});
    x.is_room_told = !is_full;
  }
}

// -- looking ------------------------------------------------------------------

std::set<study_id> coordinator_core::awaited() const {
  std::set<study_id> result;
  for (const auto& kvp : awaited_)
    result.insert(kvp.first);
  return result;
}

void coordinator_core::log(level severity, std::string text) {
  effects_.emplace_back(
    coordinator_effect::log_line{severity, std::move(text)});
}

void coordinator_core::check_invariants() const {
#ifndef NDEBUG
  std::map<std::string, std::uint64_t> live;
  std::set<request_number> submitters;
  for (const auto& [id, x] : studies_) {
    if (!x.ended && !x.is_orphan)
      ++live[x.workload_key];
    if (x.submitter)
      submitters.insert(*x.submitter);
    assert(!x.submitter || !submissions_.contains(*x.submitter));
    assert(!x.ending || !x.restarting);
    assert(x.held.empty() || x.leaving > 0);
  }
  std::map<request_number, int> waits;
  for (const auto& [key, x] : mergers_) {
    assert(x.live_studies == live[key]);
    assert(!x.retiring || x.live_studies == 0);
    assert(x.retiring || x.waiting.empty());
    assert(!reading_.contains(key));
    for (const auto request : x.waiting)
      ++waits[request];
  }
  for (const auto& [key, all] : reading_) {
    assert(!all.empty());
    for (const auto request : all)
      ++waits[request];
  }
  for (const auto& [key, count] : live)
    assert(count == 0 || mergers_.contains(key));
  for (const auto& [request, x] : submissions_)
    assert(waits[request] == (x.is_stored ? 1 : 0));
  for (const auto& [id, request] : awaited_)
    assert(request == 0 || submissions_.at(request).id == id);
  memory_.check_invariants();
#endif
}

} // namespace hippo
