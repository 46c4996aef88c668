#include "event_trace.hpp"

#include <cstdlib>
#include <utility>

#include <spdlog/spdlog.h>

namespace hippo {

std::optional<error> open_trace(std::shared_ptr<trace_log>& to,
                                const char* variable,
                                const std::string& suffix) {
  const char* const set = std::getenv(variable);
  if (set == nullptr || *set == 0)
    return std::nullopt;
  const auto path = set + suffix;
  auto made = trace_log::open(path, trace_bytes_max, [path] {
    spdlog::warn("trace: {} ends here: it has {} MiB, or cannot be written",
                 path, trace_bytes_max >> 20);
  });
  if (!made)
    return made.failure();
  spdlog::info("trace: events are written to {}", path);
  to = std::move(*made);
  return std::nullopt;
}

} // namespace hippo
