// The status and the record of a study, and its invariants.

#include <cassert>

#include "hippo/service/study/study_core.hpp"
#include "hippo/service/study/study_shown.hpp"

namespace hippo {

bool study_core::wants_capacity() const {
  return options_.stored.state == study_phase::running
         && tuner_->wants_capacity();
}

std::uint64_t study_core::memory_bytes() const {
  // The text with its code is there as it was read, too.
  return 2 * options_.stored.text.size() + trials_.memory_bytes()
         + tuner_->memory_bytes();
}

std::uint64_t study_core::shown_trials() const {
  return (has_ended() ? trials_.size() : tuner_->trials()) - trials_.withdrawn()
         - trials_.removed();
}

study_status study_core::status(moment now) const {
  auto result = status_of(options_.stored, options_.spec);
  auto& view = result.view;
  view.trials = shown_trials();
  view.finished = trials_.finished();
  view.asked_steps = trials_.asked_steps();
  view.active_seconds = clock_.active_seconds(now);
  view.deadline_seconds_left = clock_.deadline_left(now);
  if (const auto best = shown_best(books())) {
    auto& trial = view.best.emplace();
    trial.trial = best->trial;
    trial.best = best_measurement{best->value, best->step};
  }
  result.memory_bytes = memory_bytes();
  result.waiting_steps = trials_.waiting_steps();
  result.to_come = has_ended() ? expected_work{} : tuner_->to_come();
  return result;
}

study_record study_core::record() const {
  return record_of(books());
}

void study_core::check_invariants() const {
#ifndef NDEBUG
  assert(!has_ended()
         || trials_.finished() + trials_.withdrawn() + trials_.removed()
              == trials_.size());
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
