#include "hippo/net/wire/text_codec.hpp"

#include <string_view>

#include "hippo/base/limits.hpp"
#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

std::string_view view(capnp::Text::Reader in) {
  return {in.cStr(), in.size()};
}

} // namespace

bool get(capnp::Text::Reader in, std::string& out, std::size_t limit,
         emptiness empty, const char* what, complaint& why) {
  const auto refused = refused_text(view(in), limit);
  if (!why.require(!refused, what, refused.value_or(""))
      || !why.require(empty == emptiness::allowed || in.size() > 0, what,
                      "is empty"))
    return false;
  out = view(in);
  return true;
}

bool get_word(capnp::Text::Reader in, std::string& out, const char* what,
              complaint& why) {
  return get(in, out, max_name_bytes, emptiness::allowed, what, why);
}

bool get_prose(capnp::Text::Reader in, std::string& out, std::size_t limit,
               const char* what, complaint& why) {
  out = to_utf8(view(in));
  return why.require(in.size() <= limit, what, "is too long");
}

bool get_path(capnp::Text::Reader in, std::string& out, const char* what,
              complaint& why) {
  out = view(in);
  return why.require(out.size() <= max_text_bytes, what, "is too long")
         && why.require(out.find('\0') == out.npos, what, "holds a zero byte");
}

bool get_name(capnp::Text::Reader in, std::string& out, const char* what,
              complaint& why) {
  return get(in, out, max_name_bytes, emptiness::refused, what, why);
}

} // namespace hippo
