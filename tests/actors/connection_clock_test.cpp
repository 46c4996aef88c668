#include "gateway/connection_clock.hpp"

#include <random>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using verdict = connection_clock::verdict;

connection_times short_times() {
  return {{3, 0}, {5, 100}, {4, 10}, {6, 1000}};
}

connection_clock greeted() {
  connection_clock result{short_times()};
  result.note_let_in();
  result.note_greeted();
  return result;
}

/// Returns how many beats it takes to be let go, with `each` before every one.
template <class F>
unsigned beats_until(verdict what, connection_clock& x, F each) {
  for (unsigned i = 1; i < 100'000; ++i) {
    each();
    if (const auto now = x.beat(); now != verdict::fine) {
      EXPECT_EQ(now, what);
      return i;
    }
  }
  return 0;
}

TEST(ConnectionClockTest, WhoMakesNoHandshakeIsLetGo) {
  connection_clock x{short_times()};
  // Bytes of a handshake give it no time.
  EXPECT_EQ(beats_until(verdict::no_handshake, x, [&] { x.note_read(1000); }),
            4u);
}

TEST(ConnectionClockTest, WhoSaysNothingIsLetGo) {
  connection_clock x{short_times()};
  x.beat();
  x.note_let_in();
  EXPECT_EQ(beats_until(verdict::silent, x, [] {}), 6u);
}

TEST(ConnectionClockTest, WhoHasGreetedMayBeSilentForEver) {
  auto x = greeted();
  EXPECT_EQ(beats_until(verdict::fine, x, [] {}), 0u);
}

TEST(ConnectionClockTest, HalfARequestIsNotWaitedForHoweverItDrips) {
  auto x = greeted();
  x.note_request_begun();
  EXPECT_EQ(beats_until(verdict::slow_request, x, [] {}), 5u);
  auto y = greeted();
  y.note_request_begun();
  // A byte in each beat gives a beat for every ten.
  EXPECT_EQ(beats_until(verdict::slow_request, y, [&] { y.note_read(1); }), 5u);
  auto z = greeted();
  z.note_request_begun();
  EXPECT_EQ(beats_until(verdict::fine, z, [&] { z.note_read(10); }), 0u);
}

TEST(ConnectionClockTest, TheServiceReadingNothingIsNotThePeersFault) {
  auto x = greeted();
  x.note_request_begun();
  x.note_paused(true);
  EXPECT_EQ(beats_until(verdict::fine, x, [] {}), 0u);
  x.note_paused(false);
  EXPECT_EQ(beats_until(verdict::slow_request, x, [] {}), 5u);
}

TEST(ConnectionClockTest, WhoTakesAnAnswerTooSlowlyIsLetGo) {
  auto x = greeted();
  x.note_unwritten(1 << 20);
  EXPECT_FALSE(x.is_behind());
  EXPECT_EQ(beats_until(verdict::slow_answer, x, [] {}), 7u);
  EXPECT_TRUE(x.is_behind());
  auto y = greeted();
  y.note_unwritten(1 << 30);
  EXPECT_EQ(beats_until(verdict::slow_answer, y, [&] { y.note_written(100); }),
            7u);
  EXPECT_TRUE(y.is_behind());
  auto z = greeted();
  z.note_unwritten(100'000);
  for (int i = 0; i < 100; ++i) {
    z.note_written(1000);
    EXPECT_EQ(z.beat(), verdict::fine);
    EXPECT_FALSE(z.is_behind());
  }
}

/// What the header says, written down plainly.
struct model {
  connection_times times = short_times();
  bool let_in = false, greeted = false, in_request = false, paused = false;
  std::uint64_t unwritten = 0;
  std::uint64_t opening = 0, opening_bytes = 0;
  std::uint64_t request = 0, request_bytes = 0;
  std::uint64_t answer = 0, answer_bytes = 0;

  static bool over(std::uint64_t beats, std::uint64_t bytes,
                   const phase_limit& x) {
    return beats > x.beats
                     + (x.bytes_per_beat == 0 ? 0 : bytes / x.bytes_per_beat);
  }

  verdict beat() {
    if (!let_in)
      return over(++opening, opening_bytes, times.handshake)
               ? verdict::no_handshake
               : verdict::fine;
    if (unwritten > 0)
      return over(++answer, answer_bytes, times.answer) ? verdict::slow_answer
                                                        : verdict::fine;
    if (paused)
      return verdict::fine;
    if (!greeted && over(++opening, opening_bytes, times.greeting))
      return verdict::silent;
    if (in_request && over(++request, request_bytes, times.request))
      return verdict::slow_request;
    return verdict::fine;
  }
};

TEST(ConnectionClockTest, IsWhatItsModelIs) {
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random{seed};
    connection_clock x{short_times()};
    model y;
    for (int i = 0; i < 200; ++i) {
      const std::size_t n = random() % 40;
      switch (random() % 9) {
        case 0:
          if (!y.let_in) {
            x.note_let_in();
            y.let_in = true;
            y.opening = y.opening_bytes = 0;
          }
          break;
        case 1:
          if (y.let_in && random() % 4 == 0) {
            x.note_greeted();
            y.greeted = true;
          }
          break;
        case 2:
          x.note_request_begun();
          if (!y.in_request)
            y.request = y.request_bytes = 0;
          y.in_request = true;
          break;
        case 3:
          if (random() % 4 == 0) {
            x.note_request_ended();
            y.in_request = false;
          }
          break;
        case 4:
          x.note_read(n);
          y.opening_bytes += n;
          y.request_bytes += n;
          break;
        case 5:
          x.note_unwritten(n * 50);
          if (y.unwritten == 0)
            y.answer = y.answer_bytes = 0;
          y.unwritten += n * 50;
          break;
        case 6: {
          const auto part = std::min<std::uint64_t>(n * 50, y.unwritten);
          x.note_written(part);
          y.unwritten -= part;
          y.answer_bytes += part;
          break;
        }
        case 7:
          y.paused = random() % 2 == 0;
          x.note_paused(y.paused);
          break;
        default:
          ASSERT_EQ(x.beat(), y.beat()) << "seed " << seed << " step " << i;
      }
    }
  }
}

} // namespace
} // namespace hippo
