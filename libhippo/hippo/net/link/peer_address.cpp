#include "hippo/net/link/peer_address.hpp"

#include <algorithm>

namespace hippo {

std::string peer_address(kj::PeerIdentity& peer) {
  auto* known = dynamic_cast<kj::NetworkPeerIdentity*>(&peer);
  if (known == nullptr)
    return {};
  std::string result = known->getAddress().toString().cStr();
  result.resize(std::min(result.rfind(':'), result.size()));
  return result;
}

} // namespace hippo
