#pragma once

// The answers of a service, as the client library shows them. Everything here
// throws a kj::Exception with `errc::malformed_message` for what no service
// says.

#include <utility>
#include <vector>

#include <service.capnp.h>

#include "hippo/model/view/view_wire.hpp"

namespace hippo {

/// Returns each element of a list, decoded.
template <class List>
auto decode_all(List list) {
  std::vector<decltype(decode(list[0]))> result;
  result.reserve(list.size());
  for (auto x : list)
    result.push_back(decode(x));
  return result;
}

} // namespace hippo
