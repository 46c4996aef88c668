#include "watched_engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hippo {

watched_engine::watched_engine(std::shared_ptr<engine> watched,
                               std::shared_ptr<virtual_timeline> timeline,
                               std::vector<simulated_measurement>* out)
  : watched_(std::move(watched)), timeline_(std::move(timeline)), out_(out) {}

void watched_engine::start(const lease& lease, engine_sink sink) {
  kept_at_[lease.number] = now();
  watched_->start(lease, [this, workload = lease.workload.name,
                          sink = std::move(sink)](const engine_event& told) {
    if (const auto* stop = std::get_if<stop_report>(&told)) {
      if (stop->saved)
        kept_at_[stop->lease] = now();
      if (out_ != nullptr && !stop->values.empty())
        out_->push_back({now(), workload, stop->at, stop->values});
    } else if (const auto* end = std::get_if<lease_end>(&told)) {
      kept_at_.erase(end->lease);
    }
    sink(told);
  });
}

void watched_engine::add_stop(lease_id lease, const stop_point& stop) {
  watched_->add_stop(lease, stop);
}

void watched_engine::cancel(lease_id lease) { watched_->cancel(lease); }

step_t watched_engine::reached(lease_id lease) const {
  return watched_->reached(lease);
}

double watched_engine::unkept_seconds() const {
  double result = 0;
  for (const auto& kvp : kept_at_)
    result = std::max(result, now() - kvp.second);
  return result;
}

double watched_engine::now() const {
  return std::chrono::duration<double>(timeline_->now()).count();
}

} // namespace hippo
