#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/net/http/http.hpp"

namespace hippo {

/// The meaning of an answer of an object store.
enum class verdict : std::uint8_t {
  done,
  missing, ///< there is no such object
  again,   ///< the store or the network is in trouble, and that may pass
  renew,   ///< it may take other credentials
  refused  ///< and trying again would not help
};

/// Judges an answer.
verdict judge(const http_answer& response);

/// Says what an answer says, in one line: its status, code and message, or what
/// kept it from coming.
std::string describe(const http_answer& response);

/// Returns what is between `<tag>` and `</tag>`, of each that there is, in
/// order. Enough for what stores answer: they have no attributes there, and
/// nothing with that name within itself.
std::vector<std::string> texts_of(const std::string& xml,
                                  const std::string& tag);

/// Encodes a value of a query as signatures want it.
std::string encode_query(const std::string& text);

/// The body that ends an upload in parts. @param tags of the parts, in order
std::string completion_of(const std::vector<std::string>& tags);

} // namespace hippo
