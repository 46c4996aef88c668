// What those who connect are told when a service refuses them.

#include "hippo/net/keys/handshake.hpp"

#include <functional>
#include <memory>
#include <thread>

#include "hippo/net/keys/rpc_tls.hpp"
#include "keys/keys_fixture.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

const auto long_ago = now_seconds() - 1000 * day_seconds;

class HandshakeTest : public keys_test {
public:
  using accept_function
    = std::function<kj::Promise<void>(kj::Own<kj::AsyncIoStream>)>;

  /// Asks why someone is refused by what answers a connection so; the event
  /// loop runs until there is an answer.
  std::optional<error> ask(const accept_function& accept,
                           const credentials& shown) {
    auto port = io_->provider->getNetwork()
                  .parseAddress("127.0.0.1", 0)
                  .wait(io_->waitScope)
                  ->listen();
    std::optional<error> result;
    auto answered = kj::newPromiseAndCrossThreadFulfiller<void>();
    std::thread asking{
      [&, number = static_cast<std::uint16_t>(port->getPort())] {
        result = why_refused("127.0.0.1", number, shown, 20s);
        answered.fulfiller->fulfill();
      }};
    auto serving = port->accept()
                     .then([&](kj::Own<kj::AsyncIoStream> stream) {
                       return accept(kj::mv(stream));
                     })
                     .catch_([](kj::Exception&&) {})
                     .eagerlyEvaluate(nullptr);
    answered.promise.wait(io_->waitScope);
    asking.join();
    return result;
  }

  /// Asks why a service refuses someone.
  std::optional<error> ask(const credentials& service,
                           const credentials& shown) {
    auto tls = rpc_tls_service::make(service, io_->provider->getTimer());
    return ask(
      [&](kj::Own<kj::AsyncIoStream> stream) {
        return (*tls)
          .accept({kj::mv(stream), kj::LocalPeerIdentity::newInstance({})})
          .then([](admitted_peer x) {
            return kj::Promise<void>{kj::NEVER_DONE}.attach(kj::mv(x.stream));
          });
      },
      shown);
  }

  /// Fails unless the answer has this code and holds these words.
  static void expect(const std::optional<error>& why, errc code,
                     const std::string& words) {
    ASSERT_TRUE(why) << "was let in";
    EXPECT_EQ(why->code, code) << why->message;
    EXPECT_NE(why->message.find(words), std::string::npos) << why->message;
  }

protected:
  // By pointer: kj's destructors may throw, and GoogleTest's may not.
  std::unique_ptr<kj::AsyncIoContext> io_
    = std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo());
};

TEST_F(HandshakeTest, NothingIsWrong) {
  for (const auto& x : {gpu1, ada}) {
    const auto why = ask(service("keys", all_peers), peer("keys", x));
    EXPECT_FALSE(why) << why->message;
  }
}

TEST_F(HandshakeTest, WrongRole) {
  expect(ask(service("keys", {key_role::trainer}), peer("keys", ada)),
         errc::not_allowed,
         "it refuses the certificate of client:ada: its authority is none of "
         "those that may come in here, for it is of another service, or a "
         "client has no business at this port");
}

TEST_F(HandshakeTest, AnotherAuthority) {
  auto foreign = peer("others", gpu1);
  foreign.authorities = peer("keys", gpu1).authorities;
  expect(ask(service("keys", all_peers), foreign), errc::not_allowed,
         "it refuses the certificate of trainer:gpu1: its authority is none");
}

TEST_F(HandshakeTest, AnotherService) {
  expect(ask(service("keys", all_peers), peer("others", gpu1)),
         errc::not_allowed,
         "its certificate is of another authority: these keys are of another "
         "service");
}

TEST_F(HandshakeTest, Expired) {
  (void)folder("keys", long_ago);
  expect(ask(service("keys", all_peers), peer("keys", gpu1, long_ago)),
         errc::not_allowed,
         "it refuses the certificate of trainer:gpu1 as expired, or not valid "
         "yet, by its clock; a new one: hippo keys add gpu1 --role trainer "
         "--renew");
}

TEST_F(HandshakeTest, ExpiredService) {
  const auto ages_ago = now_seconds() - (authority_days + 10) * day_seconds;
  expect(ask(service("keys", all_peers, ages_ago),
             peer("keys", gpu1, ages_ago)),
         errc::not_allowed,
         "its certificate has expired, or this machine's clock is wrong");
}

TEST_F(HandshakeTest, ServiceNotValidYet) {
  const auto later = now_seconds() + 10 * day_seconds;
  expect(ask(service("keys", all_peers, later), peer("keys", gpu1, later)),
         errc::not_allowed, "is not valid yet");
}

TEST_F(HandshakeTest, APeerIsNoService) {
  auto posing = peer("keys", gpu1);
  posing.authorities = service("keys", all_peers).authorities;
  auto trusting = peer("keys", ada);
  trusting.authorities = service("keys", {key_role::trainer}).authorities;
  expect(ask(posing, trusting), errc::not_allowed,
         "its certificate is not that of a Hippo service");
}

TEST_F(HandshakeTest, NoTls) {
  const auto shown = peer("keys", gpu1);
  expect(ask(
           [](kj::Own<kj::AsyncIoStream> stream) {
             auto written = stream->write("\0\0\0\1 no TLS at all", 18);
             return written.then([stream = kj::mv(stream)]() mutable {
               return kj::Promise<void>{kj::NEVER_DONE}.attach(kj::mv(stream));
             });
           },
           shown),
         errc::io_failed, "does not speak TLS");
  expect(ask(
           [](kj::Own<kj::AsyncIoStream>) -> kj::Promise<void> {
             return kj::READY_NOW;
           },
           shown),
         errc::io_failed, "ends the connection in the TLS handshake");
}

TEST_F(HandshakeTest, NobodyAnswers) {
  auto port = io_->provider->getNetwork()
                .parseAddress("127.0.0.1", 0)
                .wait(io_->waitScope)
                ->listen();
  const auto number = static_cast<std::uint16_t>(port->getPort());
  const auto shown = peer("keys", gpu1);
  expect(why_refused("127.0.0.1", number, shown, 50ms), errc::io_failed,
         "accepts connections but does not answer");
  port = nullptr;
  expect(why_refused("127.0.0.1", number, shown, 20s), errc::io_failed,
         "cannot connect to the service at 127.0.0.1:");
  expect(why_refused("no.such.host.invalid", 1, shown, 20s), errc::io_failed,
         "cannot find the host no.such.host.invalid");
}

} // namespace
} // namespace hippo
