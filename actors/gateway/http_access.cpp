#include "gateway/http_access.hpp"

#include <algorithm>
#include <chrono>

#include <arpa/inet.h>

namespace hippo {

namespace {

constexpr std::string_view cookie_name = "hippo-session=";
constexpr std::string_view bearer = "Bearer ";

/// Whether a Host names this machine: others would be a foreign page's, whose
/// name was made to lead here.
bool is_loopback_name(std::string_view host) {
  const auto port = host.rfind(':');
  if (port != std::string_view::npos && port >= host.rfind(']') + 1)
    host = host.substr(0, port);
  in_addr address{};
  const std::string name{host};
  return host == "localhost" || host == "[::1]"
         || (::inet_pton(AF_INET, name.c_str(), &address) == 1
             && name.starts_with("127."));
}

/// Returns the value of our cookie, empty if there is none.
std::string session_in(std::string_view cookies) {
  while (!cookies.empty()) {
    const auto end = std::min(cookies.find(';'), cookies.size());
    auto one = cookies.substr(0, end);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(cookie_name))
      return std::string{one.substr(cookie_name.size())};
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

/// Whether a page's origin is that of this service, as the request names it.
bool is_same_origin(std::string_view origin, const std::string& host) {
  const auto at = origin.find("://");
  return at != std::string_view::npos && origin.substr(at + 3) == host;
}

http_access::verdict refuse(unsigned status, std::string why) {
  return {std::nullopt, page_role::viewer, status, std::move(why)};
}

} // namespace

std::int64_t http_access::now() const {
  using namespace std::chrono;
  return options_.now
           ? options_.now()
           : duration_cast<seconds>(system_clock::now().time_since_epoch())
               .count();
}

http_access::verdict http_access::judge(const http_asker& asker) const {
  if (options_.loopback_only && !is_loopback_name(asker.host))
    return refuse(403, "not_allowed: this service is asked by the name of its "
                       "machine: localhost or 127.0.0.1");
  verdict result;
  result.role = page_role::operator_;
  const bool is_script = asker.authorization.starts_with(bearer);
  if (asks_for_tokens()) {
    const auto secret = is_script ? asker.authorization.substr(bearer.size())
                                  : session_in(asker.cookie);
    if (secret.empty())
      return refuse(401, "not_allowed: who looks here needs a token: open the "
                         "address that `hippo token new` prints");
    result.who = token_folder{options_.tokens}.find(secret, now());
    if (!result.who)
      return refuse(401, "not_allowed: this token has expired, was removed, or "
                         "is none: `hippo token new` makes another one");
    result.role = result.who->role;
  }
  if (!asker.changes)
    return result;
  if (result.role != page_role::operator_)
    return refuse(403, "not_allowed: a token of role viewer may only look; "
                       "`hippo token new --role operator` makes one that may "
                       "do this");
  // A browser says where a page comes from that has it send something, and
  // sends neither this header nor this type for a foreign page.
  if (!asker.origin.empty() && !is_same_origin(asker.origin, asker.host))
    return refuse(403, "not_allowed: the page of " + asker.origin
                         + " may not change anything here");
  if (!(asks_for_tokens() && is_script) && asker.page.empty())
    return refuse(403, "not_allowed: the header Hippo-Page is missing, which "
                       "says that no foreign page asks");
  if (!asker.content_type.starts_with("application/json"))
    return refuse(403, "not_allowed: what is sent must be application/json");
  return result;
}

expected<std::string> http_access::welcome(const std::string& link) const {
  auto session = token_folder{options_.tokens}.take(link, now());
  if (!session)
    return session.failure();
  return std::string{cookie_name} + session->secret
         + "; HttpOnly; SameSite=Strict; Path=/; Max-Age="
         + std::to_string(session->entry.expires - now())
         + (options_.is_secure ? "; Secure" : "");
}

} // namespace hippo
