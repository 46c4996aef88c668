// A service and trainers over loopback, in plain TCP and with TLS, beside
// others that behave as they like.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "actors/raw_peer.hpp"
#include "hippo/net/wire/codec.hpp"
#include "keys/keys_fixture.hpp"
#include "network/service_link.hpp"
#include "network/trainer_port.hpp"
#include "pool.hpp"
#include "system_config.hpp"
#include "trainer.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using test::bytes;
using test::raw_peer;

const auto long_ago = now_seconds() - 1000 * day_seconds;

/// Trains nothing.
struct idle_engine final : engine {
  void start(const lease&, engine_sink) override {}
  void add_stop(lease_id, const stop_point&) override {}
  void cancel(lease_id) override {}
  [[nodiscard]] step_t reached(lease_id) const override { return 0; }
};

bool wait_for(const std::function<bool()>& holds,
              std::chrono::milliseconds patience = 60s) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// The pool of a service, and the port where trainers reach it.
class service_node {
public:
  explicit service_node(trainer_port_options options = {})
    : trainer_port_(system_, caf::actor_cast<registrar_actor>(pool_),
                    std::move(options)) {
    const auto port = trainer_port_.open();
    if (!port)
      ADD_FAILURE() << port.failure().message;
    else
      port_ = *port;
  }

  ~service_node() { end(); }

  void end() { caf::anon_send_exit(pool_, caf::exit_reason::user_shutdown); }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  caf::actor_system& system() { return system_; }

  std::vector<trainer_record> trainers() {
    caf::scoped_actor self{system_};
    std::vector<trainer_record> result;
    self->request(pool_, 60s, status_atom::value)
      .receive([&](const pool_status& x) { result = x.trainers; },
               [&](const caf::error& why) {
                 ADD_FAILURE() << system_.render(why);
               });
    return result;
  }

  /// How many trainers are there.
  std::size_t present() {
    std::size_t result = 0;
    for (const auto& x : trainers())
      result += x.lost.empty() && !x.left ? 1 : 0;
    return result;
  }

private:
  system_config config_;
  caf::actor_system system_{config_};
  pool_actor pool_
    = system_.spawn(pool, pool_options{.heartbeat_interval = 100ms});
  trainer_port trainer_port_;
  std::uint16_t port_ = 0;
};

/// The process of a trainer.
class trainer_node {
public:
  explicit trainer_node(std::optional<credentials> shown = {},
                        std::uint32_t version = protocol_version)
    : keys_(std::move(shown)), link_(system_, keys_ ? &*keys_ : nullptr, 10s) {
    hello self;
    self.protocol = version;
    self.host = "test";
    self.device = "none";
    trainer_ = system_.spawn(trainer, registrar_actor{}, std::move(self),
                             std::make_shared<idle_engine>(),
                             [] { return std::string{}; });
  }

  ~trainer_node() {
    caf::anon_send_exit(trainer_, caf::exit_reason::kill);
  }

  /// Connects and registers. @returns what went wrong, if anything
  std::optional<error> join(std::uint16_t port) {
    auto service = link_.connect({"127.0.0.1", port},
                                 caf::actor_cast<trainer_actor>(trainer_));
    if (!service)
      return service.failure();
    EXPECT_EQ(service->own_host, "127.0.0.1");
    service_ = caf::actor_cast<registrar_actor>(service->service);
    caf::anon_send(trainer_, connect_atom::value, service_);
    return std::nullopt;
  }

  void leave() { caf::anon_send(trainer_, leave_atom::value); }

  /// Waits until this trainer, or its connection, is gone. @returns the reason
  caf::error await_end(bool of_connection) {
    caf::scoped_actor self{system_};
    if (of_connection)
      self->monitor(service_);
    else
      self->monitor(trainer_);
    caf::error result = caf::sec::request_timeout;
    self->receive([&](const caf::down_msg& msg) { result = msg.reason; },
                  caf::after(60s) >> [] {});
    return result;
  }

private:
  system_config config_;
  caf::actor_system system_{config_};
  std::optional<credentials> keys_;
  service_link link_;
  training_actor trainer_;
  registrar_actor service_;
};

