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
  for (const auto& kvp : tasks_)
    timeline_->cancel(kvp.second.next);
}

void simulated_engine::start(const lease& x, engine_sink sink) {
  const auto [i, is_new] = tasks_.try_emplace(
    x.number, task{simulated_training{profiles_->at(x.workload.name), *shelf_,
                                      seed_, x},
                   timeline_->now(), std::move(sink)});
  assert(is_new);
  schedule(i->second);
}

void simulated_engine::add_stop(std::uint64_t lease, const stop_point& stop) {
  const auto i = tasks_.find(lease);
  if (i == tasks_.end())
    return;
  auto& x = i->second;
  x.training.add_stop(stop, timeline_->now() - x.begun);
  timeline_->cancel(x.next);
  schedule(x);
}

void simulated_engine::cancel(std::uint64_t lease) {
  const auto i = tasks_.find(lease);
  if (i == tasks_.end())
    return;
  auto& x = i->second;
  x.training.cancel(timeline_->now() - x.begun);
  timeline_->cancel(x.next);
  schedule(x);
}

step_t simulated_engine::reached(std::uint64_t lease) const {
  const auto i = tasks_.find(lease);
  return i == tasks_.end()
           ? 0
           : i->second.training.reached(timeline_->now() - i->second.begun);
}

void simulated_engine::schedule(task& x) {
  const auto lease = x.training.work().number;
  x.next = timeline_->schedule_at(x.begun + x.training.next_time(),
                                  [this, lease] { tell_next(lease); });
}

void simulated_engine::tell_next(std::uint64_t lease) {
  const auto i = tasks_.find(lease);
  auto& x = i->second;
  const auto event = x.training.take();
  const auto sink = x.sink;
  if (x.training.ended())
    tasks_.erase(i); // the sink may start the next lease
  else
    schedule(x);
  sink(event);
}

} // namespace hippo
