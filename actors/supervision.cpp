#include "supervision.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "fault.hpp"
#include "memory_space.hpp"

namespace hippo {

namespace {

/// A merger that dies twice within this span will do so again.
constexpr auto second_death_span = std::chrono::minutes(10);

/// Whether an actor has ended because nothing can be stored any more, which is
/// no fault of its own.
bool is_of_journal(const caf::error& reason) {
  return reason.category() == caf::atom("hippo")
         || reason == caf::sec::request_receiver_down;
}

/// Why an actor has ended, for people.
std::string text_of(coordinator_self self, const caf::error& reason) {
  const auto known = fault_in(reason);
  return known ? known->what : self->system().render(reason);
}

using forced_end = coordinator_state::forced_end;

/// The records by which a study ends along with its trials.
std::vector<journal_record> records_of(state_reader* known, stored_study study,
                                       const forced_end& end) {
  std::vector<journal_record> result;
  const auto id = study.id;
  study.state = end.how;
  study.reason = end.why;
  study.text.clear(); // has not changed
  result.emplace_back(study_saved{std::move(study)});
  if (end.how == study_phase::cancelled) {
    study_command heard;
    heard.what = study_command::verb::cancel;
    heard.text = end.why;
    result.emplace_back(event_added{id, {}, std::move(heard)});
  }
  // Trials that cannot be read stay as they are.
  if (known != nullptr)
    if (auto trials = known->load_open_trials(id))
      for (auto& x : *trials) {
        x.state = trial_state::cancelled;
        x.failure = end.why;
        x.params.clear(); // stays as it is
        result.emplace_back(trial_saved{id, std::move(x)});
      }
  return result;
}

/// Takes a study out of memory.
void forget(coordinator_self self, study_id id) {
  auto& st = self->state;
  st.memory.remove_study(id);
  st.awaited.erase(id);
  note_let_go(self);
  auto entry = st.studies.extract(id);
  answer_early(st);
  if (!entry || std::exchange(entry.mapped().ended, true))
    return;
  const auto merger = st.mergers.find(entry.mapped().workload_key);
  if (merger == st.mergers.end())
    return;
  --merger->second.live_studies;
  merger->second.idle_since = self->clock().now();
}

/// Returns the answer to the submission of a study that ended before it began.
caf::error refusal_of(const study_end& x, const std::string& why) {
  const auto what = "study " + to_string(x.id) + " (" + x.name + ") has ";
  return x.state == study_phase::cancelled
           ? caf::make_error(errc::cancelled, what + "been cancelled")
           : caf::make_error(errc::invalid_study, what + "failed: " + why);
}

/// Stores that a study has ended, and tells whoever waits for it.
void store_end(coordinator_self self, stored_study stored, forced_end end,
               std::optional<caf::typed_response_promise<study_id>> submitter) {
  auto& st = self->state;
  const auto id = stored.id;
  study_end told{id, stored.name, end.how};
  bool is_kept = false; // as it is stored
  if (auto* known = st.options.known.get()) {
    if (auto row = known->load_study(id)) {
      stored = std::move(*row);
      told.name = stored.name;
      if (end.how == study_phase::cancelled && has_ended(stored.state)) {
        is_kept = true; // it has ended by itself, just before
        told.state = stored.state;
      }
    } else {
      is_kept = true; // to change what cannot be read fails as well
      st.unreadable[id] = end.why;
    }
  }
  std::vector<journal_record> records;
  if (!is_kept)
    records = records_of(st.options.known.get(), std::move(stored), end);
  const bool ends = !records.empty();
  self
    ->request(st.journal, caf::infinite, commit_atom::value,
              journal_entry{std::move(records), {}})
    .then(
      [=, end = std::move(end), submitter = std::move(submitter)](
        std::uint64_t) mutable {
        self->send(self->state.observer, notify_atom::value, told);
        if (submitter)
          submitter->deliver(refusal_of(told, end.why));
        if (end.who)
          end.who->deliver(ends);
      },
      [self](caf::error& err) { self->quit(std::move(err)); });
}

/// Ends a study of which no actor is left, or whose actor stores nothing more.
void end_study(coordinator_self self, stored_study stored, forced_end end) {
  auto& st = self->state;
  const auto id = stored.id;
  std::optional<caf::typed_response_promise<study_id>> submitter;
  if (const auto i = st.studies.find(id); i != st.studies.end())
    submitter = std::move(i->second.submitter);
  forget(self, id);
  // What its actor has given the journal comes first.
  self
    ->request(st.journal, caf::infinite, commit_atom::value, journal_entry{})
    .then(
      [=, stored = std::move(stored), end = std::move(end),
       submitter = std::move(submitter)](std::uint64_t) mutable {
        store_end(self, std::move(stored), std::move(end),
                  std::move(submitter));
      },
      [self](caf::error& err) { self->quit(std::move(err)); });
}

/// Submits a study again, as the store has it by now.
void submit_again(coordinator_self self, study_id id) {
  auto& st = self->state;
  const auto entry = st.studies.extract(id);
  auto submitter = std::move(entry.mapped().submitter);
  st.awaited.emplace(id, 0);
  st.memory.remove_study(id);
  auto stored = st.options.known->load_study(id);
  if (!stored) {
    spdlog::error("coordinator: study {} cannot be read: {}",
                  number_of(id),
                  stored.failure().message);
    if (submitter)
      submitter->deliver(to_caf_error(stored.failure()));
    return;
  }
  if (has_ended(stored->state)) {
    // Its actor has died before it could say so.
    self->send(st.observer, notify_atom::value,
               study_end{id, stored->name, stored->state});
    if (submitter)
      submitter->deliver(id);
    return;
  }
  self
    ->request(caf::actor_cast<coordinator_actor>(self), caf::infinite,
              submit_atom::value,
              study_submission{*entry.mapped().study, std::move(*stored)})
    .then(
      [submitter](study_id x) mutable {
        if (submitter)
          submitter->deliver(x);
      },
      [submitter](caf::error& why) mutable { // it has failed, and that was
        if (submitter)                       // logged
          submitter->deliver(std::move(why));
      });
}

void note_study_down(coordinator_self self, study_id id,
                     const caf::error& reason) {
  auto& x = self->state.studies.at(id);
  if (x.restarting) {
    submit_again(self, id);
    return;
  }
  if (x.ended)
    return;
  if (x.ending) {
    auto end = std::move(*x.ending);
    if (end.how == study_phase::failed)
      fail_study(self, row_of(id, x), end.why);
    else
      end_study(self, row_of(id, x), std::move(end));
    return;
  }
  if (is_of_journal(reason)) {
    self->quit(reason);
    return;
  }
  fail_study(self, row_of(id, x),
             (x.submitter ? "it could not be started: "
                          : "a fault of the service itself: ")
               + text_of(self, reason));
}

/// Notes that a merger has died of a fault of its own. @returns whether it has
/// before, not long ago
bool has_died_again(coordinator_self self, const std::string& key) {
  const auto now = self->clock().now();
  auto& all = self->state.last_deaths;
  const auto last = all.find(key);
  const bool result
    = last != all.end() && now - last->second < second_death_span;
  all[key] = now;
  return result;
}

void note_merger_down(coordinator_self self, const std::string& key,
                      const caf::error& reason) {
  auto& st = self->state;
  auto entry = std::move(st.mergers.extract(key).mapped());
  st.memory.remove_plan(key);
  note_let_go(self);
  if (entry.retiring) {
    for (const auto& f : entry.waiting)
      f();
    return;
  }
  if (is_of_journal(reason) || !st.options.known) {
    self->quit(reason);
    return;
  }
  // Memory may have been short for what another one has asked for. Who asks for
  // what cannot be carried out the next time fails, and nobody else.
  const auto known = fault_in(reason).value_or(fault{});
  const bool again = has_died_again(self, key);
  spdlog::critical("coordinator: the merger of {} has died of a fault of the "
                   "service itself: {}; {}",
                   key, text_of(self, reason),
                   !again              ? "its studies go on from what is stored"
                   : known.study == 0 ? "its studies have failed"
                                       : "study " + std::to_string(known.study)
                                           + " has failed, others go on");
  std::vector<study_id> ids;
  for (auto& [id, x] : st.studies)
    if (x.workload_key == key && !x.ended)
      ids.push_back(id);
  for (const auto id : ids) {
    auto& x = st.studies.at(id);
    self->send_exit(x.handle, caf::exit_reason::user_shutdown);
    // Once its actor is down, so that nothing of it is stored after that.
    if (again && known.is_of(id))
      x.ending = forced_end{
        study_phase::failed,
        (x.submitter ? "it could not be started: "
                     : "what it asked for could not be carried out: ")
          + known.what};
    else if (again && known.study == 0)
      x.ending = forced_end{study_phase::failed,
                            "the merger of its workload has died twice: "
                              + text_of(self, reason)};
    else
      x.restarting = true;
  }
}

} // namespace

void fail_study(coordinator_self self, stored_study stored,
                const std::string& why) {
  spdlog::error("coordinator: study {} ({}) has failed: {}",
                number_of(stored.id), stored.name, why);
  end_study(self, std::move(stored), {study_phase::failed, why});
}

void cancel_early(coordinator_self self, study_id id, const std::string& why,
                  caf::typed_response_promise<bool> promise) {
  auto& st = self->state;
  const auto i = st.studies.find(id);
  if (i == st.studies.end() ? !st.awaited.contains(id)
                            : i->second.no || i->second.ended
                                || i->second.ending || i->second.restarting) {
    promise.deliver(false);
    return;
  }
  spdlog::info("coordinator: study {} is cancelled before it has started",
               number_of(id));
  forced_end end{study_phase::cancelled, why, promise};
  if (i == st.studies.end()) {
    stored_study row; // the store has the rest
    row.id = id;
    end_study(self, std::move(row), std::move(end));
    return;
  }
  // Once its actor is down, so that nothing of it is stored after that.
  i->second.ending = std::move(end);
  self->send_exit(i->second.handle, caf::exit_reason::user_shutdown);
}

stored_study row_of(study_id id, const coordinator_state::study_entry& entry) {
  stored_study result;
  result.id = id;
  result.name = entry.name;
  return result;
}

void note_down(coordinator_self self, const caf::down_msg& msg) {
  auto& st = self->state;
  const auto is_source
    = [&](const auto& x) { return x.second.handle.address() == msg.source; };
  if (const auto i = std::ranges::find_if(st.mergers, is_source);
      i != st.mergers.end())
    note_merger_down(self, std::string{i->first}, msg.reason);
  else if (const auto j = std::ranges::find_if(st.studies, is_source);
           j != st.studies.end())
    note_study_down(self, j->first, msg.reason);
}

} // namespace hippo
