#include "hippo/space/notify_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "hippo/base/nearest.hpp"
#include "hippo/space/value_reader.hpp"

namespace hippo {

namespace {

/// The longest URL that events are posted to.
constexpr std::size_t url_bytes_max = 2048;

std::vector<notify_event> read_events(const document& list,
                                      const study_spec& study,
                                      const value_reader& values) {
  const auto names = values.words(list);
  if (!names)
    return {};
  std::set<notify_event> result;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto& name = (*names)[i];
    const auto event = notify_event_from(name);
    if (!event)
      values.notes().error(
        list.items[i],
        unknown_text("event", name, {"ended", "failed", "best"}));
    else if (*event == notify_event::best && !study.objective.all().is_one())
      values.notes().error(list.items[i],
                           "best needs an objective of one metric without "
                           "constraints: of several no trial is the best");
    else
      result.insert(*event);
  }
  return {result.begin(), result.end()};
}

/// Says why notifications cannot be posted to a URL; empty: they can.
std::string refusal_of_url(const std::string& url) {
  std::string_view rest = url;
  for (const std::string_view scheme : {"https://", "http://"})
    if (rest.starts_with(scheme)) {
      rest.remove_prefix(scheme.size());
      break;
    }
  const auto host = rest.substr(0, rest.find_first_of("/?#"));
  const auto is_bad = [](char x) { return x <= ' ' || x == '\x7f'; };
  if (rest.size() < url.size() && !host.empty() && host.front() != ':'
      && host.find('@') == host.npos && url.size() <= url_bytes_max
      && std::none_of(url.begin(), url.end(), is_bad))
    return {};
  return "must be an http:// or https:// URL of at most "
         + std::to_string(url_bytes_max)
         + " bytes with a host and without a user or password, found '"
         + url.substr(0, 100) + "'";
}

} // namespace

notify_request read_notify(const document& notify, const study_spec& study,
                           diagnostics& notes) {
  const value_reader values{notes};
  if (!values.is_map(notify, "url, on"))
    return {};
  values.known_keys(notify, "key", {"url", "on"});
  notify_request result{{}, {notify_event::ended}};
  if (const auto* url = values.required(notify, "url"))
    if (const auto text = values.word(*url)) {
      result.url = *text;
      if (const auto why = refusal_of_url(result.url); !why.empty())
        notes.error(*url, why);
    }
  if (const auto* on = notify.find("on"))
    result.on = read_events(*on, study, values);
  return result;
}

} // namespace hippo
