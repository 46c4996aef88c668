// Handshakes over loopback, both sides on one event loop.

#include "hippo/net/keys/rpc_tls.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <kj/timer.h>

#include "hippo/net/keys/issue.hpp"
#include "keys/keys_fixture.hpp"

namespace hippo {
namespace {

const auto long_ago = now_seconds() - 1000 * day_seconds;

/// How a connection went, as each side saw it.
struct meeting {
  std::optional<key_holder> admitted; ///< whom the service saw
  std::string service_says;           ///< why it did not let them in
  std::string peer_says;              ///< why the peer did not hear the service
};

class RpcTlsTest : public keys_test {
public:
  /// Connects; the service greets whom it lets in.
  meeting meet(const credentials& service, const credentials& peer) {
    auto tls = rpc_tls_service::make(service, io_->provider->getTimer());
    auto peer_tls = rpc_tls_peer::make(peer);
    if (!tls || !peer_tls) {
      ADD_FAILURE() << "no context";
      return {};
    }
    return meet(*tls, [&](kj::Own<kj::AsyncIoStream> stream) {
      return peer_tls->connect(kj::mv(stream));
    });
  }

  /// The same with a peer that makes its own of a TCP connection.
  template <class Connect>
  meeting meet(rpc_tls_service& tls, Connect connect) {
    meeting result;
    auto& network = io_->provider->getNetwork();
    auto port = network.parseAddress("127.0.0.1", 0).wait(io_->waitScope)
                  ->listen();
    auto address = network.parseAddress("127.0.0.1", port->getPort())
                     .wait(io_->waitScope);
    auto serving
      = port->acceptAuthenticated()
          .then([&](kj::AuthenticatedStream stream) {
            return tls.accept(kj::mv(stream));
          })
          .then([&](admitted_peer peer) {
            result.admitted = peer.holder;
            auto written = peer.stream->write("!", 1);
            return written.attach(kj::mv(peer.stream));
          })
          .catch_([&](kj::Exception&& why) {
            result.service_says = explain(why);
          })
          .eagerlyEvaluate(nullptr);
    char greeting = 0;
    auto talking
      = address->connect()
          .then([&](kj::Own<kj::AsyncIoStream> stream) {
            return connect(kj::mv(stream));
          })
          .then([&](kj::Own<kj::AsyncIoStream> stream) {
            auto read = stream->read(&greeting, 1);
            return read.attach(kj::mv(stream));
          })
          .catch_([&](kj::Exception&& why) {
            result.peer_says = why.getDescription().cStr();
          });
    talking.wait(io_->waitScope);
    serving.wait(io_->waitScope);
    EXPECT_EQ(result.peer_says.empty(), greeting == '!');
    return result;
  }

