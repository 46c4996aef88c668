#include "hippo/client/transport.hpp"

namespace hippo {

expected<transport> make_transport(const client_options& options) {
  if (!options.credentials.empty())
    return error{errc::invalid_argument,
                 options.credentials
                   + ": this client connects without TLS only; leave the "
                     "credentials out"};
  return transport{[](kj::Own<kj::AsyncIoStream> stream) {
    return kj::Promise<kj::Own<kj::AsyncIoStream>>{kj::mv(stream)};
  }};
}

} // namespace hippo
