// Two nodes over loopback, in plain TCP and with TLS.

#include "network.hpp"

#include <memory>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hippo/keys/handshake.hpp"
#include "keys/keys_fixture.hpp"
#include "system_config.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

const auto long_ago = now_seconds() - 1000 * day_seconds;

caf::behavior echo() {
  return {[](int x) { return x; }};
}

/// An actor system, with TLS if there are keys for it.
class node {
public:
  explicit node(const std::optional<credentials>& shown = {}) {
    if (shown)
      if (const auto why = config_.use_tls(*shown))
        ADD_FAILURE() << why->message;
    system_ = std::make_unique<caf::actor_system>(config_);
  }

  ~node() {
    caf::anon_send_exit(echo_, caf::exit_reason::kill);
    echo_ = nullptr;
  }

  /// Publishes an actor that sends numbers back. @returns the port
  std::uint16_t serve() {
    echo_ = system_->spawn(echo);
    const auto port = publish(*system_, echo_, 0, "127.0.0.1");
    if (!port)
      ADD_FAILURE() << system_->render(port.error());
    return port ? *port : std::uint16_t{0};
  }

  /// Asks that actor of another node. @returns what went wrong, if anything
  caf::error ask(std::uint16_t port, caf::timespan patience = 20s) {
    auto found
      = find_published<caf::actor>(*system_, "127.0.0.1", port, patience);
    if (!found)
      return std::move(found.error());
    caf::scoped_actor self{*system_};
    caf::error result = caf::sec::runtime_error;
    self->request(*found, 20s, 42)
      .receive([&](int x) { result = x == 42 ? caf::error{} : result; },
               [&](caf::error& why) { result = std::move(why); });
    return result;
  }

private:
  system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::actor echo_;
};

class NetworkTest : public keys_test {
public:
  /// A service that lets in trainers, and the port where it does.
  void serve() {
    service_ = std::make_unique<node>(service("keys", {key_role::trainer}));
    port_ = service_->serve();
  }

  /// Fails unless someone is refused, for this reason.
  void expect_refused(const credentials& shown, const std::string& reason) {
    node refused{shown};
    EXPECT_EQ(refused.ask(port_), caf::sec::disconnect_during_handshake);
    const auto why = why_refused("127.0.0.1", port_, shown, 20s);
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, errc::not_allowed);
    EXPECT_NE(why->message.find(reason), std::string::npos) << why->message;
  }

  /// Fails unless a trainer of this service comes in.
  void expect_open() {
    const auto shown = peer("keys", gpu1);
    node trainer{shown};
    EXPECT_EQ(trainer.ask(port_), caf::none);
    EXPECT_FALSE(why_refused("127.0.0.1", port_, shown, 20s));
  }

protected:
  std::unique_ptr<node> service_;
  std::uint16_t port_ = 0;
};

TEST_F(NetworkTest, PlainNodesTalk) {
  node a, b;
  EXPECT_EQ(b.ask(a.serve()), caf::none);
}

TEST_F(NetworkTest, NobodyListens) {
  std::uint16_t port = 0;
  {
    node a;
    port = a.serve();
  }
  node b;
  EXPECT_EQ(b.ask(port), caf::sec::cannot_connect_to_node);
}

TEST_F(NetworkTest, NobodyAnswers) {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  ASSERT_EQ(::bind(listening, address, size), 0);
  ASSERT_EQ(::listen(listening, 8), 0);
  ASSERT_EQ(::getsockname(listening, address, &size), 0);
  {
    node b;
    EXPECT_EQ(b.ask(ntohs(at.sin_port), 50ms), caf::sec::request_timeout);
  }
  ::close(listening);
}

TEST_F(NetworkTest, TrainersComeIn) {
  serve();
  expect_open();
}

TEST_F(NetworkTest, ClientsDoNot) {
  serve();
  expect_refused(peer("keys", ada), "a client has no business at this port");
  expect_open();
}

TEST_F(NetworkTest, TrainersOfOthersDoNot) {
  serve();
  auto foreign = peer("others", gpu1);
  expect_refused(foreign, "its certificate is of another authority");
  foreign.authorities = peer("keys", gpu1).authorities;
  expect_refused(foreign, "it refuses the certificate of trainer:gpu1");
  expect_open();
}

TEST_F(NetworkTest, AnExpiredTrainerDoesNot) {
  (void)folder("keys", long_ago);
  serve();
  expect_refused(peer("keys", gpu1, long_ago),
                 "it refuses the certificate of trainer:gpu1 as expired");
  expect_open();
}

TEST_F(NetworkTest, PlainNodesDoNot) {
  serve();
  node plain;
  EXPECT_EQ(plain.ask(port_), caf::sec::disconnect_during_handshake);
  expect_open();
}

TEST_F(NetworkTest, ATrainerTalksToNoPlainService) {
  node plain;
  port_ = plain.serve();
  const auto shown = peer("keys", gpu1);
  node trainer{shown};
  EXPECT_TRUE(trainer.ask(port_));
  const auto why = why_refused("127.0.0.1", port_, shown, 20s);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::io_failed);
}

TEST_F(NetworkTest, KeysMayVanishWhileTheServiceRuns) {
  serve();
  const auto shown = peer("keys", gpu1);
  std::filesystem::remove_all(path("keys"));
  node trainer{shown};
  EXPECT_EQ(trainer.ask(port_), caf::none);
}

} // namespace
} // namespace hippo
