// Members of a gang that are connected: their exchanges, and the fate of
// them when one is late, gone, silent, or lies.

#include "hippo/train/gang/connected_gang.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>

#include "hippo/train/gang/gang_workload.hpp"
#include "train/loopback_gang.hpp"
#include "train/message_of.hpp"
#include "train/part_values.hpp"
#include "train/summing_workload.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using strings = std::vector<std::string>;

gang_limits short_limits(std::chrono::milliseconds silence = 1s) {
  gang_limits result;
  result.silence = silence;
  result.hurry = 50ms;
  result.retry = 5ms;
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// Waits until all members are done, as at the end of a lease: one that closes
/// a connection takes with it what the other one has not read.
void end_together(connected_gang& mine) {
  if (mine.rank() == 0) {
    mine.await_done();
    return;
  }
  mine.tell_done(false);
  EXPECT_FALSE(mine.next());
}

/// A peer that does by hand what a member would do.
class raw_peer {
public:
  explicit raw_peer(const std::string& address)
    : socket_(std::move(*member_socket::connect(*parse_endpoint(address)))) {
    socket_.wait(false, true, 5s);
    socket_.check_connected();
  }
  explicit raw_peer(file_descriptor socket) : socket_(std::move(socket)) {}

  void say(std::span<const std::byte> bytes) {
    while (!bytes.empty())
      bytes = bytes.subspan(socket_.send(bytes));
  }

  void say_text(const std::string& text) {
    say(std::as_bytes(std::span{text}));
  }

  /// Says a frame that claims to have so many bytes, of which it has `text`.
  void say_frame(std::uint64_t kind, std::uint64_t claimed,
                 const std::string& text = {}) {
    say(std::as_bytes(std::span{&kind, 1}));
    say(std::as_bytes(std::span{&claimed, 1}));
    say_text(text);
  }

  /// Returns so many bytes, or fewer if the connection ends before, or nothing
  /// comes for a while.
  std::string hear(std::size_t size, std::chrono::milliseconds patience = 5s) {
    std::string result(size, '\0');
    std::size_t got = 0;
    try {
      while (got < size) {
        const auto n = socket_.receive(
          std::as_writable_bytes(std::span{result}).subspan(got));
        if (n == 0) {
          const auto begin = clock::now();
          socket_.wait(true, false, patience);
          if (clock::now() - begin >= patience)
            break;
        }
        got += n;
      }
    } catch (const connection_ended&) {
      is_closed = true;
    }
    result.resize(got);
    return result;
  }

  bool is_closed = false; ///< as `hear` has found

private:
  member_socket socket_;
};

std::string greet(raw_peer& peer, gang_greeting greeting) {
  peer.say(greeting.write());
  return peer.hear(gang_greeting::proof_bytes);
}

// -- exchanges -------------------------------------------------------

class ConnectedGang : public testing::TestWithParam<bool> {
protected:
  const bool encrypted = GetParam();
};

TEST_P(ConnectedGang, SumsAreOneTreeForEveryNumberOfMembers) {
  constexpr std::size_t parts = 8;
  // The last one is more than a connection holds.
  for (const std::size_t size : {0, 1, 3, 1001, 3'000'000}) {
    const auto whole = tree(0, parts, size);
    for (const std::size_t members : {2, 4, 8}) {
      loopback_gang all{members, encrypted, short_limits(5s)};
      std::vector<floats> sums(members);
      EXPECT_EQ(all.run([&](connected_gang& mine) {
        auto& x = sums[mine.rank()];
        x = tree(mine.rank() * parts / members, parts / members, size);
        sum_over_members(mine, x);
        end_together(mine);
      }),
                strings(members));
      for (const auto& x : sums)
        EXPECT_TRUE(x == whole) << members << " members, " << size;
    }
  }
}

TEST_P(ConnectedGang, TheLeadsOrdersAreCarriedOut) {
  constexpr std::size_t members = 4;
  loopback_gang all{members, encrypted, short_limits(5s)};
  std::vector<std::vector<step_t>> trained(members);
  const auto failures = all.run([&](connected_gang& mine) {
    const auto train = [&](const gang_order& x) {
      for (auto step = x.from; step < x.to; ++step) {
        floats values{static_cast<float>(step)};
        sum_over_members(mine, values);
        EXPECT_EQ(values[0], static_cast<float>(members * step));
        trained[mine.rank()].push_back(step);
      }
    };
    if (mine.rank() == 0) {
      for (const gang_order& x : {gang_order{3, 5}, {5, 6}, {6, 300}}) {
        mine.give_order(x);
        train(x);
        EXPECT_EQ(mine.await_done(), x.to == 300);
      }
      return;
    }
    while (const auto x = mine.next()) {
      train(*x);
      mine.tell_done(mine.rank() == 2 && x->to == 300);
    }
  });
  EXPECT_EQ(failures, strings(members));
  for (const auto& x : trained) {
    EXPECT_EQ(x.size(), 297);
    EXPECT_EQ(x, trained[0]);
  }
}

TEST_P(ConnectedGang, TheLeadsWorkloadWaitsUntilOthersAreReady) {
  loopback_gang all{2, encrypted, short_limits(5s)};
  std::atomic<bool> is_ready{false};
  const auto failures = all.run([&](connected_gang& mine) {
    if (mine.rank() == 1) {
      is_ready = true;
      mine.tell_done(false);
      while (const auto x = mine.next())
        mine.tell_done(x->to == 5);
      return;
    }
    summing_workload own;
    own.sum = 0;
    own.on_train = [&](step_t, step_t) { EXPECT_TRUE(is_ready); };
    std::vector<step_t> left_at;
    gang_workload work{own, mine, [&](step_t at) { left_at.push_back(at); }};
    const configuration config{{"lr", form::constant(1)}};
    work.train(config, 0, 2);
    EXPECT_GT(work.setup_ns(), 0) << "no time of steps";
    work.train(config, 2, 5);
    EXPECT_EQ(work.setup_ns(), 0);
    EXPECT_EQ(left_at, std::vector<step_t>{5});
    EXPECT_EQ(own.sum, 5);
    // It is over once anything has failed, also before the others know.
    own.on_train = [](step_t, step_t) { throw std::runtime_error("bad"); };
    EXPECT_THROW(work.train(config, 5, 6), std::runtime_error);
    own.on_train = nullptr;
    EXPECT_EQ(message_of<gang_lost>([&] { work.train(config, 5, 6); }),
              "the gang has ended: bad");
  });
  EXPECT_EQ(failures, strings(2));
}

TEST_P(ConnectedGang, AllMeasureWhenTheLeadDoes) {
  loopback_gang all{4, encrypted, short_limits(5s)};
  std::atomic<int> ready{0}, measured{0};
  const auto failures = all.run([&](connected_gang& mine) {
    const auto measure = [&] {
      std::vector<double> values(4, -1);
      values[mine.rank()] = static_cast<double>(mine.rank());
      gather_from_members(mine, std::as_writable_bytes(std::span{values}),
                          sizeof(double));
      EXPECT_EQ(values, (std::vector<double>{0, 1, 2, 3}));
    };
    if (mine.rank() > 0) {
      ++ready;
      mine.tell_done(false);
      while (const auto x = mine.next()) {
        if (x->what == gang_call::evaluate) {
          measure();
          ++measured;
        } else {
          EXPECT_EQ(x->from, 3);
          EXPECT_EQ(x->to, 4);
        }
        mine.tell_done(mine.rank() == 2);
      }
      return;
    }
    summing_workload own;
    own.sum = 7;
    own.on_evaluate = [&] {
      EXPECT_EQ(ready, 3);
      measure();
    };
    std::vector<step_t> left_at;
    gang_workload work{own, mine, [&](step_t at) { left_at.push_back(at); }};
    for (const int times : {1, 2}) {
      EXPECT_EQ(work.evaluate().at("sum"), 7);
      EXPECT_EQ(measured, 3 * times) << "it waits until all have";
    }
    EXPECT_TRUE(left_at.empty());
    work.train({{"lr", form::constant(1)}}, 3, 4);
    EXPECT_EQ(left_at, std::vector<step_t>{4});
    // Nobody is asked once anything has failed.
    own.on_evaluate = [&] {
      measure();
      throw std::runtime_error("bad");
    };
    EXPECT_THROW(work.evaluate(), std::runtime_error);
    EXPECT_EQ(message_of<gang_lost>([&] { work.evaluate(); }),
              "the gang has ended: bad");
  });
  EXPECT_EQ(failures, strings(4));
}

TEST_P(ConnectedGang, TheyComeAtDifferentMoments) {
  for (const std::size_t late : {0, 1, 3}) {
    loopback_gang all{4, encrypted, short_limits(20s)};
    std::vector<std::jthread> threads;
    std::atomic<int> there{0};
    for (std::size_t rank = 0; rank < 4; ++rank)
      threads.emplace_back([&, rank] {
        if (rank == late)
          std::this_thread::sleep_for(200ms);
        if (const auto mine = all.join(rank)) {
          ++there;
          floats values{1};
          sum_over_members(**mine, values);
          EXPECT_EQ(values[0], 4);
          end_together(**mine);
          (*mine)->finish(std::nullopt);
        }
      });
    threads.clear();
    EXPECT_EQ(there, 4);
  }
}

TEST_P(ConnectedGang, AMemberThatComputesForLongIsNotLost) {
  loopback_gang all{2, encrypted, short_limits()};
  EXPECT_EQ(all.run([&](connected_gang& mine) {
    if (mine.rank() == 1)
      std::this_thread::sleep_for(2500ms);
    floats values{1, 2, 3, 4};
    sum_over_members(mine, values);
    EXPECT_EQ(values[3], 8);
    end_together(mine);
  }),
            strings(2));
}

// -- failures -----------------------------------------------------------------

TEST_P(ConnectedGang, AFailureReachesAll) {
  for (const std::size_t size : {2, 4, 8})
    for (const std::size_t bad : {std::size_t{0}, size - 1}) {
      loopback_gang all{size, encrypted, short_limits(5s)};
      const auto failures = all.run([&](connected_gang& mine) {
        for (int round = 0; round < 1000; ++round) {
          if (mine.rank() == bad && round == 3)
            throw std::runtime_error("it has no memory");
          auto values = values_of(mine.rank(), 1000);
          sum_over_members(mine, values);
        }
      });
      for (std::size_t rank = 0; rank < size; ++rank)
        EXPECT_EQ(failures[rank], rank == bad
                                    ? "it has no memory"
                                    : "member " + std::to_string(bad) + " of "
                                        + std::to_string(size) + " ("
                                        + all.places[0].members[bad]
                                        + ") trains no more: it has no memory");
    }
}

TEST_P(ConnectedGang, OneThatDoesNotComeIsSaid) {
  loopback_gang all{4, encrypted, short_limits()};
  std::vector<std::string> failures(4);
  {
    std::vector<std::jthread> threads;
    for (const std::size_t rank : {0, 1, 3})
      threads.emplace_back([&, rank] {
        const auto mine = all.join(rank);
        if (mine)
          return; // it has no business with that one
        EXPECT_EQ(mine.failure().code, errc::gang_lost);
        failures[rank] = mine.failure().message;
      });
  }
  const auto name =
    "member 2 of 4 (" + all.places[0].members[2] + ") has not joined within ";
  EXPECT_TRUE(contains(failures[0], name)) << failures[0];
  EXPECT_TRUE(contains(failures[0], ": it has not come")) << failures[0];
  EXPECT_TRUE(contains(failures[3], name)) << failures[3];
  EXPECT_TRUE(contains(failures[3], "has closed the connection"))
    << failures[3];
  EXPECT_TRUE(failures[1].empty());
}

TEST_P(ConnectedGang, OneThatLeavesIsLost) {
  loopback_gang all{2, encrypted, short_limits(5s)};
  const auto failures = all.run([&](connected_gang& mine) {
    if (mine.rank() == 1)
      return;
    floats values{1};
    sum_over_members(mine, values);
  });
  EXPECT_EQ(failures[0], "member 1 of 2 (" + all.places[0].members[1]
                           + ") has closed the connection");
}

TEST_P(ConnectedGang, CancellationEndsAnyWaiting) {
  for (const std::size_t rank : {0, 1}) {
    // Nobody else comes.
    loopback_gang alone{2, encrypted};
    const auto end = clock::now() + 50ms;
    const auto is_cancelled = [end] { return clock::now() > end; };
    const auto mine = alone.join(rank, is_cancelled);
    ASSERT_FALSE(mine);
    EXPECT_EQ(mine.failure().code, errc::cancelled);
  }
}

TEST_P(ConnectedGang, ACancelledMemberLeavesAtOnceAndTheLeadHurries) {
  for (const std::size_t cancelled : {0, 1}) {
    auto limits = short_limits(60s);
    loopback_gang all{2, encrypted, limits};
    std::atomic<bool> is_cancelled{false}, is_told{false};
    strings said(2);
    {
      std::vector<std::jthread> threads;
      for (const std::size_t rank : {0, 1})
        threads.emplace_back([&, rank] {
          const auto mine = all.join(
            rank, [&, rank] { return rank == cancelled && is_cancelled; });
          ASSERT_TRUE(mine);
          if (rank != cancelled) {
            is_cancelled = true;
            while (!is_told)
              std::this_thread::sleep_for(1ms);
          }
          said[rank] = message_of<gang_lost>([&] {
            floats values{1};
            sum_over_members(**mine, values);
          });
          if (rank == cancelled)
            (*mine)->finish(error{errc::cancelled, "cancelled at step 3"});
          is_told = true;
        });
    }
    if (cancelled == 0) {
      EXPECT_TRUE(contains(said[0], "is silent since 0.05 s")) << said[0];
    } else {
      EXPECT_TRUE(contains(said[1], "is left, since the lease was cancelled"))
        << said[1];
      EXPECT_TRUE(contains(said[0], "trains no more: cancelled at step 3"))
        << said[0];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, ConnectedGang, testing::Bool(),
                         [](const auto& x) {
                           return x.param ? "Encrypted" : "Plain";
                         });

// -- peers that do as they like -----------------------------------------------

/// The lead of two, whose other member is told by hand what to say.
struct WithARawPeer : testing::Test {
  /// Returns the clause about the peer after which the lead is lost.
  std::string lost_by(const std::function<void(raw_peer&)>& work,
                      const std::function<void(connected_gang&)>& lead_does) {
    loopback_gang all{2, false, short_limits()};
    expected<std::unique_ptr<connected_gang>> lead{errc::io_failed, ""};
    std::jthread joining{[&] { lead = all.join(0); }};
    std::optional<raw_peer> peer;
    for (std::string answer; answer.empty();) {
      peer.emplace(all.places[0].members[0]);
      answer = greet(*peer, gang_greeting::of(all.places[1], 0));
    }
    joining.join();
    if (!lead)
      return lead.failure().message;
    std::jthread working{[&] { work(*peer); }};
    const auto text = message_of<gang_lost>([&] { lead_does(**lead); });
    const auto name = "member 1 of 2 (" + all.places[0].members[1] + ") ";
    EXPECT_TRUE(text.starts_with(name)) << text;
    lead = {errc::io_failed, ""}; // so that the peer sees an end
    working.join();
    return text.substr(std::min(name.size(), text.size()));
  }

  static void exchange(connected_gang& mine) {
    std::array<char, 100> out{}, in{};
    mine.exchange(1, std::as_bytes(std::span{out}),
                  std::as_writable_bytes(std::span{in}));
  }
};

TEST_F(WithARawPeer, SilenceIsNotWaitedForLong) {
  EXPECT_EQ(lost_by([](raw_peer& x) { x.hear(1000); }, exchange),
            "is silent since 1 s");
  // In the midst of a frame, too.
  EXPECT_EQ(lost_by(
              [](raw_peer& x) {
                x.say_frame(2, 100, "begun");
                x.hear(1000);
              },
              exchange),
            "is silent since 1 s");
}

TEST_F(WithARawPeer, OtherLengthsAreRefusedBeforeTheyTakeMemory) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{99},
                                   std::uint64_t{101}, std::uint64_t{1} << 63})
    EXPECT_EQ(lost_by([&](raw_peer& x) { x.say_frame(2, size); }, exchange),
              "sends " + std::to_string(size)
                + " bytes of values where 100 are awaited");
  for (const std::uint64_t kind : {1, 3, 4, 5, 6, 7, 8})
    EXPECT_EQ(
      lost_by([&](raw_peer& x) { x.say_frame(kind, std::uint64_t{1} << 40); },
              exchange),
      "sends a frame of 1099511627776 bytes, which may have at most "
      "4096");
}

