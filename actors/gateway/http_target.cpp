#include "gateway/http_target.hpp"

#include <charconv>

namespace hippo {

namespace {

std::vector<std::string> split(std::string_view x, char at) {
  std::vector<std::string> result;
  for (;;) {
    const auto end = x.find(at);
    if (const auto part = x.substr(0, end); !part.empty())
      result.emplace_back(part);
    if (end == std::string_view::npos)
      return result;
    x.remove_prefix(end + 1);
  }
}

} // namespace

http_target read_http_target(std::string_view url) {
  const auto end = url.find('?');
  http_target result{split(url.substr(0, end), '/'), {}};
  if (end == std::string_view::npos)
    return result;
  for (const auto& x : split(url.substr(end + 1), '&')) {
    const auto equals = x.find('=');
    result.query[x.substr(0, equals)]
      = equals == std::string::npos ? "" : x.substr(equals + 1);
  }
  return result;
}

expected<std::uint64_t> take_number(http_target& from, const std::string& name,
                                    std::uint64_t fallback) {
  const auto x = from.query.extract(name);
  if (!x)
    return fallback;
  const auto& text = x.mapped();
  std::uint64_t result = 0;
  const auto [end, failed]
    = std::from_chars(text.data(), text.data() + text.size(), result);
  if (failed != std::errc{} || end != text.data() + text.size())
    return {errc::invalid_argument,
            '\'' + name + "' must be a whole number, not '" + text + "'"};
  return result;
}

std::string take_text(http_target& from, const std::string& name) {
  const auto x = from.query.extract(name);
  return x ? x.mapped() : std::string{};
}

} // namespace hippo
