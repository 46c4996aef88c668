#include "gateway/page_files.hpp"

#include <memory>
#include <string_view>

#include "gateway/http_body.hpp"
#include "gateway/web_files.hpp"

namespace hippo {

namespace {

const char* type_of_file(std::string_view name) {
  if (name.ends_with(".html"))
    return "text/html; charset=utf-8";
  if (name.ends_with(".js"))
    return "text/javascript; charset=utf-8";
  if (name.ends_with(".css"))
    return "text/css; charset=utf-8";
  return "image/svg+xml";
}

} // namespace

const std::map<std::string, reply, std::less<>>& packed_files() {
  static const auto all = [] {
    std::map<std::string, reply, std::less<>> result;
    for (const auto& x : web_files())
      result.emplace(x.name,
                     reply{200,
                           {},
                           type_of_file(x.name),
                           std::make_shared<const packed_body>(
                             pack_body(std::string{x.bytes}))});
    return result;
  }();
  return all;
}

} // namespace hippo
