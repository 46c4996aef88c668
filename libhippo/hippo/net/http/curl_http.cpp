#include "hippo/net/http/curl_http.hpp"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "hippo/net/http/address_kind.hpp"

namespace hippo {

namespace {

/// Where systems keep the certificates that they trust: libcurl knows but the
/// place of the system that it was built on.
std::string trusted_certificates() {
  for (const char* name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const char* path = std::getenv(name); path != nullptr && *path != 0)
      return path;
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt",
                           "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored))
      return path;
  }
  return {};
}

/// What goes and comes while a request is carried.
struct exchange {
  const http_request& request;
  http_answer& answer;
  std::size_t sent = 0;
  bool is_too_long = false;
  bool is_refused = false; ///< an address, at least
};

/// Opens a socket, unless its address is none that the request may reach. It
/// is asked after the name was looked up: no name leads elsewhere meanwhile.
curl_socket_t open_socket(void* data, curlsocktype, curl_sockaddr* to) {
  auto& x = *static_cast<exchange*>(data);
  if (x.request.public_only && !is_public(to->addr)) {
    x.is_refused = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/// Ends a request that is over.
int watch(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& x = *static_cast<exchange*>(data);
  return x.request.is_over != nullptr && x.request.is_over->load() ? 1 : 0;
}

std::size_t send(char* to, std::size_t size, std::size_t n, void* data) {
  auto& x = *static_cast<exchange*>(data);
  const auto part = std::min(size * n, x.request.body.size() - x.sent);
  std::memcpy(to, x.request.body.data() + x.sent, part);
  x.sent += part;
  return part;
}

int rewind(void* data, curl_off_t offset, int origin) {
  auto& x = *static_cast<exchange*>(data);
  if (origin != SEEK_SET || offset < 0
      || static_cast<std::size_t>(offset) > x.request.body.size())
    return CURL_SEEKFUNC_FAIL;
  x.sent = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t receive(char* from, std::size_t size, std::size_t n, void* data) {
  auto& x = *static_cast<exchange*>(data);
  const auto part = size * n;
  if (x.answer.body.size() + part > x.request.answer_bytes_max) {
    x.is_too_long = true;
    return 0;
  }
  x.answer.body.append(from, part);
  return part;
}

std::size_t receive_header(char* from, std::size_t size, std::size_t n,
                           void* data) {
  auto& x = *static_cast<exchange*>(data);
  std::string_view line{from, size * n};
  if (line.starts_with("HTTP/"))
    x.answer.headers.clear(); // of another answer, such as 100
  const auto colon = line.find(':');
  if (colon == line.npos)
    return line.size();
  std::string name{line.substr(0, colon)};
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  });
  auto value = line.substr(colon + 1);
  const auto begin = value.find_first_not_of(" \t");
  const auto end = value.find_last_not_of(" \t\r\n");
  if (begin != value.npos)
    value = value.substr(begin, end - begin + 1);
  x.answer.headers[name] = begin == value.npos ? "" : std::string{value};
  return line.size();
}

} // namespace

struct curl_http::state {
  CURL* easy = nullptr;
  std::string certificates;
  std::array<char, CURL_ERROR_SIZE> why{};
};

curl_http::curl_http() : state_(std::make_unique<state>()) {
  static const auto is_ready = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  if (is_ready != CURLE_OK || !(state_->easy = ::curl_easy_init()))
    throw std::bad_alloc{};
  state_->certificates = trusted_certificates();
}

curl_http::~curl_http() {
  ::curl_easy_cleanup(state_->easy);
}

http_answer curl_http::perform(const http_request& request) {
  http_answer result;
  exchange now{request, result};
  auto* const easy = state_->easy;
  ::curl_easy_reset(easy); // its connections stay
  const auto set = [easy](CURLoption name, auto value) {
    ::curl_easy_setopt(easy, name, value);
  };
  curl_slist* headers = nullptr;
  const auto add = [&headers](const std::string& line) {
    if (auto* const longer = ::curl_slist_append(headers, line.c_str()))
      headers = longer;
  };
  for (const auto& line : request.headers)
    add(line);
  // No "Expect:" to keep libcurl from asking first before it sends much: its
  // 7.88 would sign that header and not send it.
  state_->why[0] = 0;
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_ERRORBUFFER, state_->why.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.connect_max.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.silence_max.count()));
  if (request.total_max)
    set(CURLOPT_TIMEOUT, static_cast<long>(request.total_max->count()));
  if (request.public_only) {
    set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    set(CURLOPT_OPENSOCKETDATA, &now);
    set(CURLOPT_FRESH_CONNECT, 1L); // no connection of another request
  }
  if (request.is_over != nullptr) {
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, watch);
    set(CURLOPT_XFERINFODATA, &now);
  }
  const auto& certificates =
    request.ca_file.empty() ? state_->certificates : request.ca_file;
  if (!certificates.empty())
    set(CURLOPT_CAINFO, certificates.c_str());
  if (!request.through_proxy)
    set(CURLOPT_NOPROXY, "*");
  if (request.method == "PUT") {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_READFUNCTION, send);
    set(CURLOPT_READDATA, &now);
    set(CURLOPT_SEEKFUNCTION, rewind);
    set(CURLOPT_SEEKDATA, &now);
    set(CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  } else if (request.method == "POST") {
    set(CURLOPT_POSTFIELDSIZE_LARGE,
        static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
  } else if (request.method != "GET") {
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  set(CURLOPT_BUFFERSIZE, 512L << 10);
  set(CURLOPT_WRITEFUNCTION, receive);
  set(CURLOPT_WRITEDATA, &now);
  set(CURLOPT_HEADERFUNCTION, receive_header);
  set(CURLOPT_HEADERDATA, &now);
  std::string scheme;
  if (request.sign) {
    scheme = "aws:amz:" + request.sign->region + ":s3";
    set(CURLOPT_AWS_SIGV4, scheme.c_str());
    set(CURLOPT_USERNAME, request.sign->id.c_str());
    set(CURLOPT_PASSWORD, request.sign->secret.c_str());
    if (!request.sign->session.empty())
      add("x-amz-security-token: " + request.sign->session);
  }
  set(CURLOPT_HTTPHEADER, headers);
  const auto code = ::curl_easy_perform(easy);
  if (code == CURLE_OK) {
    ::curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &result.status);
  } else {
    result.is_forbidden = now.is_refused;
    result.trouble = now.is_too_long ? "the answer is too long"
                     : now.is_refused
                       ? "its address is one of this machine or of a private "
                         "network"
                     : state_->why[0] != 0 ? std::string{state_->why.data()}
                                           : ::curl_easy_strerror(code);
  }
  ::curl_slist_free_all(headers);
  return result;
}

} // namespace hippo
