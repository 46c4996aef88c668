#include "gateway/trainer_views.hpp"

namespace hippo {

void trainer_view::add(const merger_status::running_lease& x) {
  const auto speed = lease ? lease->steps_per_second : 0;
  if (!lease || x.at < lease->at)
    lease = x;
  lease->steps_per_second = speed + x.steps_per_second;
  ++lanes;
}

std::vector<trainer_view> trainer_views(const live_view& now,
                                        const std::set<std::string>& varied) {
  std::vector<trainer_view> result;
  for (const auto& x : now.pool.trainers)
    result.emplace_back().trainer = x;
  for (const auto& merger : now.mergers)
    for (const auto& lease : merger.running)
      for (auto& x : result)
        if (x.trainer.number == number_of(lease.trainer))
          x.add(lease);
  for (auto& x : result) {
    if (!x.lease)
      continue;
    auto config = x.lease->config;
    std::erase_if(config,
                  [&](const auto& y) { return !varied.contains(y.first); });
    x.what = shown_text(config);
    for (const auto id : x.lease->studies)
      if (const auto study = now.studies.find(id); study != now.studies.end())
        x.studies.push_back(study->second.name);
  }
  return result;
}

} // namespace hippo
