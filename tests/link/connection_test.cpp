#include "hippo/link/framed_connection.hpp"

#include <gtest/gtest.h>

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

  void say(const bytes& x) {
    said = x;
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
