#pragma once

#include <string>

#include "gateway/archive.hpp"
#include "gateway/http.hpp"
#include "gateway/query_service.hpp"

namespace hippo {

/// Returns what `GET /metrics` answers: Prometheus text, version 0.0.4.
std::string metrics_text(const archive::totals& stored, const live_view& live,
                         const gateway_figures& figures);

} // namespace hippo
