#include "memory_space.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/tune/tuner.hpp"

namespace hippo {

namespace {

/// What a trial takes that is yet to be trained, about.
constexpr std::uint64_t open_trial_bytes = 2048;

/// Tells studies whether they may ask for new trials.
void tell_studies(coordinator_self self) {
  auto& st = self->state;
  for (auto& [id, x] : st.studies) {
    if (x.ended)
      continue;
    const auto why = st.memory.refusal_of_trial(id);
    const bool is_full = why.has_value();
    if (std::exchange(x.is_full, is_full) != is_full)
      spdlog::info("coordinator: study {} {}", number_of(id),
                   is_full ? why->message : "may ask for new trials again");
    // The figures in it change all the time.
    if (is_full || !x.is_room_told)
      self->send(x.handle, memory_atom::value,
                 is_full ? why->message : std::string{});
    x.is_room_told = !is_full;
  }
}

} // namespace

void count_study(coordinator_state& st, study_id id,
                 const accepted_study& x) {
  if (!st.memory.is_limited())
    return;
  // A client asks for them one by one.
  const auto trials = x.spec().algorithm.name == "client"
                        ? 0
                        : std::min(x.spec().budget.trials.value_or(0),
                                   std::uint64_t{tuner::trials_ahead});
  st.memory.add_study(id, key_of(x.spec().workload),
                      2 * x.text().size() + trials * open_trial_bytes);
}

void look_at_memory(coordinator_self self) {
  auto& st = self->state;
  tell_studies(self);
  for (const auto& [id, x] : st.studies)
    if (!x.ended)
      self->request(x.handle, caf::infinite, status_atom::value)
        .then(
          [self, id = id](const study_status& y) {
            self->state.memory.note_study(id, y.memory_bytes);
          },
          [](const caf::error&) {}); // it is down: the down handler knows
  for (const auto& [key, x] : st.mergers)
    self->request(x.handle, caf::infinite, status_atom::value)
      .then(
        [self, key = key](const merger_status& y) {
          if (self->state.mergers.count(key) > 0)
            self->state.memory.note_plan(key, y.memory_bytes);
        },
        [](const caf::error&) {});
}

} // namespace hippo
