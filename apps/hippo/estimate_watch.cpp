#include "estimate_watch.hpp"

#include <algorithm>
#include <map>
#include <ostream>

#include "gateway/study_forecast.hpp"
#include "hippo/base/number.hpp"
#include "hippo/report/csv_row.hpp"

namespace hippo {

void estimate_watch::look(service& actors, double now) {
  if (!moments_.empty() && now < moments_.back() + apart_)
    return;
  if (moments_.size() == moments_max) {
    // Every other one is enough from here on.
    std::vector<double> kept;
    for (std::size_t i = 0; i < moments_.size(); i += 2)
      kept.push_back(moments_[i]);
    moments_ = std::move(kept);
    std::erase_if(told_, [&](const study_estimate& x) {
      return x.left > 0
             && !std::binary_search(moments_.begin(), moments_.end(),
                                    x.seconds);
    });
    apart_ *= 2;
    return;
  }
  moments_.push_back(now);
  const auto known = actors.status();
  std::map<std::string, merger_status> plans;
  for (const auto& x : known.mergers)
    if (auto plan = actors.ask<merger_status>(x.handle, status_atom::value))
      plans.emplace(x.workload_key, std::move(*plan));
  const auto pool = actors.ask<pool_status>(actors.pool(), status_atom::value);
  if (!pool)
    return;
  std::map<std::string, const merger_status*> by_key;
  for (const auto& [key, plan] : plans)
    by_key.emplace(key, &plan);
  std::map<study_id, study_status> studies;
  for (const auto& x : known.studies) {
    if (x.ended && ended_.insert(x.name).second)
      told_.push_back({now, x.name, 0});
    if (x.ended)
      continue;
    if (auto study = actors.ask<study_status>(x.handle, status_atom::value))
      studies.emplace(x.id, std::move(*study));
  }
  for (const auto& [id, x] : forecasts_of(studies, by_key, pool->trainers))
    if (const auto left = x.seconds(x.at_hand()))
      told_.push_back({now, studies.at(id).view.name, *left});
}

expected<std::monostate> write_estimates(const std::vector<study_estimate>& xs,
                                         const std::string& file) {
  return write_csv(file, [&xs](std::ostream& out) {
    out << csv_row({"seconds", "study", "left"});
    for (const auto& x : xs)
      out << csv_row({to_text(x.seconds), x.study, to_text(x.left)});
  });
}

} // namespace hippo
