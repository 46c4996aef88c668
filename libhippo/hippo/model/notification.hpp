#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hippo {

/// The events of a study that somebody can be notified of. The names are those
/// of study files.
enum class notify_event : std::uint8_t {
  ended,  ///< the study has ended, however
  failed, ///< it has ended as failed
  best,   ///< a trial is better than all before
};
const char* to_string(notify_event event) noexcept; ///< e.g. `"ended"`
std::optional<notify_event> notify_event_from(std::string_view name) noexcept;

/// The `notify` of a study file: where events of the study are posted to.
struct notify_request {
  std::string url;              ///< `http://` or `https://`
  std::vector<notify_event> on; ///< in their order, without repetitions
  friend bool operator==(const notify_request&,
                         const notify_request&) = default;
};

} // namespace hippo
