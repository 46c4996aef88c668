#include "virtual_time.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace hippo {

void use_virtual_time(caf::actor_system_config& cfg) {
  cfg.set("scheduler.policy", caf::atom("testing"));
}

virtual_time::virtual_time(caf::actor_system& system,
                           std::shared_ptr<virtual_timeline> timeline)
  : scheduler_(
    &dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())),
    timeline_(std::move(timeline)),
    begin_(scheduler_->clock().now() - timeline_->now()) {}

void virtual_time::settle() {
  scheduler_->run();
}

bool virtual_time::run_until(const std::function<bool()>& done,
                             virtual_timeline::duration idle_max) {
  busy_until_ = now();
  for (settle(); !done(); settle())
    if (!step(idle_max))
      return false;
  return true;
}

virtual_timeline::duration virtual_time::now() const {
  return scheduler_->clock().now() - begin_;
}

/// Lets the next thing happen. @returns whether there was one
bool virtual_time::step(virtual_timeline::duration idle_max) {
  const auto& timeouts = scheduler_->clock().schedule();
  const auto event = timeline_->next_time();
  if (event)
    busy_until_ = now();
  if (!timeouts.empty()) {
    // What is overdue has been waiting for a message to be delivered.
    const auto timeout = std::max(timeouts.begin()->first - begin_, now());
    if (!event || timeout <= *event) {
      if (!event && timeout - busy_until_ > idle_max)
        return false;
      advance_to(timeout);
      return true;
    }
  }
  if (!event)
    return false;
  advance_to(*event);
  timeline_->run_next();
  return true;
}

/// Fires the actors' timeouts up to `when`.
void virtual_time::advance_to(virtual_timeline::duration when) {
  timeline_->advance_to(when);
  scheduler_->clock().advance_time(when - now());
}

} // namespace hippo
