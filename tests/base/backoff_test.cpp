#include "hippo/base/backoff.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToItsLimitAndBeginsAnew) {
  backoff x{milliseconds{1000}, milliseconds{30'000}};
  for (auto want : {1000, 2000, 4000, 8000, 16'000, 30'000, 30'000, 30'000})
    EXPECT_EQ(x.next(), milliseconds{want});
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(x.next(), milliseconds{30'000});
  x.reset();
  EXPECT_EQ(x.next(), milliseconds{1000});
}

TEST(Backoff, JitterTakesOffHalfOfItAtMost) {
  for (double jitter : {0.0, 0.25, 0.5, 1.0}) {
    backoff x{milliseconds{1000}, milliseconds{4000}};
    for (auto whole : {1000, 2000, 4000, 4000})
      EXPECT_EQ(x.next(jitter).count(), whole * (1 - jitter / 2));
  }
}

} // namespace
} // namespace hippo
