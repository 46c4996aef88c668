#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <kj/compat/http.h>

#include "gateway/answer_budget.hpp"
#include "gateway/http_door.hpp"
#include "gateway/query_service.hpp"

namespace hippo {

/// Figures of the gateway itself.
struct gateway_figures {
  std::size_t clients = 0;          ///< of RPC, at this time
  std::size_t http_connections = 0; ///< at this time
  double uptime_seconds = 0;
};

/// The headers of requests that are looked at.
struct http_headers {
  http_headers();

  kj::Own<kj::HttpHeaderTable> table;
  kj::HttpHeaderId accept_encoding;
  kj::HttpHeaderId if_none_match;
  kj::HttpHeaderId last_event;
  kj::HttpHeaderId news; ///< what a page has heard of: docs/http.md
  kj::HttpHeaderId origin;
  kj::HttpHeaderId cookie;
  kj::HttpHeaderId authorization;
  kj::HttpHeaderId page; ///< what only our own page sends: docs/security.md
};

struct http_service_options {
  std::function<gateway_figures()> figures;
  http_door::options door{}; ///< who may ask
};

/// Makes what answers HTTP requests: docs/http.md.
/// @param room for the answers, beside which there is none
/// REQUIRES: `answers`, `headers` and `room` outlive it.
kj::Own<kj::HttpService>
make_http_service(query_service& answers, const http_headers& headers,
                  answer_budget& room, http_service_options options);

/// Makes what answers bytes that are no HTTP request.
kj::Own<kj::HttpServerErrorHandler>
make_http_errors(const kj::HttpHeaderTable& headers);

/// Makes what refuses all HTTP requests with 403: trainers may not ask.
kj::Own<kj::HttpService>
make_closed_http_service(const kj::HttpHeaderTable& headers);

} // namespace hippo
