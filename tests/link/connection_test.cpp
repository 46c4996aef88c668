#include "hippo/net/link/framed_connection.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "hippo/net/link/link_set.hpp"
#include "link/frames.hpp"

namespace hippo {
namespace {

using test::bytes;
using test::frame_of;

/// One end of a connection, and what it hears.
struct end {
  end(kj::Own<kj::AsyncIoStream> stream, link_side peer,
      const link_limits& limits)
    : connection(kj::mv(stream), peer, limits),
      work(connection
             .run([this] { greeted = true; },
                  [this](frame x) { taken.push_back(std::move(x)); })
             .then([this] { ended = "in order"; },
                   [this](const kj::Exception& x) { ended = explain_end(x); })
             .eagerlyEvaluate(nullptr)) {}

  bool greeted = false;
  std::vector<frame> taken;
  std::string ended; ///< empty: not yet
  framed_connection connection;
  kj::Promise<void> work; ///< last: it uses all of the above
};

struct ConnectionTest : testing::Test {
  ~ConnectionTest() noexcept override = default;

  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  link_limits limits{.silent_beats_max = 5, .hello_beats_max = 3,
                     .end_beats_max = 2, .unsent_bytes_pause = 10'000,
                     .unsent_bytes_max = 1'000'000, .unread_frames_max = 8,
                     .unread_bytes_max = 800'000};

  /// The service's end, at which a trainer is heard.
  end service{kj::mv(pipe.ends[0]), link_side::trainer, limits};

  void run() {
    for (int i = 0; i < 3000; ++i)
      kj::evalLater([] {}).wait(scope);
  }

  void beat(int times) {
    for (; times > 0; --times) {
      service.connection.beat();
      run();
    }
  }
};

struct TwoEndsTest : ConnectionTest {
  ~TwoEndsTest() noexcept override = default;

  end trainer{kj::mv(pipe.ends[1]), link_side::service, limits};
};

/// A peer that says what it likes.
struct RudePeerTest : ConnectionTest {
  ~RudePeerTest() noexcept override = default;

  kj::AsyncIoStream& stream = *pipe.ends[1];

  void say(const bytes& content) {
    said = content;
    saying = stream.write(said.data(), said.size()).eagerlyEvaluate(nullptr);
    run();
  }

  /// Reads for a while. @returns how many bytes came
  std::size_t hear(std::size_t most) {
    heard.resize(most);
    std::size_t result = 0;
    auto reading = stream.tryRead(heard.data(), most, most)
                     .then([&](std::size_t n) { result = n; })
                     .eagerlyEvaluate(nullptr);
    run();
    return result;
  }

