#pragma once

#include <string>
#include <vector>

#include <kj/async-io.h>
#include <kj/compat/tls.h>

#include "hippo/base/error.hpp"
#include "hippo/net/keys/credentials.hpp"

namespace hippo {

/// A TLS handshake on the port for clients takes at most so long; one that does
/// not go on is ended.
inline constexpr auto handshake_time_max = 10 * kj::SECONDS;

/// A connection of which both sides have shown who they are.
struct admitted_peer {
  kj::Own<kj::AsyncIoStream> stream;
  key_holder holder; ///< trainer or client, and its name
};

/// The service's side of TLS for clients and trainers: at least TLS 1.2, and a
/// certificate from everybody. As what it lets somebody in is up to the
/// authority that has signed it; a certificate that claims another role is
/// refused.
class rpc_tls_service {
public:
  /// @param shown the service's credentials; whom they trust comes in
  /// @param timer of the event loop on which connections are accepted
  /// @returns `errc::invalid_argument` if OpenSSL cannot use `shown`
  static expected<rpc_tls_service> make(const credentials& shown,
                                        kj::Timer& timer);

  /// Makes the handshake on an accepted connection.
  ///
  /// The promise fails if the peer is refused, with what kj or OpenSSL says;
  /// `explain` makes a sentence of it.
  /// REQUIRES: `*this` outlives the promise
  kj::Promise<admitted_peer> accept(kj::AuthenticatedStream stream);

private:
  rpc_tls_service(kj::Own<kj::TlsContext> context, const credentials& shown)
    : context_(kj::mv(context)),
      authorities_(shown.authorities),
      admitted_(shown.admitted) {}

  kj::Own<kj::TlsContext> context_;
  std::string authorities_;
  std::vector<key_role> admitted_; ///< by authority
};

/// The service's side of TLS for people, whose browsers have no certificate:
/// who they are shows otherwise.
class open_tls_service {
public:
  /// @returns `errc::invalid_argument` if OpenSSL cannot use `shown`
  static expected<open_tls_service> make(const credentials& shown,
                                         kj::Timer& timer);

  /// Makes the handshake on an accepted connection.
  /// REQUIRES: `*this` outlives the promise
  kj::Promise<kj::Own<kj::AsyncIoStream>>
  accept(kj::AuthenticatedStream stream);

private:
  explicit open_tls_service(kj::Own<kj::TlsContext> context)
    : context_(kj::mv(context)) {}

  kj::Own<kj::TlsContext> context_;
};

/// The side of TLS under Cap'n Proto of those who connect.
class rpc_tls_peer {
public:
  /// @returns `errc::invalid_argument` if OpenSSL cannot use `shown`
  static expected<rpc_tls_peer> make(const credentials& shown);

  /// Makes the handshake on a connection to a service. The promise fails if
  /// the service is not the one whose authority the credentials hold. That the
  /// service refuses *us* shows only when the stream is used: the connection
  /// ends; ask `why_refused` then.
  /// REQUIRES: `*this` outlives the promise
  kj::Promise<kj::Own<kj::AsyncIoStream>>
  connect(kj::Own<kj::AsyncIoStream> stream);

private:
  explicit rpc_tls_peer(kj::Own<kj::TlsContext> context)
    : context_(kj::mv(context)) {}

  kj::Own<kj::TlsContext> context_;
};

/// Says in one clause why a handshake failed: what `rpc_tls_service::accept`
/// failed with, for the log.
std::string explain(const kj::Exception& failure);

} // namespace hippo
