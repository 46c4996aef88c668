#include "hippo/base/endpoint.hpp"

#include <charconv>
#include <string_view>

namespace hippo {

namespace {

constexpr std::size_t host_bytes_max = 253; ///< of a name in the DNS

constexpr std::string_view host_characters
  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view ipv6_characters = "0123456789abcdefABCDEF:.%";

bool has_only(std::string_view text, std::string_view characters) {
  return !text.empty()
         && text.find_first_not_of(characters) == std::string_view::npos;
}

} // namespace

expected<endpoint> parse_endpoint(const std::string& text,
                                  std::uint16_t least) {
  const auto refuse = [&](const std::string& why) {
    return error{errc::invalid_argument, '\'' + text + "' is not HOST:PORT: "
                                           + why};
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos)
    return refuse("there is no port");
  endpoint result;
  const auto* end = text.data() + text.size();
  const auto [last, failed]
    = std::from_chars(text.data() + colon + 1, end, result.port);
  if (failed != std::errc{} || last != end || result.port < least)
    return refuse("the port must be a number from " + std::to_string(least)
                  + " to 65535");
  result.host = text.substr(0, colon);
  const bool bracketed
    = result.host.starts_with('[') && result.host.ends_with(']');
  if (bracketed) {
    result.host = result.host.substr(1, result.host.size() - 2);
    if (!has_only(result.host, ipv6_characters)
        || result.host.find(':') == std::string::npos)
      return refuse("there must be an IPv6 address in the brackets");
    return result;
  }
  if (result.host.find(':') != std::string::npos)
    return refuse("an IPv6 address stands in brackets: [::1]:4848");
  if (!has_only(result.host, host_characters)
      || result.host.size() > host_bytes_max)
    return refuse("the host must be a name or an address");
  return result;
}

std::string to_text(const endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return (is_ipv6 ? '[' + endpoint.host + ']' : endpoint.host) + ':'
         + std::to_string(endpoint.port);
}

bool is_local_socket(const std::string& address) {
  return address.starts_with("unix:");
}

bool is_loopback(const endpoint& endpoint) {
  return endpoint.host == "localhost" || endpoint.host == "::1"
         || endpoint.host.starts_with("127.");
}

} // namespace hippo
