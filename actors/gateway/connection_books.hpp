#pragma once

#include <cstddef>
#include <cstdint>

#include <kj/timer.h>

#include "gateway/connection_slots.hpp"
#include "gateway/limits.hpp"
#include "gateway/response_memory.hpp"

namespace hippo {

/// The slots of a port. Connections from this machine have some apart from
/// those of others.
struct port_slots {
  connection_slots here;
  connection_slots elsewhere;

  explicit port_slots(const connection_slots::limits& limits)
    : here(limits), elsewhere(limits) {}

  [[nodiscard]] std::size_t size() const {
    return here.size() + here.spare() + elsewhere.size() + elsewhere.spare();
  }
  void beat() {
    here.beat();
    elsewhere.beat();
  }
};

/// The books that connections of a gateway share. A call whose connection is
/// lost goes on, and gives back what it holds when the event loop ends at the
/// latest: this outlives the event loop.
struct connection_books {
  connection_books(const gateway_limits& limits, std::uint64_t room_of_all,
                   kj::Timer& timer)
    : room{{room_of_all / 8}, timer},
      rpc{{limits.clients, limits.spare_connections, limits.idle_beats}},
      http{{limits.http_connections, limits.spare_connections,
            limits.idle_beats}},
      people{{limits.http_connections, limits.spare_connections,
              limits.idle_beats}} {}

  /// A call that waits gets at most half of the room of a connection that is
  /// alone and holds nothing: so there is room for that once others have gone.
  response_memory room;
  port_slots rpc;
  port_slots http;
  port_slots people;
};

} // namespace hippo
