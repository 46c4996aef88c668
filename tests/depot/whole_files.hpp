#pragma once

#include <string>
#include <utility>

#include "hippo/base/content_source.hpp"
#include "hippo/checkpoint/depot/depot_client.hpp"

namespace hippo {

/// Stores bytes that are in memory.
inline expected<checkpoint> store(depot_client& client,
                                  const std::string& folder,
                                  const std::string& name, std::string bytes) {
  return client.store(folder, name, memory_source{std::move(bytes)});
}

/// Fetches a checkpoint into memory.
inline expected<std::string> fetch(depot_client& client,
                                   const std::string& folder,
                                   const checkpoint& checkpoint) {
  std::string result;
  const auto why = client.fetch(
    folder, checkpoint,
    [&](const char* data, std::size_t size) -> std::optional<error> {
      result.append(data, size);
      return std::nullopt;
    });
  if (why)
    return *why;
  return result;
}

} // namespace hippo
