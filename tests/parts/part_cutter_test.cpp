#include "hippo/checkpoint/parts/part_cutter.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "depot/random_bytes.hpp"

namespace hippo {

namespace {

std::vector<std::string> parts_of(const std::string& bytes) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto size = first_part(bytes.data() + at, bytes.size() - at);
    if (size == 0)
      break;
    result.push_back(bytes.substr(at, size));
    at += size;
  }
  return result;
}

std::size_t bytes_in(const std::vector<std::string>& parts) {
  return std::accumulate(
    parts.begin(), parts.end(), std::size_t{0},
    [](std::size_t sum, const std::string& x) { return sum + x.size(); });
}

/// Bytes of `changed` that are in no part of `before`.
std::size_t fresh_bytes(const std::string& before, const std::string& changed) {
  const auto known = parts_of(before);
  const std::set<std::string> set{known.begin(), known.end()};
  std::size_t result = 0;
  for (const auto& x : parts_of(changed))
    result += set.contains(x) ? 0 : x.size();
  return result;
}

} // namespace

TEST(PartCutter, PartsAreAllOfTheBytesAndOfTheirSizes) {
  for (std::size_t size : {0ul, 1ul, part_bytes_min - 1, part_bytes_min,
                           part_bytes_min + 1, part_bytes_max, 5'000'001ul}) {
    const auto parts = parts_of(random_bytes(size, size));
    EXPECT_EQ(bytes_in(parts), size);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_LE(parts[i].size(), part_bytes_max);
      if (i + 1 < parts.size()) {
        EXPECT_GT(parts[i].size(), part_bytes_min);
      }
    }
  }
}

TEST(PartCutter, PartsHaveAboutTheMeanSize) {
  constexpr std::size_t bytes = 64 << 20;
  const auto count = parts_of(random_bytes(bytes)).size();
  EXPECT_GT(count, bytes / part_bytes_mean / 2);
  EXPECT_LT(count, bytes / part_bytes_mean * 2);
}

TEST(PartCutter, BytesThatAreAllTheSameMakeTheLargestParts) {
  for (const auto& x : parts_of(std::string(4 * part_bytes_max, '\0')))
    EXPECT_EQ(x.size(), part_bytes_max);
}

TEST(PartCutter, AChangeChangesThePartsAroundIt) {
  const auto before = random_bytes(16 << 20);
  for (std::size_t at : {0ul, 1'000'000ul, before.size() - 1}) {
    auto changed = before;
    changed[at] = static_cast<char>(changed[at] + 1);
    const auto fresh = fresh_bytes(before, changed);
    EXPECT_GT(fresh, 0u);
    EXPECT_LE(fresh, 4 * part_bytes_max) << at;
  }
}

TEST(PartCutter, AnInsertionMovesPartsAndChangesFew) {
  const auto before = random_bytes(16 << 20);
  auto changed = before;
  changed.insert(3'000'000, "inserted");
  EXPECT_LE(fresh_bytes(before, changed), 4 * part_bytes_max);
  changed.erase(9'000'000, 12'345);
  EXPECT_LE(fresh_bytes(before, changed), 8 * part_bytes_max);
}

/// States are shared from one version of the program to the next.
TEST(PartCutter, CutsWhereItAlwaysHas) {
  std::vector<std::size_t> sizes;
  for (const auto& x : parts_of(random_bytes(600'000)))
    sizes.push_back(x.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{157504, 157451, 200979, 84066}));
}

} // namespace hippo
