#include <cassert>
#include <utility>

#include "hippo/service/coordinator/coordinator_core.hpp"

// Studies that end, and actors that die.

namespace hippo {

namespace {

using level = log_level;

/// A merger that dies twice within this span will do so again.
constexpr auto second_death_span = std::chrono::minutes(10);

} // namespace

// -- studies that end by themselves -------------------------------------------

void coordinator_core::on(coordinator_event::study_ended& event) {
  if (reopening_.contains(event.end.id))
    return; // as it says when it starts, before it hears the command
  let_go(event.end.id, std::move(event.end));
}

void coordinator_core::on(coordinator_event::study_retired& event) {
  note_end(event.id);
  if (event.end)
    effects_.emplace_back(coordinator_effect::tell_end{std::move(*event.end)});
}

void coordinator_core::on(coordinator_event::study_stays& event) {
  const auto i = studies_.find(event.id);
  if (i == studies_.end() || i->second.leaving == 0 || --i->second.leaving > 0)
    return;
  command_again(std::exchange(i->second.held, {}), event.id);
}

/// Lets go of a study that has ended, unless it is kept. One that was told to
/// go on since then does, and has not ended.
/// @param end told once nothing can let it go on any more
void coordinator_core::let_go(study_id id, std::optional<study_end> end) {
  const auto i = studies_.find(id);
  if (i == studies_.end())
    return;
  if (!begun_.keep_ended) {
    ++i->second.leaving;
    effects_.emplace_back(coordinator_effect::retire_study{id, std::move(end)});
    return;
  }
  note_end(id);
  if (end)
    effects_.emplace_back(coordinator_effect::tell_end{std::move(*end)});
}

void coordinator_core::note_end(study_id id) {
  const auto i = studies_.find(id);
  if (i == studies_.end() || std::exchange(i->second.ended, true))
    return;
  memory_.remove_study(id);
  leave_merger(i->second);
  if (begun_.keep_ended)
    return;
  end_wait(id, i->second);
  const auto held = std::move(i->second.held);
  studies_.erase(i);
  effects_.emplace_back(coordinator_effect::drop_study{id});
  note_let_go();
  command_again(held, id);
}

/// Answers the requests that still wait for a study that has ended.
void coordinator_core::end_wait(study_id id, study_entry& which) {
  if (const auto who = std::exchange(which.submitter, std::nullopt))
    effects_.emplace_back(coordinator_effect::accept_submission{*who, id});
  if (const auto end = std::exchange(which.ending, std::nullopt);
      end && end->canceller)
    effects_.emplace_back(coordinator_effect::refuse_cancel{*end->canceller});
}

/// Answers the commands that wait for a study whose actor is gone.
void coordinator_core::refuse_held(study_id id, study_entry& which) {
  for (const auto request : std::exchange(which.held, {}))
    refuse_command(request, id);
}

void coordinator_core::leave_merger(const study_entry& which) {
  if (which.is_orphan)
    return;
  auto& merger = mergers_.at(which.workload_key);
  assert(merger.live_studies > 0);
  --merger.live_studies;
  merger.idle_since = now_;
}

// -- studies that are ended ---------------------------------------------------

void coordinator_core::on(coordinator_event::restore_failed& event) {
  fail(event.id, {}, event.why);
}

void coordinator_core::on(coordinator_event::row_unreadable& event) {
  unreadable_[event.id] = std::move(event.why);
}

/// A study cannot start, or its actor has died: it has failed, and that is
/// stored. Nothing new of it is trained. Others do not notice.
/// @param exits whether its actor is to end
void coordinator_core::fail(study_id id, const std::string& name,
                            const std::string& why, bool exits) {
  log(level::error,
      "study " + to_string(id) + " (" + name + ") has failed: " + why);
  end({id, name, study_phase::failed, why, {}, {}}, exits);
}

/// Ends a study of which no actor is left, or whose actor stores nothing more.
void coordinator_core::end(coordinator_effect::end_study what, bool exits) {
  const auto id = what.id;
  auto entry = forget(id);
  if (entry) {
    what.submitter = entry->submitter;
    if (entry->ending && entry->ending->canceller && !what.canceller)
      what.canceller = entry->ending->canceller;
  }
  effects_.emplace_back(std::move(what));
  if (!entry)
    return;
  if (exits)
    effects_.emplace_back(coordinator_effect::exit_study{id});
  effects_.emplace_back(coordinator_effect::drop_study{id});
}

/// Takes a study out of memory. @returns what there was of it
std::optional<coordinator_core::study_entry>
coordinator_core::forget(study_id id) {
  memory_.remove_study(id);
  awaited_.erase(id);
  note_let_go();
  auto entry = studies_.extract(id);
  if (!entry)
    return std::nullopt;
  if (!entry.mapped().ended)
    leave_merger(entry.mapped());
  refuse_held(id, entry.mapped());
  return std::move(entry.mapped());
}

void coordinator_core::on(coordinator_event::cancel_asked& event) {
  const auto id = event.id;
  const auto i = studies_.find(id);
  if (i == studies_.end() ? !awaited_.contains(id)
                          : i->second.number || i->second.ended
                              || i->second.ending || i->second.restarting) {
    effects_.emplace_back(coordinator_effect::refuse_cancel{event.request});
    return;
  }
  log(level::info,
      "study " + to_string(id) + " is cancelled before it has started");
  coordinator_effect::end_study what{
    id, {}, study_phase::cancelled, std::move(event.why), {}, event.request};
  if (i == studies_.end()) {
    end(std::move(what));
    return;
  }
  // Once its actor is down, so that nothing of it is stored after that.
  what.name = i->second.name;
  i->second.ending = std::move(what);
  effects_.emplace_back(coordinator_effect::exit_study{id});
}

// -- actors that die ----------------------------------------------------------

void coordinator_core::on(coordinator_event::study_down& event) {
  const auto id = event.id;
  const auto i = studies_.find(id);
  if (i == studies_.end())
    return;
  auto& x = i->second;
  if (x.restarting) {
    const auto submitter = x.submitter;
    refuse_held(id, x);
    studies_.erase(i); // its merger is gone
    awaited_.emplace(id, 0);
    memory_.remove_study(id);
    effects_.emplace_back(coordinator_effect::submit_again{id, submitter});
  } else if (x.ended) {
    end_wait(id, x);
  } else if (x.ending) {
    const auto what = *x.ending;
    if (what.how == study_phase::failed)
      fail(id, x.name, what.why);
    else
      end(what);
  } else if (event.is_of_journal) {
    effects_.emplace_back(coordinator_effect::quit{});
  } else {
    const std::string where = x.submitter ? "it could not be started: "
                                          : "a fault of the service itself: ";
    fail(id, std::string{x.name}, where + event.why);
  }
}

/// Notes that a merger has died of a fault of its own. @returns whether it has
/// before, not long ago
bool coordinator_core::has_died_again(const std::string& key) {
  const auto [i, is_first] = last_deaths_.emplace(key, now_);
  return !is_first && now_ - std::exchange(i->second, now_) < second_death_span;
}

void coordinator_core::on(coordinator_event::merger_down& event) {
  const auto& key = event.key;
  const auto gone = mergers_.extract(key);
  if (!gone)
    return;
  memory_.remove_plan(key);
  note_let_go();
  for (auto& [id, x] : studies_)
    if (x.workload_key == key)
      x.is_orphan = true;
  if (gone.mapped().retiring) {
    for (const auto request : gone.mapped().waiting)
      go_on(request);
    return;
  }
  if (event.is_of_journal || !begun_.has_store) {
    effects_.emplace_back(coordinator_effect::quit{});
    return;
  }
  // Memory may have been short for what another one has asked for. Who asks for
  // what cannot be carried out the next time fails, and nobody else.
  const bool is_again = has_died_again(key);
  effects_.emplace_back(
    coordinator_effect::tell_death{key, event.why, is_again, event.study});
  for (auto& [id, x] : studies_) {
    if (x.workload_key != key || x.ended)
      continue;
    effects_.emplace_back(coordinator_effect::exit_study{id});
    if (x.ending || x.restarting)
      continue; // that is decided
    // Once its actor is down, so that nothing of it is stored after that.
    coordinator_effect::end_study failed{id, x.name, study_phase::failed,
                                         {}, {},     {}};
    if (is_again && number_of(id) == event.study)
      failed.why =
        (x.submitter ? "it could not be started: "
                     : "what it asked for could not be carried out: ")
        + event.fault_text;
    else if (is_again && event.study == 0)
      failed.why = "the merger of its workload has died twice: " + event.why;
    else
      x.restarting = true;
    if (!x.restarting)
      x.ending = std::move(failed);
  }
}

} // namespace hippo
