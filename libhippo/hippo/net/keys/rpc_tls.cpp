#include "hippo/net/keys/rpc_tls.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <kj/debug.h>
#include <kj/vector.h>

#include "hippo/net/keys/openssl.hpp"
#include "hippo/net/wire/exceptions.hpp"

namespace hippo {

namespace {

/// Makes the context of either side.
/// @param timer null: of those who connect
/// @param asks whether those who connect must show a certificate
expected<kj::Own<kj::TlsContext>> make_context(const credentials& shown,
                                               kj::Maybe<kj::Timer&> timer,
                                               bool asks = true) {
  const auto authorities = openssl::blocks_of(shown.authorities);
  if (!authorities)
    return authorities.failure();
  kj::Own<kj::TlsContext> result;
  const auto failure = kj::runCatchingExceptions([&] {
    kj::Vector<kj::TlsCertificate> trusted;
    for (const auto& x : *authorities)
      trusted.add(kj::StringPtr{x.text.c_str()});
    const kj::TlsKeypair own{
      kj::TlsPrivateKey{kj::StringPtr{shown.key.c_str()}},
      kj::TlsCertificate{kj::StringPtr{shown.certificate.c_str()}}};
    kj::TlsContext::Options options;
    options.useSystemTrustStore = false;
    options.minVersion = kj::TlsVersion::TLS_1_2;
    options.trustedCertificates = trusted;
    options.defaultKeypair = own;
    KJ_IF_MAYBE(x, timer) {
      options.verifyClients = asks;
      options.timer = *x;
      options.acceptTimeout = handshake_time_max;
    }
    result = kj::heap<kj::TlsContext>(options);
  });
  KJ_IF_MAYBE(why, failure) {
    return {errc::invalid_argument, "cannot use the keys of "
                                      + to_text(shown.holder) + ": "
                                      + sentence_of(*why)};
  }
  return result;
}

/// Gives access to the member of kj's class of which no function tells: an
/// explicit instantiation may name it.
template <auto Certificate>
struct certificate_access {
  friend void* certificate_in(const kj::TlsPeerIdentity& x) {
    return x.*Certificate;
  }
};
void* certificate_in(const kj::TlsPeerIdentity& x);
template struct certificate_access<&kj::TlsPeerIdentity::cert>;

/// Returns the role of the authority that has signed a certificate.
/// @param admitted the roles of `authorities`, in their order
std::optional<key_role> role_of(const kj::TlsPeerIdentity& peer,
                                const std::string& authorities,
                                const std::vector<key_role>& admitted) {
  auto* const certificate = static_cast<X509*>(certificate_in(peer));
  const auto blocks = openssl::blocks_of(authorities);
  if (!blocks)
    return std::nullopt;
  for (std::size_t i = 0; i < std::min(blocks->size(), admitted.size()); ++i) {
    const auto authority = openssl::certificate_from((*blocks)[i].text);
    if (authority && openssl::is_signed_by(certificate, authority.get()))
      return admitted[i];
  }
  return std::nullopt;
}

} // namespace

expected<rpc_tls_service> rpc_tls_service::make(const credentials& shown,
                                                kj::Timer& timer) {
  auto context = make_context(shown, timer);
  if (!context)
    return context.failure();
  return rpc_tls_service{kj::mv(*context), shown};
}

kj::Promise<admitted_peer>
rpc_tls_service::accept(kj::AuthenticatedStream stream) {
  return context_->wrapServer(kj::mv(stream))
    .then([this](kj::AuthenticatedStream secured)
            -> kj::Promise<admitted_peer> {
      auto& identity = kj::downcast<kj::TlsPeerIdentity>(*secured.peerIdentity);
      auto holder = read_key_holder(identity.getCommonName().cStr());
      if (!holder)
        return exception_saying(holder.failure().message);
      if (role_of(identity, authorities_, admitted_) != holder->role)
        return KJ_EXCEPTION(FAILED,
                            "its certificate claims a role that its authority "
                            "does not give");
      return admitted_peer{kj::mv(secured.stream), std::move(*holder)};
    });
}

expected<open_tls_service> open_tls_service::make(const credentials& shown,
                                                  kj::Timer& timer) {
  auto context = make_context(shown, timer, false);
  if (!context)
    return context.failure();
  return open_tls_service{kj::mv(*context)};
}

kj::Promise<kj::Own<kj::AsyncIoStream>>
open_tls_service::accept(kj::AuthenticatedStream stream) {
  return context_->wrapServer(kj::mv(stream.stream));
}

expected<rpc_tls_peer> rpc_tls_peer::make(const credentials& shown) {
  auto context = make_context(shown, nullptr);
  if (!context)
    return context.failure();
  return rpc_tls_peer{kj::mv(*context)};
}

kj::Promise<kj::Own<kj::AsyncIoStream>>
rpc_tls_peer::connect(kj::Own<kj::AsyncIoStream> stream) {
  return context_->wrapClient(kj::mv(stream), service_host);
}

std::string explain(const kj::Exception& failure) {
  struct known {
    std::string_view part; ///< of what kj or OpenSSL says
    const char* sentence;
  };
  // kj does not tell which of the first three it is.
  static constexpr known all[]{
    {"certificate verify failed",
     "its certificate has expired or is not valid yet, is of no authority that "
     "may come in here, or is not for connecting"},
    {"peer did not return a certificate", "it shows no certificate"},
    {"alert unknown ca",
     "it does not trust this service: its keys are of another one"},
    {"alert certificate expired",
     "by its clock, the certificate of this service has expired"},
    {"alert", "it refuses the certificate of this service"},
    {"unsupported protocol", "it speaks no TLS of version 1.2 or later"},
    {"http request", "it speaks HTTP without TLS"},
    {"wrong version number", "it does not speak TLS"},
    {"timed out", "it does not go on with the handshake"},
    {"unexpected eof", "it went away in the handshake"},
    {"Client disconnected", "it went away in the handshake"},
    {"unable to continue", "it went away in the handshake"},
    {"reset by peer", "it went away in the handshake"},
  };
  const std::string_view said = failure.getDescription().cStr();
  for (const auto& x : all)
    if (said.find(x.part) != said.npos)
      return x.sentence;
  return sentence_of(failure);
}

} // namespace hippo
