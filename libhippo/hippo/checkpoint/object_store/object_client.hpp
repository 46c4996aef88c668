#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/checkpoint/object_store/answer.hpp"
#include "hippo/checkpoint/object_store/credential_provider.hpp"
#include "hippo/checkpoint/object_store/location.hpp"

namespace hippo {

/// How a client of an object store goes about it.
struct object_client_options {
  /// A larger object is uploaded in parts of so many bytes: one that is lost on
  /// the way is sent again alone. A store takes 5 MiB to 5 GiB, and 10,000 of
  /// them.
  std::uint64_t part_bytes = 64 << 20;
  /// How often a request is tried in all.
  unsigned attempts_max = 6;
  /// How long to wait before each further attempt: twice as long every time.
  std::chrono::milliseconds pause_first{250};
  std::chrono::milliseconds pause_last{8000};
  /// How long nothing may come or go.
  std::chrono::seconds silence_max{30};
};

/// An object of a listing.
struct listed_object {
  std::string key;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> changed; ///< in seconds since 1970
};

/// Reads, writes and deletes objects of one place. Requests that fail for what
/// may pass are tried again, a few times and for less than a minute unless the
/// store is silent. Calls block. Not thread-safe.
class object_client {
public:
  /// The environment of a client.
  struct world {
    std::unique_ptr<http> carrier;
    environment env;
    std::function<std::int64_t()> now; ///< seconds since 1970
    std::function<void(std::chrono::milliseconds)> pause;
  };

  /// By libcurl, with this process's environment and the system's clock.
  explicit object_client(object_location where,
                         object_client_options options = {});
  object_client(object_location where, object_client_options options,
                world with);

  [[nodiscard]] const object_location& where() const { return where_; }

  /// Reads `size` bytes of an object from `offset` on.
  /// @returns them, fewer where the object ends before, nothing if there is no
  ///          such object, or `errc::io_failed`
  /// REQUIRES: `size > 0`
  expected<std::optional<std::string>>
  get_range(const std::string& name, std::uint64_t offset, std::uint64_t size);

  /// Gives `size` bytes of an object from `offset` on, in pieces of at most
  /// 16 MiB; fewer where the object ends before.
  /// @returns whether there is such an object, the first failure of `take`, or
  ///          `errc::io_failed`: also if it goes while it is read
  expected<bool> read(const std::string& name, std::uint64_t offset,
                      std::uint64_t size, const byte_taker& take);

  /// Writes an object, whole or not at all. The store checks that it has come
  /// as it was sent (SHA-256). Memory holds an upload's part of it.
  /// @returns nothing, or `errc::io_failed`
  std::optional<error> put(const std::string& name,
                           const content_source& bytes);

  /// Deletes an object, if there is one.
  /// @returns nothing, or `errc::io_failed`
  std::optional<error> remove(const std::string& name);

  /// Lists the objects whose names begin so.
  /// @returns them, by key, or `errc::io_failed`
  expected<std::vector<listed_object>> list(const std::string& prefix);

private:
  std::optional<error> put_in_parts(const std::string& key,
                                    const content_source& bytes);

  /// Carries a request until it has been answered for good.
  expected<http_answer> ask(http_request request, const std::string& what);

  const object_location where_;
  const object_client_options options_;
  world with_;
  credential_provider credentials_;
};

} // namespace hippo