  bytes said, heard;
  kj::Promise<void> saying = kj::READY_NOW;
};

TEST_F(TwoEndsTest, FramesComeInTheirOrderBothWays) {
  trainer.connection.send(frame_of(frame_type::hello, 3));
  for (std::size_t i = 1; i <= 5; ++i)
    trainer.connection.send(frame_of(frame_type::report, 1000 * i));
  service.connection.send(frame_of(frame_type::welcome, 2));
  service.connection.send(frame_of(frame_type::lease, 9000));
  run();
  EXPECT_TRUE(service.greeted && trainer.greeted);
  ASSERT_EQ(service.taken.size(), 6u);
  for (std::size_t i = 1; i <= 5; ++i)
    EXPECT_TRUE(test::operator==(service.taken[i],
                                 frame_of(frame_type::report, 1000 * i)));
  ASSERT_EQ(trainer.taken.size(), 2u);
  EXPECT_EQ(trainer.taken[1].message->size(), 9000u);
}

TEST_F(TwoEndsTest, BothMayHaveMuchToSayAtATime) {
  trainer.connection.send(frame_of(frame_type::hello, 1));
  service.connection.send(frame_of(frame_type::welcome, 1));
  for (int i = 0; i < 5; ++i) {
    trainer.connection.send(frame_of(frame_type::report, 20'000));
    service.connection.send(frame_of(frame_type::lease, 20'000));
  }
  run();
  EXPECT_EQ(service.taken.size(), 6u);
  EXPECT_EQ(trainer.taken.size(), 6u);
}

TEST_F(TwoEndsTest, ManyBeatsOfSilenceOnTopPassWhenBothBeat) {
  trainer.connection.send(frame_of(frame_type::hello, 1));
  service.connection.send(frame_of(frame_type::welcome, 1));
  run();
  for (int i = 0; i < 30; ++i) {
    trainer.connection.beat();
    beat(1);
  }
  EXPECT_EQ(service.ended, "");
  EXPECT_EQ(trainer.ended, "");
  EXPECT_EQ(trainer.taken.size(), 1u); // that it is alive is told nobody
}

TEST_F(TwoEndsTest, WhatWasSentBeforeTheEndStillComes) {
  trainer.connection.send(frame_of(frame_type::hello, 1));
  run();
  service.connection.send(frame_of(frame_type::welcome, 5000));
  service.connection.finish();
  run();
  ASSERT_EQ(trainer.taken.size(), 1u);
  EXPECT_EQ(trainer.ended, "in order");
}

TEST_F(TwoEndsTest, NoMoreIsReadThanIsWorkedThrough) {
  trainer.connection.send(frame_of(frame_type::hello, 1));
  for (int i = 0; i < 100; ++i)
    trainer.connection.send(frame_of(frame_type::resent, 200));
  run();
  // Beyond the limit there is what came with the same reading.
  EXPECT_GE(service.taken.size(), limits.unread_frames_max);
  EXPECT_LE(service.taken.size(), limits.unread_frames_max + 11);
  beat(20); // it is not its fault that it is not heard
  EXPECT_EQ(service.ended, "");
  for (std::size_t done = 0; done < service.taken.size();) {
    const auto now = service.taken.size();
    service.connection.give_back(now - done, 0);
    done = now;
    run();
  }
  EXPECT_EQ(service.taken.size(), 101u);
}

TEST_F(TwoEndsTest, NoMoreBytesAreReadThanAreWorkedThrough) {
  trainer.connection.send(frame_of(frame_type::hello, 1));
  for (int i = 0; i < 7; ++i)
    trainer.connection.send(frame_of(frame_type::resent, 17'000));
  run();
  std::size_t unread = 0;
  for (const auto& x : service.taken)
    unread += x.bytes();
  EXPECT_GE(unread, limits.unread_bytes_max);
  EXPECT_LT(unread, limits.unread_bytes_max + service.taken.back().bytes());
  EXPECT_LT(service.taken.size(), limits.unread_frames_max);
  for (std::size_t done = 0; done < service.taken.size(); ++done) {
    service.connection.give_back(1, service.taken[done].bytes());
    run();
  }
  EXPECT_EQ(service.taken.size(), 8u);
}

TEST_F(RudePeerTest, WhoSaysNothingIsLetGo) {
  beat(4);
  EXPECT_EQ(service.ended, "it does not say who it is");
}

TEST_F(RudePeerTest, HalfAMessageAndSilenceIsLetGo) {
  auto said_so_far = test::stream_of({frame_of(frame_type::hello, 1),
                                      frame_of(frame_type::report, 100)});
  said_so_far.resize(said_so_far.size() - 300);
  say(said_so_far);
  EXPECT_EQ(service.taken.size(), 1u);
  beat(6);
  EXPECT_EQ(service.ended, "nothing is heard of it");
}

/// One end whose peers' messages are booked.
struct BookedTest : testing::Test {
  ~BookedTest() noexcept override = default;

  struct guest {
    kj::TwoWayPipe pipe = kj::newTwoWayPipe();
    std::string ended;
    std::size_t taken = 0;
    bytes said;
    kj::Promise<void> saying = kj::READY_NOW;
    std::optional<link_handle> link;
  };

  kj::AsyncIoContext io = kj::setupAsyncIo();
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  byte_ledger ledger{"peers", 1 << 20};
  std::map<int, guest> guests;
  std::unique_ptr<link_set> links
    = std::make_unique<link_set>(timer, link_limits{.silent_beats_max = 30});

  void TearDown() override { links.reset(); }

  void run() {
    for (int i = 0; i < 3000; ++i)
      kj::evalLater([] {}).wait(io.waitScope);
    io.waitScope.poll(); // what handles have said
  }

  void beat(int times = 1) {
    for (; times > 0; --times) {
      timer.advanceTo(timer.now() + 1 * kj::SECONDS);
      run();
    }
  }

  guest& come(int number, const std::string& address = "10.0.0.1") {
    auto& x = guests[number];
    x.link = links->add(
      kj::mv(x.pipe.ends[0]), link_side::trainer,
      {nullptr, [&x](const link_handle&, const frame&) { ++x.taken; },
       [&x](const std::string& why) { x.ended = why; }},
      link_set::party{ledger.root().open(address).open(
                        "connection " + std::to_string(number)),
                      address});
    run();
    return x;
  }

  /// Says hello, and so many bytes of a message of so many words.
  void say_half(guest& x, std::size_t words, std::size_t bytes_of_it) {
    x.said = test::stream_of({frame_of(frame_type::hello, 1),
                              frame_of(frame_type::report, words)});
    x.said.resize(x.said.size() - 8 * words + bytes_of_it);
    x.saying = x.pipe.ends[1]->write(x.said.data(), x.said.size())
                 .eagerlyEvaluate(nullptr);
    run();
  }
};

TEST_F(BookedTest, WhatIsHeldOfAMessageIsBookedUntilItsPeerGoes) {
  auto& x = come(1);
  say_half(x, 100'000, 200'000);
  EXPECT_GE(ledger.root().held(), 200'000u);
  EXPECT_LE(ledger.root().held(), 2 * 200'000u + 8192);
  x.pipe.ends[1] = nullptr;
  run();
  EXPECT_NE(x.ended, "");
  EXPECT_EQ(ledger.root().held(), 0u);
}

TEST_F(BookedTest, SmallMessagesAreBookedNowhere) {
  say_half(come(1), 1000, 3000);
  EXPECT_EQ(ledger.root().held(), 0u);
}

TEST_F(BookedTest, WhatIsNotWorkedThroughIsBooked) {
  auto& x = come(1);
  say_half(x, 10'000, 80'000);
  EXPECT_EQ(x.taken, 2u);
  EXPECT_GE(ledger.root().held(), 80'000u);
  x.link->give_back(2, 80'040);
  run();
  EXPECT_EQ(ledger.root().held(), 0u);
}

TEST_F(BookedTest, TheOldestHalfMessageOfAnAddressMakesRoom) {
  for (int i = 1; i < 30; ++i) {
    come(i);
    say_half(guests[i], 100'000, 30'000);
    beat();
  }
  for (int i = 1; i < 29; ++i) {
    EXPECT_LE(guests[i].ended.empty(), guests[i + 1].ended.empty()) << i;
  }
  EXPECT_NE(guests[1].ended.find("another connection of its address"),
            std::string::npos)
    << guests[1].ended;
  EXPECT_EQ(guests[29].ended, "");
  EXPECT_LE(ledger.root().held(), ledger.room() / 2);
  // Another address has a share of its own, whatever this one holds.
  auto& other = come(100, "10.0.0.2");
  say_half(other, 20'000, 60'000);
  EXPECT_EQ(other.ended, "");
}

TEST_F(BookedTest, AMessageBeyondItsShareIsRefusedWithAReason) {
  auto& x = come(1);
  say_half(x, 200'000, 600'000);
  EXPECT_NE(x.ended.find("a message of it is not taken: connection 1 takes"),
            std::string::npos)
    << x.ended;
  EXPECT_EQ(ledger.root().held(), 0u);
}

TEST_F(RudePeerTest, HalfAMessageAndTheEndIsNoOrderlyEnd) {
  auto half = test::stream_of({frame_of(frame_type::hello, 100)});
  half.resize(half.size() - 8);
  say(half);
  stream.shutdownWrite();
  run();
  EXPECT_EQ(service.ended, "it went away in the midst of a message");
  EXPECT_TRUE(service.taken.empty());
}

TEST_F(RudePeerTest, WhatIsBeforeAFaultCountsAndNothingAfterIt) {
  auto x = test::stream_of(
    {frame_of(frame_type::hello, 1), frame_of(frame_type::report, 1),
     frame_of(frame_type::lease, 1), frame_of(frame_type::report, 1)});
  say(x);
  EXPECT_EQ(service.taken.size(), 2u);
  EXPECT_EQ(service.ended,
            "it sends a frame of type 4, which a trainer may not");
}

TEST_F(RudePeerTest, WhoTakesNothingIsReadNoFurtherAndLetGo) {
  say(test::stream_of({frame_of(frame_type::hello, 1)}));
  for (int i = 0; i < 200; ++i)
    service.connection.send(frame_of(frame_type::ack, 10));
  run();
  bytes more;
  test::append(more, frame_of(frame_type::report, 1));
  say(more); // which is read by what waited for it already
  say(more);
  EXPECT_EQ(service.taken.size(), 2u);
  beat(6);
  EXPECT_EQ(service.ended, "it does not take what is sent to it");
}

TEST_F(RudePeerTest, WhoTakesThingsSlowlyStays) {
  say(test::stream_of({frame_of(frame_type::hello, 1)}));
  for (int i = 0; i < 3; ++i)
    service.connection.send(frame_of(frame_type::lease, 3000));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(hear(16'400), 16'400u) << i;
    beat(1);
  }
  EXPECT_EQ(hear(6000), 6000u);
  beat(1);
  EXPECT_EQ(service.ended, "");
}

TEST_F(RudePeerTest, MoreThanEnoughForWhoTakesNothingEndsIt) {
  say(test::stream_of({frame_of(frame_type::hello, 1)}));
  for (int i = 0; i < 130; ++i)
    service.connection.send(frame_of(frame_type::lease, 1000));
  run();
  EXPECT_EQ(service.ended, "it does not take what is sent to it");
}

} // namespace
} // namespace hippo
