#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/query_service.hpp"

namespace hippo {

/// What HTTP answers are made of: docs/http.md.
using http_json = nlohmann::ordered_json;

http_json shown(const stored_trial& x);
http_json shown(const live_study_view& x);
http_json shown(const stored_event& x);
http_json shown(const trainer_view& x);
http_json shown(const service_view& x);

/// Shows stage trees, together at most `shown_stages_max` stages.
http_json shown(const std::vector<merger_overview>& trees);

/// Shows what trainers did in the last `shown_timeline_seconds`, by columns;
/// times are seconds before now, and below 0.
http_json shown_timeline(const std::vector<merger_overview>& mergers);

template <class T>
http_json shown(const std::vector<T>& xs) {
  auto result = http_json::array();
  for (const auto& x : xs)
    result.push_back(shown(x));
  return result;
}

} // namespace hippo
