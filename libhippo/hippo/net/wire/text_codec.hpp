#pragma once

#include <cstddef>
#include <string>

#include <capnp/blob.h>

#include "hippo/net/wire/complaint.hpp"

namespace hippo {

// Reading texts of messages: each function returns false after noting why
// `what` is refused.

/// Whether an empty text is fine.
enum class emptiness : bool { refused, allowed };

/// Reads a text of at most `limit` bytes.
bool get(capnp::Text::Reader in, std::string& out, std::size_t limit,
         emptiness empty, const char* what, complaint& why);

/// Reads a short text that may be empty.
bool get_word(capnp::Text::Reader in, std::string& out, const char* what,
              complaint& why);

/// Reads a short text that may not.
bool get_name(capnp::Text::Reader in, std::string& out, const char* what,
              complaint& why);

/// Reads a text for people alone: programs print bytes that are no UTF-8.
bool get_prose(capnp::Text::Reader in, std::string& out, std::size_t limit,
               const char* what, complaint& why);

/// Reads a path, which is bytes without a zero.
bool get_path(capnp::Text::Reader in, std::string& out, const char* what,
              complaint& why);

} // namespace hippo
