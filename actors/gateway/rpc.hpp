#pragma once

#include <cstddef>
#include <string>

#include "gateway/client_connection.hpp"
#include "gateway/limits.hpp"
#include "gateway/query_service.hpp"
#include "hippo/checkpoint/depot/depot.hpp"
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
/// @param files handed out to trainers; clients send initial states there
/// @param host address of the peer, without a port
/// REQUIRES: `answers` and `files` outlive it.
schema::Entrance::Client make_entrance(query_service& answers, peer_role role,
                                       const gateway_limits& limits,
                                       kj::Own<client_connection> whose,
                                       const depot& files, std::string host);

/// Makes an entrance that nobody comes through, and says why.
schema::Entrance::Client make_closed_entrance(error why);

} // namespace hippo
