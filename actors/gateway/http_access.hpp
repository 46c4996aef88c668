#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <kj/compat/http.h>

#include "hippo/base/error.hpp"
#include "hippo/net/keys/token_folder.hpp"

namespace hippo {

/// What of a request says who asks, and where it comes from.
struct http_asker {
  std::string host;   ///< the Host header
  std::string origin; ///< of the page that asks; empty: none said
  std::string cookie;
  std::string authorization;
  std::string page; ///< the header that only our own page sends
  std::string content_type;
  bool changes = false; ///< it is to change something
};

/// Who may ask what: the rules of docs/security.md, without a network.
class http_access {
public:
  struct options {
    /// Whether only this machine can reach it: then a request must name it so.
    bool loopback_only = false;
    /// Where tokens are; empty: none is asked for, all may do all.
    std::string tokens{};
    bool is_secure = false;              ///< whether TLS is spoken
    std::function<std::int64_t()> now{}; ///< seconds since 1970
  };

  explicit http_access(options chosen) : options_(std::move(chosen)) {}

  /// Returns who asks, or why that is refused.
  struct verdict {
    std::optional<token_entry> who; ///< nothing: no token was asked for
    page_role role = page_role::viewer;
    unsigned status = 200; ///< else 401 or 403
    std::string why{};
  };
  [[nodiscard]] verdict judge(const http_asker& asker) const;

  /// Takes the link that a browser came with.
  /// @returns the cookie that it gets, or `errc::not_allowed`
  expected<std::string> welcome(const std::string& link) const;

  [[nodiscard]] bool asks_for_tokens() const {
    return !options_.tokens.empty();
  }

private:
  [[nodiscard]] std::int64_t now() const;

  options options_;
};

} // namespace hippo
