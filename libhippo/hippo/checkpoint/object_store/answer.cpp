#include "hippo/checkpoint/object_store/answer.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

std::string first_of(const std::string& xml, const std::string& tag) {
  auto all = texts_of(xml, tag);
  return all.empty() ? std::string{} : std::move(all.front());
}

constexpr std::array<std::pair<std::string_view, char>, 5> entities{
  {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'},
   {"&apos;", '\''}}};

std::string unescaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t length = 1;
    char c = text.front();
    for (const auto& [name, meaning] : entities)
      if (text.starts_with(name)) {
        length = name.size();
        c = meaning;
      }
    result += c;
    text.remove_prefix(length);
  }
  return result;
}

} // namespace

verdict judge(const http_answer& response) {
  if (!response.trouble.empty())
    return verdict::again;
  const auto code = first_of(response.body, "Code");
  switch (response.status) {
    case 206: // a part of an object, whatever is in it
    case 416: // a part beyond its end
      return verdict::done;
    case 200:
    case 204:
      // What takes long may be answered before it has gone wrong.
      return response.body.find("<Error>") != std::string::npos ? verdict::again
                                                                : verdict::done;
    case 404:
      return code == "NoSuchBucket" ? verdict::refused : verdict::missing;
    case 400:
      return code == "RequestTimeout" ? verdict::again
             : code == "ExpiredToken" || code == "InvalidToken"
                 || code == "TokenRefreshRequired"
               ? verdict::renew
               : verdict::refused;
    case 401:
    case 403:
      return verdict::renew;
    case 408:
    case 409:
    case 429:
      return verdict::again;
    default:
      return response.status >= 500 ? verdict::again : verdict::refused;
  }
}

std::string describe(const http_answer& response) {
  if (!response.trouble.empty())
    return response.trouble;
  auto result = "status " + std::to_string(response.status);
  for (const char* tag : {"Code", "Message"})
    if (const auto text = first_of(response.body, tag); !text.empty())
      result += ", " + excerpt(to_utf8(text));
  if (response.status == 301 || response.status == 307)
    result += ": the bucket is in another region, see --s3-region";
  return result;
}

std::vector<std::string> texts_of(const std::string& xml,
                                  const std::string& tag) {
  const auto opening = '<' + tag + '>';
  const auto closing = "</" + tag + '>';
  std::vector<std::string> result;
  for (std::size_t at = 0;;) {
    const auto begin = xml.find(opening, at);
    if (begin == xml.npos)
      return result;
    const auto from = begin + opening.size();
    const auto end = xml.find(closing, from);
    if (end == xml.npos)
      return result;
    result.push_back(unescaped(std::string_view{xml}.substr(from, end - from)));
    at = end + closing.size();
  }
}

std::string encode_query(const std::string& text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')
        || (byte >= '0' && byte <= '9')
        || std::string_view{"-_.~"}.find(c) != std::string_view::npos)
      result += c;
    else
      (result += '%') += {digits[byte >> 4], digits[byte & 15]};
  }
  return result;
}

std::string completion_of(const std::vector<std::string>& tags) {
  std::string result = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < tags.size(); ++i)
    result += "<Part><PartNumber>" + std::to_string(i + 1)
              + "</PartNumber><ETag>" + tags[i] + "</ETag></Part>";
  return result + "</CompleteMultipartUpload>";
}

} // namespace hippo
