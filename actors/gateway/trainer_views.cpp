#include "gateway/trainer_views.hpp"

#include <map>

namespace hippo {

namespace {

trainer_view view_of(const trainer_record& x) {
  trainer_view result;
  result.trainer = x.number;
  result.name = x.name;
  result.device = x.device;
  result.lost = x.left ? "has left" : x.lost;
  result.memory_bytes = x.memory_bytes;
  result.driver = x.driver;
  result.compute_capability = x.compute_capability;
  result.sick = x.sick;
  result.machine = x.machine;
  result.unpriced = x.unpriced;
  result.price = x.price;
  result.work_cost = cost_of(x.price, x.work_seconds);
  result.idle_cost = cost_of(x.price, x.idle_seconds);
  result.notice_seconds = x.notice_seconds;
  result.seconds_left = x.seconds_left;
  result.failures = x.failures;
  result.failure = x.failed;
  result.held_up = x.held_up;
  return result;
}

/// The lanes of a trainer at work: the one behind the others, and all of them.
struct lanes_at_work {
  const merger_status::running_lease* behind = nullptr;
  std::uint32_t lanes = 0;
  double steps_per_second = 0;
};

lease_view view_of(const lanes_at_work& x, const live_view& now,
                   const std::set<std::string>& varied) {
  lease_view result;
  auto config = x.behind->config;
  std::erase_if(config,
                [&](const auto& y) { return !varied.contains(y.first); });
  result.values = shown_text(config);
  result.step = x.behind->at;
  result.to_step = x.behind->to;
  result.steps_per_second = x.steps_per_second;
  result.lanes = x.lanes;
  result.members = x.behind->members;
  for (const auto id : x.behind->studies) {
    result.study_ids.push_back(number_of(id));
    if (const auto study = now.studies.find(id); study != now.studies.end())
      result.studies.push_back(study->second.view.name);
  }
  return result;
}

} // namespace

std::vector<trainer_view> trainer_views(const live_view& now,
                                        const std::set<std::string>& varied) {
  std::map<std::uint64_t, lanes_at_work> at_work; // by number
  for (const auto& merger : now.mergers)
    for (const auto& lease : merger.running) {
      auto& x = at_work[number_of(lease.trainer)];
      if (x.behind == nullptr || lease.at < x.behind->at)
        x.behind = &lease;
      x.steps_per_second += lease.steps_per_second;
      ++x.lanes;
    }
  std::vector<trainer_view> result;
  for (const auto& x : now.pool.trainers) {
    auto& view = result.emplace_back(view_of(x));
    if (const auto found = at_work.find(x.number); found != at_work.end())
      view.lease = view_of(found->second, now, varied);
  }
  return result;
}

} // namespace hippo
