#pragma once

#include <string>
#include <string_view>

namespace hippo {

/// Compresses bytes as gzip (RFC 1952). Equal bytes give equal ones.
std::string gzip(std::string_view bytes);

/// Whether a request's Accept-Encoding takes gzip.
bool takes_gzip(std::string_view accept_encoding);

/// Returns what names a body in ETag: it changes with each byte.
std::string entity_tag(const std::string& bytes);

} // namespace hippo