TEST_F(WithARawPeer, LongTextsOfRanksAreRefused) {
  const auto order = [](connected_gang& mine) { mine.hear(); };
  for (const std::uint64_t kind : {8, 9, 10, 11, 12, 13, 14})
    EXPECT_EQ(lost_by([&](raw_peer& x) { x.say_frame(kind, 4097); }, order),
              "sends a frame of 4097 bytes, which may have at most 4096");
  EXPECT_EQ(lost_by([&](raw_peer& x) { x.say_frame(15, 65537); }, order),
            "sends a frame of 65537 bytes, which may have at most 65536");
}

TEST_F(WithARawPeer, NoFramesAreRefused) {
  for (const std::uint64_t kind :
       {std::uint64_t{0}, std::uint64_t{16}, (std::uint64_t{1} << 32) + 2})
    EXPECT_EQ(lost_by([&](raw_peer& x) { x.say_frame(kind, 100); }, exchange),
              "sends something that is no frame");
}

TEST_F(WithARawPeer, FramesOutOfTurnAreRefused) {
  EXPECT_EQ(lost_by([](raw_peer& x) { x.say_frame(4, 1, "x"); }, exchange),
            "sends something else than values");
  const auto order = [](connected_gang& mine) {
    mine.give_order({0, 1});
    mine.await_done();
  };
  EXPECT_EQ(lost_by([](raw_peer& x) { x.say_frame(2, 4, "1234"); }, order),
            "sends values where none are awaited");
  for (const std::uint64_t kind : {3, 7, 8})
    EXPECT_EQ(lost_by([&](raw_peer& x) { x.say_frame(kind, 0); }, order),
              "does not say that it is done");
  EXPECT_EQ(lost_by([](raw_peer& x) { x.say_frame(4, 2, "xx"); }, order),
            "does not say that it is done");
}

