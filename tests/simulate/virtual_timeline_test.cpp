#include "hippo/forecast/simulate/virtual_timeline.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hippo {
namespace {

using namespace std::chrono_literals;

TEST(VirtualTimelineTest, RunsInOrderOfTimeAndThenOfScheduling) {
  virtual_timeline x;
  std::string said;
  x.schedule_at(2s, [&] { said += 'c'; });
  x.schedule_at(1s, [&] {
    said += 'a';
    x.schedule_at(1s, [&] { said += 'b'; });
  });
  x.schedule_at(2s, [&] { said += 'd'; });
  while (const auto next = x.next_time()) {
    x.run_next();
    EXPECT_EQ(x.now(), *next);
  }
  EXPECT_EQ(said, "abcd");
  EXPECT_EQ(x.now(), 2s);
}

TEST(VirtualTimelineTest, TakesBackWhatHasNotHappened) {
  virtual_timeline x;
  int ran = 0;
  const auto first = x.schedule_at(1s, [&] { ran += 1; });
  const auto second = x.schedule_at(1s, [&] { ran += 10; });
  x.cancel(first);
  x.run_next();
  EXPECT_EQ(ran, 10);
  x.cancel(second);
  EXPECT_FALSE(x.next_time());
}

TEST(VirtualTimelineTest, AdvancesWithoutAnythingHappening) {
  virtual_timeline x;
  x.schedule_at(5s, [] {});
  x.advance_to(3s);
  EXPECT_EQ(x.now(), 3s);
  EXPECT_EQ(x.next_time(), 5s);
}

} // namespace
} // namespace hippo
