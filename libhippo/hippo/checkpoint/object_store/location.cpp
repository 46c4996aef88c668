#include "hippo/checkpoint/object_store/location.hpp"

#include <algorithm>
#include <optional>

#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

constexpr std::size_t key_bytes_max = 700; ///< of 1,024 that a key may have

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
         || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

bool is_plain(std::string_view text) {
  return !text.empty() && text != "." && text != ".."
         && std::ranges::all_of(text, [](char c) { return is_plain(c); });
}

bool is_prefix(std::string_view text) {
  for (;;) {
    const auto end = text.find('/');
    if (!is_plain(text.substr(0, end)))
      return false;
    if (end == text.npos)
      return true;
    text.remove_prefix(end + 1);
  }
}

bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_plain(c) || c == ':' || c == '[' || c == ']';
  });
}

error refused(const std::string& text, const std::string& why) {
  return {errc::invalid_argument, '\'' + excerpt(to_utf8(text)) + "' " + why};
}

/// Takes `x` off the front of a text, if it is there.
bool take(std::string_view& text, std::string_view x) {
  if (!text.starts_with(x))
    return false;
  text.remove_prefix(x.size());
  return true;
}

/// Splits BUCKET/PREFIX. @returns what is wrong
std::optional<std::string> read_place(std::string_view text,
                                      object_location& out) {
  const auto slash = text.find('/');
  out.bucket = text.substr(0, slash);
  if (slash != text.npos)
    out.prefix = text.substr(slash + 1);
  if (!is_plain(out.bucket))
    return "names no bucket: a bucket's name has letters, digits and -_. only";
  if (slash != text.npos && !is_prefix(out.prefix))
    return "has a prefix that is not of names of letters, digits and -_. with "
           "a / between them";
  if (out.prefix.size() > key_bytes_max)
    return "has a prefix of more than " + std::to_string(key_bytes_max)
           + " bytes";
  return std::nullopt;
}

} // namespace

expected<object_location> parse_s3_url(const std::string& url,
                                       const std::string& endpoint,
                                       const std::string& region) {
  object_location result;
  std::string_view place{url};
  if (!take(place, "s3://"))
    return refused(url, "is no place in an object store: s3://BUCKET/PREFIX");
  while (place.ends_with('/'))
    place.remove_suffix(1);
  if (auto why = read_place(place, result))
    return refused(url, *why);
  result.region = region.empty() ? "us-east-1" : region;
  if (!is_plain(result.region))
    return refused(result.region, "is no region, such as eu-central-1");
  if (endpoint.empty()) {
    result.host = "s3." + result.region + ".amazonaws.com";
    return result;
  }
  std::string_view host{endpoint};
  result.tls = take(host, "https://");
  if (!result.tls && !take(host, "http://"))
    return refused(endpoint, "is no endpoint: https://HOST[:PORT] or "
                             "http://HOST[:PORT]");
  if (host.ends_with('/'))
    host.remove_suffix(1);
  if (!is_host(host))
    return refused(endpoint, "is no endpoint: after the host and its port "
                             "nothing may follow");
  result.host = host;
  return result;
}

expected<object_location> parse_location(const std::string& text) {
  object_location result;
  std::string_view rest{text};
  result.tls = take(rest, "s3+https://");
  const bool is_location = result.tls || take(rest, "s3+http://");
  const auto end = rest.find('@');
  const auto begin = rest.find('/');
  if (!is_location || end == rest.npos || begin == rest.npos || begin < end)
    return refused(text, "is no location of an object store");
  result.region = rest.substr(0, end);
  result.host = rest.substr(end + 1, begin - end - 1);
  if (!is_plain(result.region) || !is_host(result.host))
    return refused(text, "is no location of an object store");
  if (auto why = read_place(rest.substr(begin + 1), result))
    return refused(text, *why);
  return result;
}

std::string to_text(const object_location& location) {
  return std::string{location.tls ? "s3+https://" : "s3+http://"}
         + location.region + '@' + location.host + '/' + location.bucket
         + (location.prefix.empty() ? "" : "/") + location.prefix;
}

std::string key_of(const object_location& location, std::string_view name) {
  return location.prefix + (location.prefix.empty() ? "" : "/")
         + std::string{name};
}

std::string url_of(const object_location& location, std::string_view key) {
  return std::string{location.tls ? "https://" : "http://"} + location.host
         + '/' + location.bucket + (key.empty() ? "" : "/") + std::string{key};
}

} // namespace hippo