TEST_F(WithARawPeer, SignsOfLifeComeAtAnyTime) {
  std::string in(100, '\0');
  EXPECT_EQ(lost_by(
              [](raw_peer& x) {
                x.say_frame(1, 0);
                x.say_frame(1, 0);
                x.say_frame(2, 100, std::string(100, 'v'));
                x.say_frame(1, 0);
                x.say_frame(5, 3, "why");
              },
              [&](connected_gang& mine) {
                for (int i = 0; i < 2; ++i)
                  mine.exchange(1, {}, std::as_writable_bytes(std::span{in}));
              }),
            "trains no more: why");
  EXPECT_EQ(in, std::string(100, 'v'));
}

TEST(GangLead, OrdersThatAreNoneAreRefused) {
  using order = std::pair<std::uint64_t, std::string>;
  for (const auto& [kind, text] :
       {order{3, ""}, order{3, "short"}, order{3, "01234567890123456"},
        order{12, "x"}, order{12, "0123456789012345"}}) {
    loopback_gang all{2, false, short_limits()};
    // A member that connects to what it takes for the lead.
    auto listening = gang_port::listen({"127.0.0.1", 0}, false);
    auto place = all.places[1];
    place.members[0] = (*listening)->address();
    auto lead_place = place;
    lead_place.rank = 0;
    gang_port::awaiting awaited{**listening, lead_place, {1}};
    expected<std::unique_ptr<connected_gang>> mine{errc::io_failed, ""};
    std::jthread joining{[&] {
      mine = connected_gang::join(*all.ports[1], place, [] { return false; });
    }};
    std::optional<file_descriptor> socket;
    while (!socket)
      socket = awaited.take(1);
    joining.join();
    ASSERT_TRUE(mine);
    raw_peer lead{std::move(*socket)};
    lead.say_frame(kind, text.size(), text);
    EXPECT_TRUE(contains(message_of<gang_lost>([&] { (*mine)->next(); }),
                         "gives an order that is none"));
  }
}