class NetworkTest : public keys_test {
public:
  /// A service that lets in trainers.
  void serve() {
    node_ = std::make_unique<service_node>(
      trainer_port_options{.keys = service("keys", {key_role::trainer})});
  }

  /// Fails unless someone is refused, for this reason.
  void expect_refused(const credentials& shown, const std::string& reason) {
    trainer_node refused{shown};
    const auto why = refused.join(node_->port());
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, errc::not_allowed);
    EXPECT_NE(why->message.find(reason), std::string::npos) << why->message;
  }

  /// Fails unless a trainer of this service comes in.
  void expect_open() {
    const auto before = node_->present();
    trainer_node trainer{peer("keys", gpu1)};
    EXPECT_FALSE(trainer.join(node_->port()));
    EXPECT_TRUE(wait_for([&] { return node_->present() == before + 1; }));
  }

protected:
  std::unique_ptr<service_node> node_;
};

// -- in order -----------------------------------------------------------------

TEST_F(NetworkTest, ATrainerComesAndLeaves) {
  service_node node;
  trainer_node trainer;
  ASSERT_FALSE(trainer.join(node.port()));
  ASSERT_TRUE(wait_for([&] { return node.present() == 1; }));
  trainer.leave();
  EXPECT_EQ(trainer.await_end(false), caf::none);
  ASSERT_TRUE(wait_for([&] { return node.present() == 0; }));
  EXPECT_TRUE(node.trainers().at(0).left);
}

TEST_F(NetworkTest, ATrainerThatDiesIsLost) {
  service_node node;
  auto trainer = std::make_unique<trainer_node>();
  ASSERT_FALSE(trainer->join(node.port()));
  ASSERT_TRUE(wait_for([&] { return node.present() == 1; }));
  trainer.reset();
  ASSERT_TRUE(wait_for([&] { return node.present() == 0; }));
  EXPECT_FALSE(node.trainers().at(0).left);
}

TEST_F(NetworkTest, ATrainerHearsThatAServiceEnds) {
  service_node node;
  trainer_node trainer;
  ASSERT_FALSE(trainer.join(node.port()));
  ASSERT_TRUE(wait_for([&] { return node.present() == 1; }));
  node.end();
  EXPECT_EQ(trainer.await_end(true), errc::io_failed);
}

TEST_F(NetworkTest, AnotherVersionIsRefusedWithAReason) {
  service_node node;
  trainer_node trainer{{}, protocol_version + 1};
  ASSERT_FALSE(trainer.join(node.port()));
  EXPECT_EQ(trainer.await_end(false), errc::incompatible_version);
  EXPECT_TRUE(node.trainers().empty());
}

TEST_F(NetworkTest, NobodyListens) {
  std::uint16_t port = 0;
  { port = service_node{}.port(); }
  const auto why = trainer_node{}.join(port);
  ASSERT_TRUE(why);
  EXPECT_NE(why->message.find("refused"), std::string::npos) << why->message;
}

TEST_F(NetworkTest, AnotherPortOfTheServiceIsTaken) {
  service_node node;
  trainer_port_options same;
  same.where.port = node.port();
  system_config config;
  caf::actor_system system{config};
  trainer_port second{system, registrar_actor{}, same};
  const auto port = second.open();
  ASSERT_FALSE(port);
  EXPECT_EQ(port.failure().code, errc::io_failed);
}

// -- with keys ----------------------------------------------------------------

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

TEST_F(NetworkTest, PlainTrainersDoNot) {
  serve();
  EXPECT_TRUE(trainer_node{}.join(node_->port()));
  expect_open();
}

