#include <utility>

#include "gateway/http.hpp"
#include "gateway/http_reply.hpp"

// What answers those who may not ask, and what is no request.

namespace hippo {

namespace {

class closed_http_answers final : public http_answers {
public:
  explicit closed_http_answers(const kj::HttpHeaderTable& headers)
    : headers_(headers) {}

  kj::Own<kj::HttpService> serve(client_connection& whose) override {
    return kj::heap<refusing>(headers_, whose);
  }

private:
  class refusing final : public kj::HttpService {
  public:
    refusing(const kj::HttpHeaderTable& headers, client_connection& whose)
      : headers_(headers), whose_(whose) {}

    kj::Promise<void> request(kj::HttpMethod, kj::StringPtr,
                              const kj::HttpHeaders&, kj::AsyncInputStream&,
                              Response& response) override {
      whose_.note_greeted();
      whose_.note_request_ended();
      return send(response,
                  failure(403, "not_allowed: a trainer's certificate lets "
                               "nobody ask about studies"),
                  kj::HttpHeaders{headers_});
    }

  private:
    const kj::HttpHeaderTable& headers_;
    client_connection& whose_;
  };

  const kj::HttpHeaderTable& headers_;
};

/// Answers what is no HTTP request.
class http_errors final : public kj::HttpServerErrorHandler {
public:
  explicit http_errors(const kj::HttpHeaderTable& headers)
    : headers_(headers) {}

  kj::Promise<void>
  handleClientProtocolError(kj::HttpHeaders::ProtocolError why,
                            kj::HttpService::Response& response) override {
    return send(response, failure(why.statusCode, why.description.cStr()),
                kj::HttpHeaders{headers_});
  }

private:
  const kj::HttpHeaderTable& headers_;
};

} // namespace

kj::Own<kj::HttpServerErrorHandler>
make_http_errors(const kj::HttpHeaderTable& headers) {
  return kj::heap<http_errors>(headers);
}

kj::Own<http_answers>
make_closed_http_answers(const kj::HttpHeaderTable& headers) {
  return kj::heap<closed_http_answers>(headers);
}

} // namespace hippo
