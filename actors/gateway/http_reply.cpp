#include "gateway/http_reply.hpp"

#include <utility>

#include "hippo/base/error.hpp"

namespace hippo {

namespace {

const char* text_of_status(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Payload Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

} // namespace

std::string text_of(const http_json& document) {
  return document.dump(2, ' ', false, http_json::error_handler_t::replace)
         + '\n';
}

reply json_reply(const http_json& document) {
  return {200, text_of(document)};
}

reply failure(unsigned status, const std::string& why) {
  return {status, text_of({{"error", why}})};
}

reply failure(const kj::Exception& why) {
  const std::string text = why.getDescription().cStr();
  const auto is = [&](errc x) {
    return text.starts_with(std::string{to_string(x)} + ':');
  };
  const unsigned status = is(errc::unknown_study)        ? 404
                          : is(errc::invalid_argument)   ? 400
                          : is(errc::invalid_study)      ? 400
                          : is(errc::resource_exhausted) ? 503
                                                         : 500;
  return failure(status, text);
}

kj::Promise<void> send(kj::HttpService::Response& response, reply content,
                       kj::HttpHeaders headers) {
  headers.set(kj::HttpHeaderId::CONTENT_TYPE, content.type);
  auto kept = kj::heap<reply>(std::move(content));
  auto stream = response.send(kept->status, text_of_status(kept->status),
                              headers, kept->body.size());
  if (kept->body.empty()) // 304 has no room for one
    return kj::READY_NOW;
  auto written = stream->write(kept->body.data(), kept->body.size());
  return written.attach(kj::mv(stream), kj::mv(kept));
}

kj::Promise<void> send(kj::HttpService::Response& response,
                       std::shared_ptr<const packed_body> packed_body,
                       const char* type, bool compress,
                       kj::HttpHeaders headers) {
  headers.set(kj::HttpHeaderId::CONTENT_TYPE, type);
  const bool is_zipped = compress && !packed_body->zipped.empty();
  if (is_zipped)
    headers.add("Content-Encoding", "gzip");
  const auto& body = is_zipped ? packed_body->zipped : packed_body->plain;
  auto stream = response.send(200, text_of_status(200), headers, body.size());
  auto written = stream->write(body.data(), body.size());
  return written.attach(kj::mv(stream), kj::heap(std::move(packed_body)));
}

} // namespace hippo
