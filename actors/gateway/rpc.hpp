#pragma once

#include <cstddef>
#include <string>

#include "gateway/query_service.hpp"
#include "depot.capnp.h"
#include "gateway/client_connection.hpp"
#include "gateway/limits.hpp"
#include "service.capnp.h"

namespace hippo {

/// As what a connection is let in.
enum class peer_role {
  anybody, ///< on loopback, where nobody shows a certificate
  client,
  trainer,
};

/// Makes what a connection gives first.
/// @param whose connection it is
/// @param depot handed out to trainers
/// REQUIRES: `answers` outlives it.
schema::Entrance::Client make_entrance(query_service& answers, peer_role role,
                                       const gateway_limits& limits,
                                       kj::Own<client_connection> whose,
                                       schema::Depot::Client depot);

/// Makes an entrance that nobody comes through, and says why.
schema::Entrance::Client make_closed_entrance(error why);

} // namespace hippo
