#include "network.hpp"

#include "caf/openssl/all.hpp"

namespace hippo {

namespace {

/// Who listens and connects for the system.
caf::io::middleman_actor connector(caf::actor_system& system) {
  return system.has_openssl_manager()
           ? system.openssl_manager().actor_handle()
           : system.middleman().actor_handle();
}

} // namespace

caf::expected<std::uint16_t> publish(caf::actor_system& system,
                                     const caf::strong_actor_ptr& whom,
                                     std::set<std::string> interface,
                                     std::uint16_t port,
                                     const std::string& address) {
  if (!whom)
    return caf::sec::cannot_publish_invalid_actor;
  auto ask = caf::make_function_view(connector(system));
  return ask(caf::publish_atom::value, port, whom, std::move(interface),
             address, true);
}

caf::expected<caf::strong_actor_ptr>
find_published(caf::actor_system& system,
               const std::set<std::string>& interface, const std::string& host,
               std::uint16_t port, caf::timespan patience) {
  auto ask = caf::make_function_view(connector(system),
                                     caf::duration{patience});
  auto found = ask(caf::connect_atom::value, host, port);
  if (!found)
    return std::move(found.error());
  auto& [node, actor, offered] = *found;
  if (!actor)
    return make_error(caf::sec::no_actor_published_at_port, port);
  if (!system.assignable(offered, interface))
    return make_error(caf::sec::unexpected_actor_messaging_interface, interface,
                      offered);
  return actor;
}

} // namespace hippo
