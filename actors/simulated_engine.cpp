#include "simulated_engine.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace hippo {

simulated_engine::simulated_engine(
  std::shared_ptr<virtual_timeline> timeline,
  std::shared_ptr<const simulation_profiles> profiles,
  std::shared_ptr<simulated_store> store, std::uint64_t seed)
  : timeline_(std::move(timeline)), profiles_(std::move(profiles)),
    store_(std::move(store)), seed_(seed) {}

simulated_engine::~simulated_engine() {
  for (const auto& kvp : tasks_)
    timeline_->cancel(kvp.second.next);
}

void simulated_engine::start(const lease& lease, engine_sink sink) {
  if (lease.gang && lease.gang->rank > 0) {
    followers_.emplace(lease.number,
                       follower{lease.stages.front().begin, std::move(sink)});
    return;
  }
  const auto& profile = profiles_->at(lease.workload.name);
  const auto [i, is_new] = tasks_.try_emplace(
    lease.number, task{simulated_training{profile, *store_, seed_, lease},
                       std::move(sink),
                       profile.at_once_gain,
                       {},
                       timeline_->now(),
                       {},
                       timeline_->now()});
  assert(is_new);
  schedule(i->second);
  divide_time();
}

/// A follower ends when its trainer leaves, or is told that its lead has ended.
void simulated_engine::end_follower(lease_id lease, std::optional<error> why) {
  if (const auto found = followers_.extract(lease))
    found.mapped().sink(lease_end{lease, found.mapped().begin, std::move(why)});
}

void simulated_engine::add_stop(lease_id lease, const stop_point& stop) {
  if (stop.last)
    end_follower(lease, std::nullopt);
  change(lease, [&](simulated_training& x, simulated_training::duration now) {
    x.add_stop(stop, now);
  });
}

void simulated_engine::cancel(lease_id lease) {
  end_follower(lease, error{errc::cancelled, "its lead has ended"});
  change(lease, [](simulated_training& x, simulated_training::duration now) {
    x.cancel(now);
  });
}

step_t simulated_engine::reached(lease_id lease) const {
  const auto i = tasks_.find(lease);
  return i == tasks_.end()
           ? 0
           : i->second.training.reached(own_time(i->second));
}

template <class F>
void simulated_engine::change(lease_id lease, const F& change) {
  const auto i = tasks_.find(lease);
  if (i == tasks_.end())
    return;
  auto& x = i->second;
  change(x.training, own_time(x));
  timeline_->cancel(x.next);
  schedule(x);
}

virtual_timeline::duration simulated_engine::own_time(const task& work) const {
  const auto passed = timeline_->now() - work.as_of;
  if (slowdown_ == 1)
    return work.own + passed;
  const auto part = static_cast<double>(passed.count()) / slowdown_;
  return work.own
         + virtual_timeline::duration{
           static_cast<std::int64_t>(std::floor(part))};
}

/// Follows how many leases share the device.
void simulated_engine::divide_time() {
  const auto leases = static_cast<double>(tasks_.size());
  auto gain = leases;
  for (const auto& kvp : tasks_)
    gain = std::min(gain, kvp.second.gain);
  const auto slowdown = tasks_.empty() ? 1 : leases / gain;
  if (slowdown == slowdown_)
    return;
  for (auto& kvp : tasks_) {
    auto& x = kvp.second;
    x.own = own_time(x);
    x.as_of = timeline_->now();
    timeline_->cancel(x.next);
  }
  slowdown_ = slowdown;
  for (auto& kvp : tasks_)
    schedule(kvp.second);
}

void simulated_engine::schedule(task& work) {
  const auto lease = work.training.work().number;
  const auto left = work.training.next_time() - work.own;
  auto takes = left;
  if (slowdown_ != 1)
    takes = virtual_timeline::duration{static_cast<std::int64_t>(
      std::ceil(static_cast<double>(left.count()) * slowdown_))};
  work.next =
    timeline_->schedule_at(std::max(work.as_of + takes, timeline_->now()),
                           [this, lease] { tell_next(lease); });
}

/// Lets what is told take as long as it has taken beside others.
void simulated_engine::stretch(task& work, virtual_timeline::duration own,
                               simulated_event& what) {
  const auto passed =
    timeline_->now() - std::exchange(work.told_at, timeline_->now());
  const auto needed = own - std::exchange(work.told_own, own);
  auto* report = std::get_if<stop_report>(&what);
  if (report == nullptr || passed == needed || needed.count() <= 0)
    return;
  const auto factor = static_cast<double>(passed.count())
                      / static_cast<double>(needed.count());
  for (auto* ns : {&report->load_ns, &report->train_ns, &report->evaluate_ns,
                   &report->save_ns})
    *ns = static_cast<std::uint64_t>(static_cast<double>(*ns) * factor);
}

void simulated_engine::tell_next(lease_id lease) {
  const auto i = tasks_.find(lease);
  auto& x = i->second;
  const auto own = x.training.next_time();
  auto event = x.training.take();
  stretch(x, own, event);
  const auto sink = x.sink;
  if (x.training.ended())
    tasks_.erase(i); // the sink may start the next lease
  else
    schedule(x);
  divide_time();
  std::visit([&](const auto& told) { sink(told); }, event);
}

} // namespace hippo
