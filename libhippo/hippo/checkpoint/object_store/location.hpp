#pragma once

#include <string>
#include <string_view>

#include "hippo/base/error.hpp"

namespace hippo {

/// Where objects lie: in a bucket of a store that speaks S3, below a prefix.
struct object_location {
  bool tls = true;
  std::string region; ///< that requests are signed for
  std::string host;   ///< of the store; with its port if it says one
  std::string bucket;
  std::string prefix; ///< without '/' at either end; may be empty
  friend bool operator==(const object_location&,
                         const object_location&) = default;
};

/// Reads what people write.
/// @param url `s3://BUCKET/PREFIX`
/// @param endpoint `https://HOST[:PORT]` or `http://...`; empty: that of Amazon
///        in the region
/// @param region empty: `us-east-1`
/// @returns the location, or `errc::invalid_argument`: names have letters,
///          digits and `-_.` only, so that no two programs encode one in
///          different ways
expected<object_location> parse_s3_url(const std::string& url,
                                       const std::string& endpoint,
                                       const std::string& region);

/// Reads what `to_text` writes.
/// @returns the location, or `errc::invalid_argument`
expected<object_location> parse_location(const std::string& text);

/// Renders a location as one text, which leases have as their folder:
/// `s3+https://REGION@HOST/BUCKET/PREFIX`. It holds no secret.
std::string to_text(const object_location& location);

/// Returns the key of the object `name` below the prefix.
std::string key_of(const object_location& location, std::string_view name);

/// Returns the address of the object `key` by the path style, which all stores
/// know; of the bucket if `key` is empty.
std::string url_of(const object_location& location, std::string_view key);

} // namespace hippo
