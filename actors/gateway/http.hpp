#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <kj/compat/http.h>

#include "gateway/answer_budget.hpp"
#include "gateway/query_service.hpp"

namespace hippo {

/// Figures of the gateway itself.
struct gateway_figures {
  std::size_t clients = 0;          ///< of RPC, at this time
  std::size_t http_connections = 0; ///< at this time
  double uptime_seconds = 0;
};

/// Makes what answers HTTP requests: docs/http.md.
/// @param room for the answers, beside which there is none
/// REQUIRES: `answers`, `headers` and `room` outlive it.
kj::Own<kj::HttpService>
make_http_service(query_service& answers, const kj::HttpHeaderTable& headers,
                  answer_budget& room,
                  std::function<gateway_figures()> figures);

/// Makes what answers bytes that are no HTTP request.
kj::Own<kj::HttpServerErrorHandler>
make_http_errors(const kj::HttpHeaderTable& headers);

/// Makes what refuses all HTTP requests with 403: trainers may not ask.
kj::Own<kj::HttpService>
make_closed_http_service(const kj::HttpHeaderTable& headers);

} // namespace hippo
