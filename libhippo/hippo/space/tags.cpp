#include "hippo/space/tags.hpp"

#include <algorithm>
#include <set>

#include "hippo/base/utf8.hpp"
#include "hippo/space/first_trials.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

std::string refusal_of_tag(const std::string& text) {
  const auto is_bad = [](char x) {
    return (x >= 0 && x < ' ') || x == ',' || x == '\x7f';
  };
  if (!text.empty() && text.size() <= tag_bytes_max && text.front() != ' '
      && text.back() != ' ' && utf8_prefix(text) == text.size()
      && std::none_of(text.begin(), text.end(), is_bad))
    return {};
  return "a tag is a text of 1 to " + std::to_string(tag_bytes_max)
         + " bytes without commas, line breaks and spaces at its ends, found '"
         + to_utf8(text.substr(0, 100)) + "'";
}

std::vector<std::string> read_tags(const document& list, diagnostics& notes) {
  if (!is_list_of(list, tags_max, "tags", notes))
    return {};
  std::set<std::string> all;
  for (const auto& x : list.items) {
    const auto why = x.type == document::kind::leaf
                       ? refusal_of_tag(x.text)
                       : "must be a tag, found " + x.found();
    if (!why.empty())
      notes.error(x, why);
    all.insert(x.text);
  }
  return {all.begin(), all.end()};
}

} // namespace hippo
