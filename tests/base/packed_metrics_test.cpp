#include "hippo/base/packed_metrics.hpp"

#include <bit>
#include <limits>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace hippo {
namespace {

/// NaNs are told apart by their bits, as zeros are.
std::map<std::string, std::uint64_t> bits_of(const metrics& xs) {
  std::map<std::string, std::uint64_t> result;
  for (const auto& [name, value] : xs)
    result[name] = std::bit_cast<std::uint64_t>(value);
  return result;
}

TEST(PackedMetrics, DefaultIsEmpty) {
  const metric_names names;
  EXPECT_TRUE(packed_metrics{}.unpack(names).empty());
}

TEST(PackedMetrics, NamesOfTheLastListAndOfEarlierOnesAreKeptOnce) {
  metric_names names;
  const metrics one{{"acc", 1}, {"loss", 2}}, other{{"acc", 1}}, none;
  const auto first = names.intern(one);
  const auto second = names.intern(other);
  EXPECT_NE(first, second);
  EXPECT_NE(names.intern(none), first);
  EXPECT_EQ(names.intern(one), first);
  EXPECT_EQ(names.intern({{"acc", 7}, {"loss", 8}}), first);
  EXPECT_EQ(names.intern(other), second);
  EXPECT_EQ(names.at(first), (std::vector<std::string>{"acc", "loss"}));
}

TEST(PackedMetrics, NamesThatAreNewTakeMoreAndThoseThatAreKnownDoNot) {
  metric_names names;
  const metrics one{{"acc", 1}, {"loss", 2}}, other{{"accuracy", 1}};
  const auto first = names.bytes_more(one);
  EXPECT_GT(first, 7u);
  EXPECT_EQ(names.bytes(), 0u);
  names.intern(one);
  EXPECT_EQ(names.bytes(), first);
  EXPECT_EQ(names.bytes_more(one), 0u);
  const auto more = names.bytes_more(other);
  EXPECT_GT(more, 8u);
  names.intern(other);
  names.intern(one);
  EXPECT_EQ(names.bytes(), first + more);
  EXPECT_EQ(names.bytes_more(other), 0u);
}

struct PackedMetricsProperties : testing::TestWithParam<unsigned> {};

TEST_P(PackedMetricsProperties, WhatIsUnpackedIsWhatWasPackedBitForBit) {
  std::mt19937_64 rng{GetParam()};
  metric_names names;
  std::vector<std::pair<metrics, packed_metrics>> all;
  for (int i = 0; i < 200; ++i) {
    metrics x;
    for (auto left = rng() % 5; left > 0; --left)
      // Any bits: NaNs with payloads, infinities, negative zeros.
      x[std::string(1 + rng() % 3, static_cast<char>('a' + rng() % 3))]
        = rng() % 4 == 0 ? -0.0 : std::bit_cast<double>(rng());
    all.emplace_back(x, packed_metrics{x, names});
  }
  for (const auto& [x, packed] : all)
    EXPECT_EQ(bits_of(packed.unpack(names)), bits_of(x));
}

INSTANTIATE_TEST_SUITE_P(Seeds, PackedMetricsProperties,
                         testing::Range(1u, 11u));

} // namespace
} // namespace hippo
