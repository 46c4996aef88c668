#include "hippo/forecast/simulate/virtual_timeline.hpp"

#include <cassert>

namespace hippo {

virtual_timeline::entry virtual_timeline::schedule_at(duration when,
                                                      action what) {
  assert(when >= now_);
  const entry result{when, scheduled_++};
  entries_.emplace(result, std::move(what));
  return result;
}

std::optional<virtual_timeline::duration>
virtual_timeline::next_time() const noexcept {
  if (entries_.empty())
    return {};
  return entries_.begin()->first.first;
}

void virtual_timeline::advance_to(duration when) {
  assert(when >= now_ && (entries_.empty() || *next_time() >= when));
  now_ = when;
}

void virtual_timeline::run_next() {
  assert(!entries_.empty());
  auto next = entries_.extract(entries_.begin());
  now_ = next.key().first;
  next.mapped()();
}

} // namespace hippo
