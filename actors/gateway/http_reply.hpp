#pragma once

#include <memory>
#include <string>

#include <kj/compat/http.h>

#include "gateway/http_body.hpp"
#include "gateway/http_json.hpp"

namespace hippo {

inline constexpr auto json_type = "application/json";

/// An answer to a request.
struct reply {
  unsigned status = 200;
  std::string body;
  const char* type = json_type;
  /// Instead of `body`, if there is one.
  std::shared_ptr<const packed_body> packed{};
};

/// JSON as people read it.
std::string text_of(const http_json& document);

reply json_reply(const http_json& document);

/// Makes a reply of an error: an object with `error`.
reply failure(unsigned status, const std::string& why);
/// The same of what a query_service fails with.
reply failure(const kj::Exception& why);

/// Sends an answer without tags and such. REQUIRES: it is not packed
kj::Promise<void> send(kj::HttpService::Response& response, reply content,
                       kj::HttpHeaders headers);

/// Sends what is packed, compressed if it may be.
kj::Promise<void> send(kj::HttpService::Response& response,
                       std::shared_ptr<const packed_body> packed_body,
                       const char* type, bool compress,
                       kj::HttpHeaders headers);

} // namespace hippo
