#include "gateway/http_json.hpp"

#include <algorithm>
#include <cmath>

#include "gateway/limits.hpp"

namespace hippo {

namespace {

template <class Number>
http_json number_or_null(const std::optional<Number>& x) {
  return x ? http_json(*x) : http_json(nullptr);
}

} // namespace

http_json to_json(const service_view& view) {
  auto checkpoints = http_json::array();
  for (const auto& y : view.checkpoints)
    checkpoints.push_back({{"workload", y.workload_key}, {"bytes", y.bytes}});
  return {{"checkpoints", std::move(checkpoints)},
          {"checkpoint_bytes_max", number_or_null(view.checkpoint_bytes_max)},
          {"memory_bytes", view.memory_bytes},
          {"memory_bytes_max", number_or_null(view.memory_bytes_max)},
          {"merge_rate", number_or_null(view.merge_rate)},
          {"k_wise_merge_rate", number_or_null(view.k_wise_merge_rate)}};
}

/// Shows stage trees, together at most `shown_stages_max` stages.
http_json to_json(const std::vector<merger_overview>& trees) {
  http_json result = http_json::array();
  auto left = shown_stages_max;
  for (const auto& x : trees) {
    http_json stages = http_json::array();
    for (const auto& y : x.stages) {
      if (left == 0)
        break;
      --left;
      stages.push_back({{"id", y.id},
                        {"parent", y.parent},
                        {"begin", y.begin},
                        {"end", y.end},
                        {"config", y.config},
                        {"trials", y.trials}});
    }
    const auto& status = x.status;
    result.push_back({{"workload", x.workload_key},
                      {"asked_steps", status.figures.asked_steps},
                      {"delivered_steps", status.figures.delivered_steps},
                      {"unique_steps", status.figures.unique_delivered_steps},
                      {"shared_steps", status.figures.shared_steps},
                      {"trained_steps", status.trained_steps},
                      {"reused_steps", status.reused_steps},
                      {"saved_seconds", status.saved_seconds},
                      {"all_stages", x.stages.size()},
                      {"stages", std::move(stages)}});
  }
  return result;
}

timeline_view timeline_of(const std::vector<merger_overview>& mergers) {
  const auto rounded = [](double x) { return std::round(x * 1000) / 1000; };
  timeline_view result;
  for (const auto& x : mergers) {
    const auto& all = x.timeline;
    const auto first = std::find_if(all.begin(), all.end(), [&](const auto& y) {
      return y.end > x.age_seconds - shown_timeline_seconds;
    });
    for (auto i = first; i != all.end(); ++i) {
      result.trainer.push_back(i->trainer);
      result.begin.push_back(rounded(i->begin - x.age_seconds));
      result.end.push_back(rounded(i->end - x.age_seconds));
      result.from_step.push_back(i->from);
      result.to_step.push_back(i->to);
      result.train.push_back(rounded(i->train));
      result.node.push_back(i->stage);
      result.workload.push_back(x.workload_key);
    }
  }
  return result;
}

} // namespace hippo
