#include "hippo/train/recent_states.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

recent_states::recent_states(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

void recent_states::keep(const checkpoint& checkpoint,
                         std::shared_ptr<const workload_state> state) {
  const auto size = state->size();
  if (size == 0 || size > bytes_max_)
    return;
  const std::lock_guard guard{mutex_};
  const auto same = std::ranges::find(entries_, checkpoint, &entry::name);
  if (same != entries_.end())
    drop(same);
  if (!make_room(size))
    return;
  entries_.push_front({checkpoint, std::move(state)});
  bytes_ += size;
}

std::shared_ptr<const workload_state>
recent_states::find(const checkpoint& checkpoint) {
  const std::lock_guard guard{mutex_};
  const auto i = std::ranges::find(entries_, checkpoint, &entry::name);
  if (i == entries_.end())
    return nullptr;
  entries_.splice(entries_.begin(), entries_, i);
  return i->state;
}

void recent_states::clear() {
  const std::lock_guard guard{mutex_};
  entries_.clear();
  bytes_ = 0;
}

bool recent_states::hold(std::uint64_t bytes) {
  const std::lock_guard guard{mutex_};
  if (!make_room(bytes))
    return false;
  held_ += bytes;
  return true;
}

void recent_states::release(std::uint64_t bytes) {
  const std::lock_guard guard{mutex_};
  assert(held_ >= bytes);
  held_ -= bytes;
}

/// Lets go of what is in the way of `bytes` more.
/// REQUIRES: the mutex is held.
bool recent_states::make_room(std::uint64_t bytes) {
  if (bytes > bytes_max_ - held_)
    return false;
  while (bytes_ > bytes_max_ - held_ - bytes)
    drop(std::prev(entries_.end()));
  return true;
}

void recent_states::drop(std::list<entry>::iterator position) {
  bytes_ -= position->state->size();
  entries_.erase(position);
}

} // namespace hippo
