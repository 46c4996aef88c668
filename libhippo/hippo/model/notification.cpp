#include "hippo/model/notification.hpp"

namespace hippo {

const char* to_string(notify_event event) noexcept {
  switch (event) {
    case notify_event::ended:
      return "ended";
    case notify_event::failed:
      return "failed";
    case notify_event::best:
      return "best";
  }
  return "?";
}

std::optional<notify_event> notify_event_from(std::string_view name) noexcept {
  for (const auto x :
       {notify_event::ended, notify_event::failed, notify_event::best})
    if (name == to_string(x))
      return x;
  return std::nullopt;
}

} // namespace hippo
