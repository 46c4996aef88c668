#pragma once

#include <string>

#include <kj/async-io.h>

namespace hippo {

/// Returns where a peer comes from, without its port: `10.0.0.7`. Whatever is
/// shared by peers is shared by this. Who is at no address is at `""`.
std::string peer_address(kj::PeerIdentity& peer);

} // namespace hippo
