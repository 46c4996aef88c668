// What an HTTP request asks for.

#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "gateway/http_target.hpp"

namespace hippo::fuzz {

namespace {

void handle(std::string_view input) {
  auto x = read_http_target(input);
  std::size_t bytes = 0;
  for (const auto& part : x.path) {
    require(!part.empty(), "a part of a path is empty");
    require(part.find('/') == part.npos, "a part of a path has a slash");
    bytes += part.size();
  }
  for (const auto& [name, value] : x.query)
    bytes += name.size() + value.size();
  require(bytes <= input.size(), "there is more than was asked");
  const bool is_there = x.query.contains("first");
  const auto first = take_number(x, "first", 7);
  require(!x.query.contains("first"), "a number stays where it was");
  require(is_there || (first && *first == 7), "a number comes from nowhere");
}

} // namespace

const target http_request{
  "http_request",
  handle,
  {"/api/studies/", "?first=", "&most=", "18446744073709551616", "//", "="},
};

} // namespace hippo::fuzz
