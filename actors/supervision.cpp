#include "supervision.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "fault.hpp"
#include "submission.hpp"

namespace hippo {

namespace {

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

using forced_end = coordinator_effect::end_study;

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

/// Returns the answer to the submission of a study that ended before it began.
caf::error refusal_of(const study_end& x, const std::string& why) {
  const auto what = "study " + to_string(x.id) + " (" + x.name + ") has ";
  return x.state == study_phase::cancelled
           ? caf::make_error(errc::cancelled, what + "been cancelled")
           : caf::make_error(errc::invalid_study, what + "failed: " + why);
}

/// Stores that a study has ended, and tells whoever waits for it.
void store_end(coordinator_self self, const forced_end& end) {
  auto& st = self->state;
  stored_study stored;
  stored.id = end.id;
  stored.name = end.name;
  study_end told{end.id, end.name, end.how};
  bool is_kept = false; // as it is stored
  if (auto* known = st.options.known.get()) {
    if (auto row = known->load_study(end.id)) {
      stored = std::move(*row);
      told.name = stored.name;
      if (end.how == study_phase::cancelled && has_ended(stored.state)) {
        is_kept = true; // it has ended by itself, just before
        told.state = stored.state;
      }
    } else {
      is_kept = true; // to change what cannot be read fails as well
      tell(self, coordinator_event::row_unreadable{end.id, end.why});
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
      [=](std::uint64_t) {
        auto& waiting = self->state;
        self->send(waiting.observer, notify_atom::value, told);
        if (end.submitter)
          take_promise(waiting.submitters, *end.submitter)
            .deliver(refusal_of(told, end.why));
        if (end.canceller)
          take_promise(waiting.cancellers, *end.canceller).deliver(ends);
      },
      [self](caf::error& err) { self->quit(std::move(err)); });
}

} // namespace

void after_journal(coordinator_self self, std::function<void()> function) {
  self
    ->request(self->state.journal, caf::infinite, commit_atom::value,
              journal_entry{})
    .then([function = std::move(function)](std::uint64_t) { function(); },
          [self](caf::error& err) { self->quit(std::move(err)); });
}

void carry_out(coordinator_self self, coordinator_effect::end_study& what) {
  // The records of its actor come first.
  after_journal(self, [self, what] { store_end(self, what); });
}

void carry_out(coordinator_self self, coordinator_effect::submit_again& what) {
  auto& st = self->state;
  const auto id = what.id;
  const auto entry = st.studies.extract(id);
  submission_promise submitter;
  if (what.submitter)
    submitter = take_promise(st.submitters, *what.submitter);
  const bool waits = what.submitter.has_value();
  auto stored = st.options.known->load_study(id);
  if (!stored) {
    spdlog::error("coordinator: study {} cannot be read: {}",
                  number_of(id),
                  stored.failure().message);
    tell(self,
         coordinator_event::not_resubmitted{id, stored.failure().message});
    if (waits)
      submitter.deliver(to_caf_error(stored.failure()));
    return;
  }
  if (has_ended(stored->state)) {
    // Its actor has died before it could say so.
    self->send(st.observer, notify_atom::value,
               study_end{id, stored->name, stored->state});
    tell(self, coordinator_event::not_resubmitted{id, {}});
    if (waits)
      submitter.deliver(id);
    return;
  }
  self
    ->request(caf::actor_cast<coordinator_actor>(self), caf::infinite,
              submit_atom::value,
              study_submission{*entry.mapped().study, std::move(*stored)})
    .then(
      [submitter, waits](study_id x) mutable {
        if (waits)
          submitter.deliver(x);
      },
      [submitter, waits](caf::error& why) mutable { // it has failed, and that
        if (waits)                                  // was logged
          submitter.deliver(std::move(why));
      });
}

void carry_out(coordinator_self, coordinator_effect::tell_death& what) {
  spdlog::critical("coordinator: the merger of {} has died of a fault of the "
                   "service itself: {}; {}",
                   what.key, what.why,
                   !what.is_again    ? "its studies go on from what is stored"
                   : what.study == 0 ? "its studies have failed"
                                     : "study " + std::to_string(what.study)
                                         + " has failed, others go on");
}

void note_down(coordinator_self self, const caf::down_msg& msg) {
  auto& st = self->state;
  const auto& reason = msg.reason;
  if (const auto i = std::ranges::find_if(
        st.mergers,
        [&](const auto& x) { return x.second.address() == msg.source; });
      i != st.mergers.end()) {
    const auto key = i->first;
    st.mergers.erase(i);
    const auto known = fault_in(reason).value_or(fault{});
    tell(self,
         coordinator_event::merger_down{key, is_of_journal(reason),
                                        text_of(self, reason), known.study,
                                        known.what},
         reason);
  } else if (const auto j = std::ranges::find_if(
               st.studies,
               [&](const auto& x) {
                 return x.second.handle.address() == msg.source;
               });
             j != st.studies.end()) {
    tell(self,
         coordinator_event::study_down{j->first, is_of_journal(reason),
                                       text_of(self, reason)},
         reason);
  }
}

} // namespace hippo
