#include "memory_space.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <malloc.h>

#include <spdlog/spdlog.h>

namespace hippo {

namespace {

/// How often it is looked what studies and plans take in memory.
constexpr auto memory_interval = std::chrono::seconds(1);

/// Why no new trials of a study may begin, if so.
std::optional<error> refusal_of(const coordinator_state& st, study_id id,
                                const coordinator_state::study_entry& x) {
  return x.study->spec().algorithm.name == "client"
           ? st.memory.refusal_of_trial(id)
           : st.memory.reason_to_rest(id, x.is_full);
}

/// Tells studies whether new trials of them may begin.
void tell_studies(coordinator_self self) {
  auto& st = self->state;
  for (auto& [id, x] : st.studies) {
    if (x.ended)
      continue;
    const auto why = refusal_of(st, id, x);
    const bool is_full = why.has_value();
    if (std::exchange(x.is_full, is_full) != is_full)
      spdlog::info("coordinator: study {} {}", number_of(id),
                   is_full ? "begins no new trials: " + why->message
                           : "begins new trials again");
    // The figures in it change all the time.
    if (is_full || !x.is_room_told)
      self->send(x.handle, memory_atom::value,
                 is_full ? why->message : std::string{});
    x.is_room_told = !is_full;
  }
}

} // namespace

void count_study(coordinator_state& st, study_id id,
                 const accepted_study& study) {
  if (st.memory.is_limited())
    st.memory.add_study(id, key_of(study.spec().workload), study.first_bytes());
}

void look_at_memory_later(coordinator_self self) {
  if (!std::exchange(self->state.is_looking, true))
    self->delayed_send(self, memory_interval, memory_atom::value);
}

void note_let_go(coordinator_self self) {
  self->state.has_let_go = true;
  look_at_memory_later(self);
}

void look_at_memory(coordinator_self self) {
  auto& st = self->state;
  st.is_looking = false;
  if (std::exchange(st.has_let_go, false))
    ::malloc_trim(0); // else the allocator keeps it
  if (!st.memory.is_limited())
    return;
  look_at_memory_later(self);
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
            self->state.memory.note_plan(key, y.memory_bytes, y.segments);
        },
        [](const caf::error&) {});
}

} // namespace hippo
