#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/query_service.hpp"
#include "hippo/model/view/view_json.hpp"

namespace hippo {

/// What HTTP answers are made of: docs/http.md.
using http_json = nlohmann::ordered_json;

http_json to_json(const service_view& view);
inline http_json to_json(const described_study& study) {
  return to_json(study.view);
}

/// Shows stage trees, together at most `shown_stages_max` stages.
http_json to_json(const std::vector<merger_overview>& trees);

/// Says what trainers did in the last `shown_timeline_seconds`.
timeline_view timeline_of(const std::vector<merger_overview>& mergers);

template <class T>
http_json to_json(const std::vector<T>& xs) {
  auto result = http_json::array();
  for (const auto& x : xs)
    result.push_back(to_json(x));
  return result;
}

} // namespace hippo
