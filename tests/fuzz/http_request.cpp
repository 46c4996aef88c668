// What an HTTP request asks for, and names on their way there.

#include <kj/encoding.h>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "gateway/http_target.hpp"
#include "hippo/base/utf8.hpp"

namespace hippo::fuzz {

namespace {

bool is_text(std::string_view x) {
  return utf8_prefix(x) == x.size() && x.find('\0') == x.npos;
}

void require_target(std::string_view input) {
  auto read = read_http_target(input);
  if (!read) {
    require(read.failure().code == errc::invalid_argument, "another failure");
    require(is_text(read.failure().message), "a failure is no text");
    return;
  }
  auto& x = *read;
  std::size_t bytes = 0;
  for (const auto& part : x.path) {
    require(!part.empty(), "a part of a path is empty");
    require(is_text(part), "a part of a path is no text");
    bytes += part.size();
  }
  for (const auto& [name, value] : x.query) {
    require(is_text(name) && is_text(value), "a parameter is no text");
    bytes += name.size() + value.size();
  }
  require(bytes <= input.size(), "there is more than was asked");
  const bool is_there = x.query.contains("first");
  const auto first = take_number(x, "first", 7);
  require(!x.query.contains("first"), "a number stays where it was");
  require(is_there || (first && *first == 7), "a number comes from nowhere");
}

/// A text that is encoded as browsers and programs do it comes as it was.
void require_arrives(std::string_view text) {
  if (!is_text(text))
    return;
  const auto bytes = kj::arrayPtr(text.data(), text.size());
  const std::string whole = kj::encodeUriComponent(bytes).cStr();
  const std::string form = kj::encodeWwwForm(bytes).cStr();
  const auto read
    = read_http_target('/' + whole + "/x?a=" + whole + "&b=" + form);
  require(static_cast<bool>(read), "what is encoded is refused");
  require(read->query.at("a") == text, "a parameter changes on its way");
  require(read->query.at("b") == text, "a form's parameter changes");
  require(text.empty() || read->path.at(0) == text, "a part of a path changes");
}

void handle(std::string_view input) {
  require_target(input);
  require_arrives(input);
}

} // namespace

const target http_request{
  "http_request",
  handle,
  {"/api/studies/", "?first=", "&most=", "18446744073709551616", "//", "=",
   "%", "%2F", "%00", "%ff", "%C3%A9", "%e", "+", "#", ".."},
};

} // namespace hippo::fuzz
