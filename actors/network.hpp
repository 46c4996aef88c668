#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "caf/all.hpp"
#include "caf/io/all.hpp"

namespace hippo {

/// How long a node waits until the other has answered: connected, made the TLS
/// handshake and said who it is.
inline constexpr auto connect_patience = std::chrono::seconds{10};

/// Makes `whom` known to other nodes. These speak TLS if the system's config
/// does (`system_config::use_tls`), and plain TCP if not.
/// @param port 0: any that is free
/// @param address what to listen on, as an IP address
/// @returns the port, or the reason
caf::expected<std::uint16_t> publish(caf::actor_system& system,
                                     const caf::strong_actor_ptr& whom,
                                     std::set<std::string> interface,
                                     std::uint16_t port,
                                     const std::string& address);

template <class Handle>
caf::expected<std::uint16_t> publish(caf::actor_system& system,
                                     const Handle& whom, std::uint16_t port,
                                     const std::string& address) {
  return publish(system, caf::actor_cast<caf::strong_actor_ptr>(whom),
                 system.message_types(whom), port, address);
}

/// Finds the actor that another node has published; blocks the caller.
/// @param patience after so long the reason is `caf::sec::request_timeout`; CAF
///                 goes on waiting, and who asks again for the same host and
///                 port waits for the same connection
/// @returns the actor or the reason, among them
///          `caf::sec::cannot_connect_to_node` and, where one side refuses the
///          other or does not speak TLS,
///          `caf::sec::disconnect_during_handshake`; `why_refused` says more
caf::expected<caf::strong_actor_ptr>
find_published(caf::actor_system& system,
               const std::set<std::string>& interface, const std::string& host,
               std::uint16_t port, caf::timespan patience = connect_patience);

template <class Handle>
caf::expected<Handle>
find_published(caf::actor_system& system, const std::string& host,
               std::uint16_t port, caf::timespan patience = connect_patience) {
  auto found = find_published(
    system, system.message_types(caf::detail::type_list<Handle>{}), host, port,
    patience);
  if (!found)
    return std::move(found.error());
  return caf::actor_cast<Handle>(std::move(*found));
}

} // namespace hippo
