#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hippo {

/// A request of HTTP.
struct http_request {
  std::string method = "GET";
  std::string url; ///< encoded; what is asked for (`?a=&b=`) in order
  std::vector<std::string> headers; ///< `name: value`
  std::string_view body{};          ///< outlives the request
  /// Signs it by AWS Signature Version 4 for service `s3`; nothing: not.
  struct signature {
    std::string region;
    std::string id; ///< of the access key
    std::string secret;
    std::string session; ///< token of temporary credentials; else empty
  };
  std::optional<signature> sign{};
  std::uint64_t answer_bytes_max = 1 << 20; ///< a longer answer is a failure
  /// How long nothing may come or go.
  std::chrono::seconds silence_max{30};
  std::chrono::seconds connect_max{10};
  std::optional<std::chrono::seconds> total_max{}; ///< for all of it
  bool through_proxy = true; ///< if the environment names one
  /// The file of certificates that are trusted; empty: those of the system.
  std::string ca_file{};
  /// Whether addresses that only this machine or its network has are refused:
  /// loopback, private and link-local ones. REQUIRES: not through a proxy
  bool public_only = false;
  const std::atomic<bool>* is_over = nullptr; ///< once true: it is given up
};

/// The answer to a request.
struct http_answer {
  long status = 0;           ///< 0: there is no answer
  std::string trouble;       ///< why there is none
  std::map<std::string, std::string> headers; ///< by name in lower case
  std::string body;
  /// Whether there is none because its address may not be reached.
  bool is_forbidden = false;
};

/// Carries requests. Calls block. Not thread-safe.
class http {
public:
  virtual ~http() = default;
  virtual http_answer perform(const http_request& request) = 0;
};

} // namespace hippo
