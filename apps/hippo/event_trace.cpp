#include "event_trace.hpp"

#include <cstdlib>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

namespace hippo {

std::optional<error> open_trace(std::shared_ptr<trace_log>& to) {
  const char* const set = std::getenv(trace_variable);
  if (set == nullptr || *set == 0)
    return std::nullopt;
  const std::string path = set;
  auto made = trace_log::open(path, trace_bytes_max, [path] {
    spdlog::warn("trace: {} ends here: it has {} MiB, or cannot be written",
                 path, trace_bytes_max >> 20);
  });
  if (!made)
    return made.failure();
  spdlog::info("trace: the events of the service are written to {}", path);
  to = std::move(*made);
  return std::nullopt;
}

} // namespace hippo
