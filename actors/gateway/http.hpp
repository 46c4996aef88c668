#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <kj/compat/http.h>

#include "gateway/client_connection.hpp"
#include "gateway/http_access.hpp"
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
  http_access::options access{}; ///< who may ask
};

/// Answers HTTP requests: docs/http.md.
class http_answers {
public:
  virtual ~http_answers() noexcept(false) = default;

  /// Makes what answers those of a connection.
  /// REQUIRES: `*this` and `whose` outlive it.
  virtual kj::Own<kj::HttpService> serve(client_connection& whose) = 0;
};

/// REQUIRES: `answers` and `headers` outlive it.
kj::Own<http_answers>
make_http_answers(query_service& answers, const http_headers& headers,
                  http_service_options options);

/// Makes what answers bytes that are no HTTP request.
kj::Own<kj::HttpServerErrorHandler>
make_http_errors(const kj::HttpHeaderTable& headers);

/// Makes what refuses all HTTP requests with 403: trainers may not ask.
kj::Own<http_answers>
make_closed_http_answers(const kj::HttpHeaderTable& headers);

} // namespace hippo
