#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <capnp/list.h>
#include <kj/string.h>

#include "gateway/query_service.hpp"
#include "hippo/model/view/view_wire.hpp"
#include "service.capnp.h"

namespace hippo {

// What RPC answers are made of: schemas/service.capnp.

/// A text for a message, which copies it.
inline kj::StringPtr to_text(const std::string& text) {
  return {text.data(), text.size()};
}

/// How many items a list of a message has.
inline capnp::uint count(std::size_t count) {
  return static_cast<capnp::uint>(count);
}

void fill(capnp::List<schema::Metric>::Builder to, const metrics& xs);
void fill(capnp::List<capnp::Text>::Builder to,
          const std::vector<std::string>& xs);
void fill(schema::Event::Builder to, const stored_event& event);

} // namespace hippo