TEST_F(NetworkTest, ATrainerTalksToNoPlainService) {
  service_node plain;
  trainer_node trainer{peer("keys", gpu1)};
  const auto why = trainer.join(plain.port());
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::io_failed);
}

TEST_F(NetworkTest, KeysMayVanishWhileTheServiceRuns) {
  serve();
  trainer_node trainer{peer("keys", gpu1)};
  std::filesystem::remove_all(path("keys"));
  EXPECT_FALSE(trainer.join(node_->port()));
}

// -- rude peers ---------------------------------------------------------------

bytes joined(bytes x, const bytes& y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

frame hello_frame() {
  hello self;
  self.host = "rude";
  self.device = "none";
  return make_frame(frame_type::hello, encode(self));
}

/// A service with a healthy trainer, which must not notice anything.
struct RudePeersTest : NetworkTest {
  ~RudePeersTest() noexcept override = default;

  static trainer_port_options options() {
    trainer_port_options result;
    result.silence_max = 1s; // a beat is a quarter of that
    result.arrivals_max = 8;
    return result;
  }

  RudePeersTest() {
    EXPECT_FALSE(healthy.join(node.port()));
    EXPECT_TRUE(wait_for([&] { return node.present() == 1; }));
  }

  /// Nothing has become of the healthy trainer, and others may come.
  void expect_unharmed() {
    const auto first = node.trainers().at(0);
    EXPECT_EQ(first.lost, "");
    const auto before = node.present();
    trainer_node late;
    const auto why = late.join(node.port());
    EXPECT_FALSE(why) << why->message;
    EXPECT_TRUE(wait_for([&] { return node.present() == before + 1; }));
    late.leave();
    EXPECT_EQ(late.await_end(false), caf::none);
  }

  service_node node{options()};
  trainer_node healthy;
};

TEST_F(RudePeersTest, WhatMayNotBeSentEndsTheConnectionOfWhoSendsIt) {
  const auto greeting = test::stream_of({});
  const auto hello = test::stream_of({hello_frame()});
  // What BASP's clients say first: a handshake for a node.
  bytes basp(32);
  basp[0] = 1;
  std::vector<bytes> all{
    basp,
    bytes(100, 0xff),
    {'G', 'E', 'T', ' ', '/', '\r', '\n'},
    joined(greeting, test::raw_header(0xffff'ffff, 2)), // of 32 GiB
    joined(greeting, test::raw_header(0x2000'0000, 7)), // of 4 GiB
    joined(greeting, test::raw_header(1, 7)),           // no hello before
    joined(greeting, test::raw_header(0, 200)),
    test::stream_of({test::frame_of(frame_type::hello, 10)}), // no message
  };
  for (const auto& x : frame_rules)
    if (!x.from_trainer)
      all.push_back(joined(
        hello, test::raw_header(x.words_max == 0 ? 0 : 1,
                                static_cast<unsigned>(x.type))));
  for (std::size_t i = 0; i < all.size(); ++i) {
    raw_peer rude{node.port()};
    rude.say(all[i]);
    EXPECT_TRUE(rude.await_end()) << i;
    EXPECT_EQ(rude.heard().substr(0, link_greeting.size()), link_greeting);
  }
  EXPECT_TRUE(wait_for([&] { return node.present() == 1; }));
  expect_unharmed();
}

TEST_F(RudePeersTest, HalfAMessageAndSilenceEndAfterAWhile) {
  std::vector<std::unique_ptr<raw_peer>> all;
  for (const auto& x :
       {bytes{}, bytes{'H', 'i'}, test::stream_of({}),
        joined(test::stream_of({}), test::raw_header(100, 2)),
        joined(test::stream_of({hello_frame()}), test::raw_header(1000, 7))}) {
    all.push_back(std::make_unique<raw_peer>(node.port()));
    all.back()->say(x);
  }
  for (const auto& x : all)
    EXPECT_TRUE(x->await_end());
  expect_unharmed();
}

TEST_F(RudePeersTest, ManyConnectionsLeaveRoomForWhoSaysHello) {
  std::vector<std::unique_ptr<raw_peer>> all;
  for (int i = 0; i < 300; ++i)
    all.push_back(std::make_unique<raw_peer>(node.port()));
  expect_unharmed();
  // Of those who say nothing, the oldest were closed.
  EXPECT_TRUE(all.front()->await_end(2s));
}

TEST_F(RudePeersTest, AnAddressThatHasTheMostConnectionsMakesRoomForOthers) {
  auto few = options();
  few.connections_max = 12;
  few.arrivals_max = 100;
  service_node crowded{few};
  std::vector<std::unique_ptr<raw_peer>> greedy;
  for (int i = 0; i < 11; ++i) {
    greedy.push_back(std::make_unique<raw_peer>(crowded.port(), 2));
    greedy.back()->say(test::stream_of({hello_frame()}));
  }
  EXPECT_TRUE(wait_for([&] { return crowded.present() == 11; }));
  trainer_node first, second;
  for (auto* x : {&first, &second}) {
    const auto why = x->join(crowded.port());
    EXPECT_FALSE(why) << why->message;
  }
  // The last one of them has made room, and one more of theirs is turned away.
  EXPECT_TRUE(greedy.back()->await_end());
  raw_peer more{crowded.port(), 2};
  EXPECT_TRUE(more.await_end(2s));
  EXPECT_TRUE(wait_for([&] { return crowded.present() == 12; }));
}

TEST_F(RudePeersTest, WhoAlwaysHasSomethingToSayKeepsNobodyFromSpeaking) {
  raw_peer rude{node.port()};
  rude.say(test::stream_of({hello_frame()}));
  bytes much;
  for (int i = 0; i < 8000; ++i)
    test::append(
      much, i % 2 == 0
              ? test::frame_of(frame_type::alive, 0)
              : make_frame(frame_type::heartbeat,
                           encode(heartbeat{trainer_id{2}, lease_id{}, 0, 1})));
  std::atomic<bool> done = false;
  std::thread talker{[&] {
    while (!done && rude.say(much)) {
    }
  }};
  for (int i = 0; i < 5; ++i)
    expect_unharmed();
  done = true;
  talker.join();
}

TEST_F(RudePeersTest, WhoNeverReadsIsHeardNoLongerAndLetGo) {
  raw_peer rude{node.port()};
  rude.say(test::stream_of({hello_frame()}));
  // Each is answered.
  bytes much;
  for (int i = 0; i < 2000; ++i)
    test::append(
      much, make_frame(frame_type::goodbye, encode(goodbye{trainer_id{9}})));
  // What it may say ends with what can lie between: buffers of the kernel, and
  // what is not answered yet.
  std::size_t said = 0;
  const bool stops = wait_for(
    [&] {
      const auto before = said;
      while (const auto n = rude.say_some(much, said % much.size()))
        said += n;
      std::this_thread::sleep_for(200ms);
      return said == before;
    },
    20s);
  EXPECT_TRUE(stops) << said;
  EXPECT_EQ(node.present(), 2u); // it is not read, but still there
  EXPECT_TRUE(wait_for([&] { return node.present() == 1; }));
  expect_unharmed();
}

TEST_F(RudePeersTest, NobodyWaitsForEverForAServiceThatDoesNotAnswer) {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  ASSERT_EQ(::bind(listening, address, size), 0);
  ASSERT_EQ(::listen(listening, 8), 0);
  ASSERT_EQ(::getsockname(listening, address, &size), 0);
  system_config config;
  caf::actor_system system{config};
  service_link link{system, nullptr, 50ms};
  const auto found
    = link.connect({"127.0.0.1", ntohs(at.sin_port)}, trainer_actor{});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.failure().message, "nobody answers in time");
  ::close(listening);
}

} // namespace
} // namespace hippo
