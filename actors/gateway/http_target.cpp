#include "gateway/http_target.hpp"

#include <charconv>
#include <optional>
#include <utility>

#include <kj/encoding.h>

#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

std::vector<std::string_view> split(std::string_view x, char at) {
  std::vector<std::string_view> result;
  for (;;) {
    const auto end = x.find(at);
    if (const auto part = x.substr(0, end); !part.empty())
      result.push_back(part);
    if (end == std::string_view::npos)
      return result;
    x.remove_prefix(end + 1);
  }
}

/// Decodes a part of a target, once.
/// @param is_query whether a plus sign stands for a space there
/// @returns nothing if it holds what is no escape, or is no text then
std::optional<std::string> decoded(std::string_view x, bool is_query) {
  const auto text = kj::arrayPtr(x.data(), x.size());
  const auto result
    = is_query ? kj::decodeWwwForm(text) : kj::decodeUriComponent(text);
  std::string bytes{result.begin(), result.end()};
  if (result.hadErrors || bytes.find('\0') != bytes.npos
      || utf8_prefix(bytes) != bytes.size())
    return std::nullopt;
  return bytes;
}

error undecodable(std::string_view x) {
  return {errc::invalid_argument,
          "'" + excerpt(to_utf8(x))
            + "' is not percent-encoded UTF-8: write % as %25"};
}

} // namespace

expected<http_target> read_http_target(std::string_view url) {
  const auto end = url.find('?');
  http_target result;
  for (const auto x : split(url.substr(0, end), '/')) {
    auto part = decoded(x, false);
    if (!part)
      return undecodable(x);
    result.path.push_back(std::move(*part));
  }
  if (end == std::string_view::npos)
    return result;
  for (const auto x : split(url.substr(end + 1), '&')) {
    const auto equals = x.find('=');
    auto name = decoded(x.substr(0, equals), true);
    auto value = decoded(
      equals == x.npos ? std::string_view{} : x.substr(equals + 1), true);
    if (!name || !value)
      return undecodable(x);
    if (!result.query.emplace(*name, std::move(*value)).second)
      return {errc::invalid_argument,
              "the parameter '" + excerpt(*name) + "' is there twice"};
  }
  return result;
}

expected<std::uint64_t> take_number(http_target& from, const std::string& name,
                                    std::uint64_t fallback,
                                    const std::string& former) {
  auto x = from.query.extract(name);
  if (!x && !former.empty())
    x = from.query.extract(former);
  if (!x)
    return fallback;
  const auto& text = x.mapped();
  std::uint64_t result = 0;
  const auto [end, failed]
    = std::from_chars(text.data(), text.data() + text.size(), result);
  if (failed != std::errc{} || end != text.data() + text.size())
    return {errc::invalid_argument,
            '\'' + name + "' must be a whole number below 2^64, not '"
              + excerpt(text) + "'"};
  return result;
}

std::string take_text(http_target& from, const std::string& name) {
  const auto x = from.query.extract(name);
  return x ? x.mapped() : std::string{};
}

} // namespace hippo