  rpc_tls_service service_tls() {
    return kj::mv(*rpc_tls_service::make(service("keys", all_peers),
                                         io_->provider->getTimer()));
  }

protected:
  // By pointer: kj's destructors may throw, and GoogleTest's may not.
  std::unique_ptr<kj::AsyncIoContext> io_
    = std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo());
};

TEST_F(RpcTlsTest, TellsWhoConnects) {
  for (const auto& x : {gpu1, ada}) {
    const auto seen = meet(service("keys", all_peers), peer("keys", x));
    EXPECT_EQ(seen.admitted, x) << seen.service_says << seen.peer_says;
    EXPECT_EQ(seen.peer_says, "");
  }
}

TEST_F(RpcTlsTest, RefusesARoleThatItDoesNotAdmit) {
  const auto seen
    = meet(service("keys", {key_role::trainer}), peer("keys", ada));
  EXPECT_FALSE(seen.admitted);
  EXPECT_NE(seen.service_says.find("no authority that may come in here"),
            std::string::npos)
    << seen.service_says;
  EXPECT_NE(seen.peer_says, "");
}

TEST_F(RpcTlsTest, RefusesARoleThatItsAuthorityDoesNotGive) {
  // The trainers' authority, or whoever has its key, calls somebody a client.
  const auto shown = service("keys", all_peers);
  auto posing = peer("keys", ada);
  const auto authority = openssl::certificate_from(
    read(path("keys/authority/trainer.crt")));
  const auto authority_key
    = openssl::key_from(read(path("keys/authority/trainer.key")));
  const auto own_key = openssl::key_from(posing.key);
  const auto certificate = openssl::issue(
    {to_text(ada), false, false, {}, now_seconds() - 10, now_seconds() + 1000},
    own_key.get(), authority.get(), authority_key.get());
  ASSERT_TRUE(certificate) << openssl::take_errors();
  posing.certificate = openssl::to_pem(certificate.get());
  const auto seen = meet(shown, posing);
  EXPECT_FALSE(seen.admitted);
  EXPECT_EQ(seen.service_says,
            "its certificate claims a role that its authority does not give");
}

TEST_F(RpcTlsTest, RefusesAnotherAuthority) {
  auto foreign = peer("others", gpu1);
  foreign.authorities = peer("keys", gpu1).authorities;
  const auto seen = meet(service("keys", all_peers), foreign);
  EXPECT_FALSE(seen.admitted);
  EXPECT_NE(seen.service_says.find("no authority"), std::string::npos)
    << seen.service_says;
}

TEST_F(RpcTlsTest, APeerRefusesAnotherService) {
  auto own = peer("others", gpu1);
  auto shown = service("keys", all_peers);
  shown.authorities = service("others", all_peers).authorities;
  const auto seen = meet(shown, own);
  EXPECT_NE(seen.peer_says.find("not trusted"), std::string::npos)
    << seen.peer_says;
}

TEST_F(RpcTlsTest, RefusesAnExpiredCertificate) {
  (void)folder("keys", long_ago);
  const auto seen
    = meet(service("keys", all_peers), peer("keys", gpu1, long_ago));
  EXPECT_FALSE(seen.admitted);
  EXPECT_NE(seen.service_says.find("has expired"), std::string::npos)
    << seen.service_says;
}

TEST_F(RpcTlsTest, RefusesAKeyThatIsNotForConnecting) {
  // A service that poses as a trainer to another, whose authority is its own.
  auto posing = service("keys", {key_role::service});
  auto shown = service("keys", {key_role::service});
  const auto seen = meet(shown, posing);
  EXPECT_FALSE(seen.admitted);
  EXPECT_NE(seen.service_says.find("not for connecting"), std::string::npos)
    << seen.service_says;
}

TEST_F(RpcTlsTest, APeerIsNoService) {
  // A trainer that poses as the service to one who trusts its authority.
  auto posing = peer("keys", gpu1);
  posing.authorities = service("keys", all_peers).authorities;
  auto trusting = peer("keys", ada);
  trusting.authorities = service("keys", {key_role::trainer}).authorities;
  const auto seen = meet(posing, trusting);
  EXPECT_NE(seen.peer_says.find("not trusted"), std::string::npos)
    << seen.peer_says;
}

TEST_F(RpcTlsTest, RefusesWhoShowsNothing) {
  auto tls = service_tls();
  kj::TlsContext::Options options;
  options.useSystemTrustStore = false;
  const auto authority = service("keys", {key_role::service}).authorities;
  const kj::TlsCertificate trusted{kj::StringPtr{authority.c_str()}};
  options.trustedCertificates = kj::arrayPtr(&trusted, 1);
  kj::TlsContext context{options};
  const auto seen = meet(tls, [&](kj::Own<kj::AsyncIoStream> stream) {
    return context.wrapClient(kj::mv(stream), service_host);
  });
  EXPECT_FALSE(seen.admitted);
  EXPECT_EQ(seen.service_says, "it shows no certificate");
}

TEST_F(RpcTlsTest, RefusesWhoSpeaksNoTls) {
  auto tls = service_tls();
  for (const auto& [said, sentence] :
       {std::pair{"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                  "it speaks HTTP without TLS"},
        std::pair{"rubbish rubbish rubbish", "it does not speak TLS"},
        std::pair{"", "it went away in the handshake"}}) {
    const auto seen = meet(tls, [&](kj::Own<kj::AsyncIoStream> stream) {
      auto written = stream->write(said, std::string_view{said}.size());
      return written.then([stream = kj::mv(stream)]() mutable {
        stream->shutdownWrite();
        return kj::mv(stream);
      });
    });
    EXPECT_FALSE(seen.admitted);
    EXPECT_EQ(seen.service_says, sentence);
  }
}

TEST_F(RpcTlsTest, EndsAHandshakeThatDoesNotGoOn) {
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  auto tls = rpc_tls_service::make(service("keys", all_peers), timer);
  ASSERT_TRUE(tls);
  auto ends = kj::newTwoWayPipe();
  std::string said;
  auto serving
    = tls->accept({kj::mv(ends.ends[0]), kj::LocalPeerIdentity::newInstance({})})
        .then([](admitted_peer) {},
              [&](kj::Exception&& why) { said = explain(why); })
        .eagerlyEvaluate(nullptr);
  timer.advanceTo(kj::origin<kj::TimePoint>() + handshake_time_max
                  - 1 * kj::MILLISECONDS);
  EXPECT_FALSE(serving.poll(io_->waitScope)) << said;
  timer.advanceTo(kj::origin<kj::TimePoint>() + handshake_time_max);
  serving.wait(io_->waitScope);
  EXPECT_EQ(said, "it does not go on with the handshake");
}

TEST_F(RpcTlsTest, BadCredentialsGiveAnError) {
  for (const auto part : {&credentials::key, &credentials::certificate}) {
    auto bad = peer("keys", gpu1);
    bad.*part = "x";
    const auto peer = rpc_tls_peer::make(bad);
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.failure().code, errc::invalid_argument);
    EXPECT_FALSE(rpc_tls_service::make(bad, io_->provider->getTimer()));
  }
}

} // namespace
} // namespace hippo
