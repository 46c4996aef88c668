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

/// Trials that are read at a time.
constexpr std::size_t trials_per_read = 10'000;

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

/// The records by which the trials of a failed study end.
std::vector<journal_record> ends_of_trials(state_reader* known,
                                           study_id study,
                                           const std::string& why) {
  std::vector<journal_record> result;
  if (known == nullptr)
    return result;
  for (std::uint64_t first = 0;;) {
    auto trials = known->load_trials(study, first, trials_per_read);
    if (!trials || trials->empty())
      return result; // what cannot be read stays as it is
    first = trials->back().trial + 1;
    for (auto& x : *trials)
      if (!has_ended(x.state)) {
        x.state = trial_state::cancelled;
        x.failure = why;
        x.params.clear(); // stays as it is
        result.emplace_back(trial_saved{study, std::move(x)});
      }
  }
}

/// Takes a study out of memory.
void forget(coordinator_self self, study_id id) {
  auto& st = self->state;
  st.memory.remove_study(id);
  note_let_go(self);
  auto entry = st.studies.extract(id);
  if (!entry || std::exchange(entry.mapped().ended, true))
    return;
  const auto merger = st.mergers.find(entry.mapped().workload_key);
  if (merger == st.mergers.end())
    return;
  --merger->second.live_studies;
  merger->second.idle_since = self->clock().now();
}

/// Submits a study again, as the store has it by now.
void submit_again(coordinator_self self, study_id id) {
  auto& st = self->state;
  const auto entry = st.studies.extract(id);
  auto submitter = std::move(entry.mapped().submitter);
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
  if (!x.failing.empty()) {
    const auto why = x.failing;
    fail_study(self, row_of(id, x), why);
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
      x.failing = (x.submitter
                     ? "it could not be started: "
                     : "what it asked for could not be carried out: ")
                  + known.what;
    else if (again && known.study == 0)
      x.failing = "the merger of its workload has died twice: "
                  + text_of(self, reason);
    else
      x.restarting = true;
  }
}

/// Stores that a study has failed, and tells whoever waits for it.
void store_failure(
  coordinator_self self, stored_study stored, const std::string& why,
  std::optional<caf::typed_response_promise<study_id>> submitter) {
  auto& st = self->state;
  const auto id = stored.id;
  if (auto* known = st.options.known.get())
    if (auto row = known->load_study(id))
      stored = std::move(*row);
  stored.state = study_phase::failed;
  stored.reason = why;
  stored.text.clear(); // has not changed
  const study_end end{id, stored.name, study_phase::failed};
  auto records = ends_of_trials(st.options.known.get(), id, why);
  records.emplace_back(study_saved{std::move(stored)});
  self
    ->request(st.journal, caf::infinite, commit_atom::value,
              journal_entry{std::move(records), {}})
    .then(
      [self, end, submitter = std::move(submitter),
       why](std::uint64_t) mutable {
        self->send(self->state.observer, notify_atom::value, end);
        if (submitter)
          submitter->deliver(caf::make_error(
            errc::invalid_study,
            "study " + to_string(end.id) + " (" + end.name + ") has failed: "
              + why));
      },
      [self](caf::error& err) { self->quit(std::move(err)); });
}

} // namespace

void fail_study(coordinator_self self, stored_study stored,
                const std::string& why) {
  auto& st = self->state;
  const auto id = stored.id;
  spdlog::error("coordinator: study {} ({}) has failed: {}", number_of(id),
                stored.name, why);
  std::optional<caf::typed_response_promise<study_id>> submitter;
  if (const auto i = st.studies.find(id); i != st.studies.end())
    submitter = std::move(i->second.submitter);
  forget(self, id);
  // What its actor has given the journal comes first.
  self
    ->request(st.journal, caf::infinite, commit_atom::value, journal_entry{})
    .then(
      [self, stored = std::move(stored), why,
       submitter = std::move(submitter)](std::uint64_t) mutable {
        store_failure(self, std::move(stored), why, std::move(submitter));
      },
      [self](caf::error& err) { self->quit(std::move(err)); });
}

stored_study row_of(study_id id, const coordinator_state::study_entry& x) {
  stored_study result;
  result.id = id;
  result.name = x.name;
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
