#include "simulated_engine.hpp"

#include <cassert>
#include <utility>

namespace hippo {

simulated_engine::simulated_engine(
  std::shared_ptr<virtual_timeline> timeline,
  std::shared_ptr<const simulation_profiles> profiles,
  std::shared_ptr<checkpoint_shelf> shelf, std::uint64_t seed)
  : timeline_(std::move(timeline)), profiles_(std::move(profiles)),
    shelf_(std::move(shelf)), seed_(seed) {}

simulated_engine::~simulated_engine() {
  if (task_)
    timeline_->cancel(task_->next);
}

void simulated_engine::start(const lease& x, engine_sink sink) {
  assert(!task_);
  task_.emplace(task{simulated_training{profiles_->at(x.workload.name),
                                        *shelf_, seed_, x},
                     timeline_->now(), std::move(sink)});
  schedule();
}

void simulated_engine::add_stop(std::uint64_t lease, const stop_point& stop) {
  if (!runs(lease))
    return;
  task_->training.add_stop(stop, timeline_->now() - task_->begun);
  timeline_->cancel(task_->next);
  schedule();
}

void simulated_engine::cancel(std::uint64_t lease) {
  if (!runs(lease))
    return;
  task_->training.cancel(timeline_->now() - task_->begun);
  timeline_->cancel(task_->next);
  schedule();
}

step_t simulated_engine::reached() const {
  return task_ ? task_->training.reached(timeline_->now() - task_->begun) : 0;
}

bool simulated_engine::runs(std::uint64_t lease) const {
  return task_ && task_->training.work().number == lease;
}

void simulated_engine::schedule() {
  task_->next = timeline_->schedule_at(
    task_->begun + task_->training.next_time(), [this] { tell_next(); });
}

void simulated_engine::tell_next() {
  const auto event = task_->training.take();
  if (!task_->training.ended()) {
    schedule();
    task_->sink(event);
    return;
  }
  // The sink may start the next lease.
  const auto sink = std::move(task_->sink);
  task_.reset();
  sink(event);
}

} // namespace hippo
