#pragma once

// The answers of a service, as the client library shows them. Everything here
// throws a kj::Exception with `errc::malformed_message` for what no service
// says.

#include <service.capnp.h>

#include "hippo/model/view/view_wire.hpp"
#include "hippo/net/client/client.hpp"

namespace hippo {

study_event decode(schema::Event::Reader reader);
trained_trial decode(std::uint64_t trial, schema::Progress::Reader reader);

void encode(const trial_outcome& ending, schema::Outcome::Builder out);

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
