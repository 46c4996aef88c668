#pragma once

#include <memory>

#include "hippo/net/http/http.hpp"

namespace hippo {

/// HTTP by libcurl, which keeps connections for what comes next. Certificates
/// are checked against those of the system, or of the file that the variable
/// AWS_CA_BUNDLE names. Follows no redirections.
class curl_http final : public http {
public:
  /// Throws `std::bad_alloc`.
  curl_http();
  ~curl_http() override;
  curl_http(const curl_http&) = delete;
  curl_http& operator=(const curl_http&) = delete;

  http_answer perform(const http_request& request) override;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace hippo
