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

inline void fill(capnp::List<capnp::Text>::Builder to,
                 const std::vector<std::string>& xs) {
  for (capnp::uint i = 0; i < xs.size(); ++i)
    to.set(i, to_text(xs[i]));
}

/// Fills in a list of views.
template <class List, class View>
void fill_all(List to, const std::vector<View>& xs) {
  for (capnp::uint i = 0; i < xs.size(); ++i)
    fill(to[i], xs[i]);
}

} // namespace hippo
