#include "gateway/message_tracker.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

namespace hippo {
namespace {

/// Returns a message of so many segments of random sizes, as bytes.
std::vector<std::byte> message(std::mt19937& random, std::size_t segments) {
  std::vector<kj::Array<capnp::word>> parts;
  for (std::size_t i = 0; i < segments; ++i)
    parts.push_back(kj::heapArray<capnp::word>(random() % 20));
  std::vector<kj::ArrayPtr<const capnp::word>> views;
  for (const auto& x : parts)
    views.push_back(x.asPtr());
  const auto words
    = capnp::messageToFlatArray(kj::arrayPtr(views.data(), views.size()));
  const auto bytes = words.asBytes();
  const auto* const from = reinterpret_cast<const std::byte*>(bytes.begin());
  return {from, from + bytes.size()};
}

TEST(MessageTrackerTest, KnowsWhereMessagesEndHoweverTheyArrive) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    std::mt19937 random{seed};
    std::vector<std::byte> stream;
    std::vector<std::size_t> ends, sizes;
    for (int i = 0; i < 10; ++i) {
      const auto next = message(random, 1 + random() % 7);
      stream.insert(stream.end(), next.begin(), next.end());
      ends.push_back(stream.size());
      sizes.push_back(next.size());
    }
    message_tracker x;
    std::size_t at = 0, ended = 0;
    while (at < stream.size()) {
      const auto n
        = std::min<std::size_t>(1 + random() % 30, stream.size() - at);
      ended += x.take({stream.data() + at, n});
      at += n;
      const auto done = static_cast<std::size_t>(
        std::ranges::upper_bound(ends, at) - ends.begin());
      ASSERT_EQ(ended, done) << "seed " << seed << " at " << at;
      const auto begin = done == 0 ? 0 : ends[done - 1];
      ASSERT_EQ(x.is_inside(), at > begin) << "seed " << seed;
      ASSERT_LE(x.announced(), done < sizes.size() ? sizes[done] : 0);
    }
    EXPECT_FALSE(x.is_inside());
  }
}

TEST(MessageTrackerTest, SaysHowLongAMessageWillBe) {
  std::mt19937 random{7};
  const auto bytes = message(random, 5);
  message_tracker x;
  x.take({bytes.data(), 7});
  EXPECT_TRUE(x.is_inside());
  EXPECT_EQ(x.announced(), 0u);
  x.take({bytes.data() + 7, 17}); // the table of five: three words
  EXPECT_EQ(x.announced(), bytes.size());
}

} // namespace
} // namespace hippo
