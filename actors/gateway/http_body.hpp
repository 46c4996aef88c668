#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hippo {

/// Compresses bytes as gzip (RFC 1952). Equal bytes give equal ones.
std::string gzip(std::string_view bytes);

/// Whether a request's Accept-Encoding takes gzip.
bool takes_gzip(std::string_view accept_encoding);

/// Returns what names a body in ETag: it changes with each byte.
std::string entity_tag(const std::string& bytes);

/// A body as it goes out: as it is, compressed, and what names it. Made once
/// for all who get it.
struct packed_body {
  std::string plain;
  std::string zipped; ///< empty: it is too short for that
  std::string tag;    ///< for ETag

  [[nodiscard]] std::size_t bytes() const {
    return plain.size() + zipped.size() + sizeof *this;
  }
};
packed_body pack_body(std::string bytes);

} // namespace hippo