TEST(GangLead, OneThatDoesNotKnowTheSecretIsNotBelieved) {
  loopback_gang all{2, false, short_limits()};
  const file_descriptor listening{
    ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(::listen(listening.number(), 4), 0); // at any port
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ::getsockname(listening.number(), reinterpret_cast<sockaddr*>(&own), &size);
  auto place = all.places[1];
  place.members[0] = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  std::jthread lying{[&] {
    raw_peer peer{file_descriptor{
      ::accept4(listening.number(), nullptr, nullptr, SOCK_NONBLOCK)}};
    const auto words = peer.hear(gang_greeting::bytes);
    const auto greeting = gang_greeting::read(std::as_bytes(std::span{words}));
    ASSERT_TRUE(greeting);
    EXPECT_FALSE(greeting->is_proved_by("another"));
    EXPECT_FALSE(contains(words, "s3cret"));
    const auto answer = greeting->answer("another");
    peer.say_text(answer);
    ::shutdown(listening.number(), SHUT_RDWR); // no further one
  }};
  const auto mine =
    connected_gang::join(*all.ports[1], place, [] { return false; });
  ASSERT_FALSE(mine);
  EXPECT_TRUE(contains(mine.failure().message, "member 0 of 2"));
}

// -- the port -----------------------------------------------------------------

struct GangPort : testing::Test {
  loopback_gang all{4, false, short_limits()};
  gang_port& port = *all.ports[0];
  const std::string address = port.address();

  /// Whether a greeting is answered.
  bool is_let_in(const gang_greeting& greeting) {
    raw_peer peer{address};
    return greet(peer, greeting).size() == gang_greeting::proof_bytes;
  }
};

TEST_F(GangPort, LetsInTheOneThatIsAwaitedAndProvesIt) {
  const auto right = gang_greeting::of(all.places[2], 0);
  EXPECT_FALSE(is_let_in(right)) << "nobody awaits it";
  gang_port::awaiting awaited{port, all.places[0], {1, 2}};
  EXPECT_TRUE(is_let_in(right));
  auto place = all.places[2];
  place.secret = "other";
  EXPECT_FALSE(is_let_in(gang_greeting::of(place, 0))) << "another secret";
  EXPECT_FALSE(is_let_in(gang_greeting::of(all.places[3], 0)))
    << "another member";
  EXPECT_FALSE(is_let_in(gang_greeting::of(all.places[2], 1)))
    << "to another one";
  place = all.places[2];
  place.lead = lease_id{8};
  EXPECT_FALSE(is_let_in(gang_greeting::of(place, 0))) << "another gang";
  // A proof is of one gang, and of two members.
  gang_port::awaiting second{port, all.places[1], {2}};
  auto other_gang = all.places[0];
  other_gang.lead = lease_id{8};
  gang_port::awaiting third{port, other_gang, {2}};
  auto claimed = right;
  claimed.from = 1;
  EXPECT_FALSE(is_let_in(claimed));
  claimed = right;
  claimed.to = 1;
  EXPECT_FALSE(is_let_in(claimed));
  EXPECT_TRUE(is_let_in(gang_greeting::of(all.places[2], 1)));
  claimed = right;
  claimed.lead = lease_id{8};
  EXPECT_FALSE(is_let_in(claimed));
  auto member = all.places[2];
  member.lead = lease_id{8};
  EXPECT_TRUE(is_let_in(gang_greeting::of(member, 0)));
}

TEST_F(GangPort, TheLastConnectionOfAMemberCounts) {
  gang_port::awaiting awaited{port, all.places[0], {2}};
  const auto greeting = gang_greeting::of(all.places[2], 0);
  raw_peer first{address}, second{address};
  EXPECT_FALSE(greet(first, greeting).empty());
  EXPECT_FALSE(greet(second, greeting).empty());
  first.hear(1);
  EXPECT_TRUE(first.is_closed);
  auto taken = awaited.take(2);
  ASSERT_TRUE(taken);
  second.say_frame(1, 0);
  EXPECT_EQ(raw_peer{std::move(*taken)}.hear(1), "\1");
  EXPECT_FALSE(awaited.take(2));
  EXPECT_FALSE(is_let_in(greeting)) << "it was taken";
  awaited.await_again(2);
  EXPECT_TRUE(is_let_in(greeting));
}

TEST_F(GangPort, StrangersAreLetGo) {
  raw_peer garbage{address};
  garbage.say_text(std::string(200, 'x'));
  garbage.hear(1);
  EXPECT_TRUE(garbage.is_closed);
  // One that says nothing, once there are many.
  raw_peer silent{address};
  std::vector<std::unique_ptr<raw_peer>> many;
  for (int i = 0; i < 64; ++i)
    many.push_back(std::make_unique<raw_peer>(address));
  silent.hear(1);
  EXPECT_TRUE(silent.is_closed);
  many.back()->hear(1, 50ms);
  EXPECT_FALSE(many.back()->is_closed);
  // And after a while.
  auto limits = short_limits();
  limits.greeting = 20ms;
  const auto hasty = gang_port::listen({"127.0.0.1", 0}, false, limits);
  raw_peer late{(*hasty)->address()};
  late.hear(1);
  EXPECT_TRUE(late.is_closed);
}

TEST_F(GangPort, ListensWhereItIsTold) {
  EXPECT_TRUE(address.starts_with("127.0.0.1:"));
  EXPECT_NE(parse_endpoint(address)->port, 0);
  const auto taken = gang_port::listen(*parse_endpoint(address), false);
  ASSERT_FALSE(taken);
  EXPECT_TRUE(contains(taken.failure().message, "cannot listen at " + address))
    << taken.failure().message;
  EXPECT_FALSE(gang_port::listen({"no-such-host.invalid", 0}, false));
}

TEST_F(GangPort, ListensElsewhereFromThenOn) {
  const auto made = gang_port::make(false, short_limits());
  ASSERT_TRUE(made);
  auto& moving = **made;
  EXPECT_EQ(moving.address(), "");
  EXPECT_FALSE(moving.move_to({"127.0.0.1", 0}));
  const auto first = moving.address();
  EXPECT_TRUE(first.starts_with("127.0.0.1:")) << first;
  EXPECT_FALSE(moving.move_to({"127.0.0.1", 0}));
  EXPECT_EQ(moving.address(), first) << "it is there";
  const auto greeting = gang_greeting::of(all.places[2], 0);
  gang_port::awaiting awaited{moving, all.places[0], {1, 2}};
  {
    raw_peer peer{first};
    EXPECT_FALSE(greet(peer, greeting).empty());
  }
  const auto come = awaited.take(2);
  ASSERT_TRUE(come);
  EXPECT_FALSE(moving.move_to({"127.0.0.2", 0}));
  const auto second = moving.address();
  EXPECT_TRUE(second.starts_with("127.0.0.2:")) << second;
  raw_peer peer{second};
  EXPECT_FALSE(greet(peer, gang_greeting::of(all.places[1], 0)).empty());
  EXPECT_TRUE(awaited.take(1));
  // The former place is free again.
  EXPECT_TRUE(gang_port::listen(*parse_endpoint(first), false));
  const auto why = moving.move_to({"203.0.113.7", 0});
  ASSERT_TRUE(why);
  EXPECT_TRUE(contains(why->message, "cannot listen at 203.0.113.7:0"));
  EXPECT_EQ(moving.address(), "") << "nobody reaches it";
}

TEST_F(GangPort, AReplayedGreetingDoesNoHarmUnderTls) {
  loopback_gang both{2, true, short_limits(20s)};
  expected<std::unique_ptr<connected_gang>> lead{errc::io_failed, ""};
  std::jthread joining{[&] { lead = both.join(0); }};
  // A greeting that somebody has overheard.
  for (std::string answer; answer.empty();) {
    raw_peer peer{both.places[0].members[0]};
    answer = greet(peer, gang_greeting::of(both.places[1], 0));
    peer.say_text(std::string(200, 'x'));
  }
  const auto other = both.join(1);
  joining.join();
  EXPECT_TRUE(lead);
  EXPECT_TRUE(other);
}

} // namespace
} // namespace hippo
