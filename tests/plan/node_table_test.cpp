#include "hippo/plan/node_table.hpp"

#include <bit>
#include <random>

#include <gtest/gtest.h>

namespace hippo {
namespace {

constexpr std::size_t never = SIZE_MAX / 4;

/// Whether all of two nodes is the same, metrics bit for bit.
void expect_equal(const plan_node& x, const plan_node& y,
                  const metric_names& names) {
  EXPECT_EQ(x.parent, y.parent);
  EXPECT_EQ(x.depth, y.depth);
  EXPECT_EQ(x.begin, y.begin);
  EXPECT_EQ(x.strand, y.strand);
  EXPECT_EQ(x.identity, y.identity);
  EXPECT_EQ(x.config, y.config);
  EXPECT_EQ(x.first_child, y.first_child);
  EXPECT_EQ(x.next_sibling, y.next_sibling);
  EXPECT_EQ(x.cuts, y.cuts);
  EXPECT_EQ(x.measurings, y.measurings);
  EXPECT_EQ(x.asked_to, y.asked_to);
  EXPECT_EQ(x.goal, y.goal);
  EXPECT_EQ(x.restored_to, y.restored_to);
  EXPECT_EQ(x.delivered_to, y.delivered_to);
  EXPECT_EQ(x.known_to, y.known_to);
  EXPECT_EQ(x.checkpoints, y.checkpoints);
  ASSERT_EQ(x.results.size(), y.results.size());
  for (auto i = x.results.begin(), j = y.results.begin(); i != x.results.end();
       ++i, ++j) {
    EXPECT_EQ(i->first, j->first);
    const auto one = i->second.unpack(names), other = j->second.unpack(names);
    ASSERT_EQ(one.size(), other.size());
    for (auto a = one.begin(), b = other.begin(); a != one.end(); ++a, ++b) {
      EXPECT_EQ(a->first, b->first);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(a->second),
                std::bit_cast<std::uint64_t>(b->second));
    }
  }
  ASSERT_EQ(x.reaches.size(), y.reaches.size());
  for (std::size_t i = 0; i < x.reaches.size(); ++i) {
    EXPECT_EQ(x.reaches[i].study, y.reaches[i].study);
    EXPECT_EQ(x.reaches[i].asked_to, y.reaches[i].asked_to);
    EXPECT_EQ(x.reaches[i].delivered_to, y.reaches[i].delivered_to);
  }
  EXPECT_EQ(x.is_idle(), y.is_idle());
  ASSERT_EQ(x.troubles != nullptr, y.troubles != nullptr);
  if (!x.troubles)
    return;
  EXPECT_EQ(x.troubles->failed_at, y.troubles->failed_at);
  EXPECT_EQ(x.troubles->failure.code, y.troubles->failure.code);
  EXPECT_EQ(x.troubles->failure.message, y.troubles->failure.message);
  EXPECT_TRUE(std::equal(
    x.troubles->diverged.begin(), x.troubles->diverged.end(),
    y.troubles->diverged.begin(), y.troubles->diverged.end(),
    [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.code == b.second.code
             && a.second.message == b.second.message;
    }));
}

/// A number of any length.
std::uint64_t any(std::mt19937_64& rng) { return rng() >> rng() % 64; }

void fill(plan_node& x, std::uint64_t seed, metric_names& names) {
  std::mt19937_64 rng{seed};
  x.parent = node_id{any(rng)};
  x.depth = static_cast<std::uint32_t>(any(rng));
  x.begin = any(rng) / 2;
  x.strand = any(rng);
  x.identity = rng();
  for (auto left = rng() % 9; left > 0; --left)
    x.config.push_back(static_cast<std::uint32_t>(any(rng)));
  x.first_child = node_id{any(rng)};
  x.next_sibling = node_id{any(rng)};
  for (auto left = rng() % 4; left > 0; --left)
    x.cuts.push_back(x.begin + any(rng) / 2);
  for (auto left = rng() % 3; left > 0; --left)
    x.measurings.push_back(static_cast<std::uint32_t>(any(rng)));
  for (auto left = rng() % 4; left > 0; --left) {
    metrics values{{"acc", std::bit_cast<double>(rng())}};
    if (rng() % 2 == 0)
      values["loss"] = -0.0;
    x.results.try_emplace(x.begin + any(rng) / 2, values, names);
  }
  for (auto left = rng() % 3; left > 0; --left)
    x.checkpoints.try_emplace(
      x.begin + any(rng) / 2,
      checkpoint{std::string(rng() % 40, 'f'), any(rng), rng(),
                 std::string(rng() % 9, 'd')});
  x.asked_to = x.begin + any(rng) / 2;
  x.goal = rng() % 2 == 0 ? 0 : x.begin + any(rng) / 2;
  x.restored_to = rng() % 2 == 0 ? 0 : x.begin + any(rng) / 2;
  x.delivered_to = x.begin + any(rng) / 2;
  x.known_to = x.begin + any(rng) / 2;
  if (rng() % 3 == 0) {
    x.troubles = std::make_unique<trouble>();
    for (auto left = rng() % 3; left > 0; --left)
      x.troubles->diverged[x.begin + any(rng) / 2]
        = {errc::diverged, std::string(rng() % 200, 'n')};
    if (rng() % 2 == 0) {
      x.troubles->failed_at = x.begin + any(rng) / 2;
      x.troubles->failure = {errc::training_failed,
                             std::string(rng() % 2000, 'f')};
    }
  }
  for (auto left = rng() % 3; left > 0; --left)
    x.reaches.push_back({static_cast<study_no>(rng()),
                         x.begin + any(rng) / 2, x.begin + any(rng) / 2});
}

struct NodeTableProperties : testing::TestWithParam<unsigned> {};

TEST_P(NodeTableProperties, APackedNodeIsWhatItWas) {
  node_table packed, kept;
  packed.set_unpacked_max(0);
  kept.set_unpacked_max(never);
  std::mt19937_64 rng{GetParam()};
  for (auto id : id_range(root_node, 200)) {
    const auto seed = rng();
    fill(packed.emplace_back(), seed, packed.names());
    fill(kept.emplace_back(), seed, kept.names());
    if (rng() % 3 == 0)
      packed.pack_idle();
    // Somebody looks at one, or writes to it.
    const node_id other{rng() % (number_of(id) + 1)};
    if (rng() % 2 == 0) {
      plan_node room;
      const auto before = packed.unpacked_count();
      expect_equal(packed.peek(other, room), kept[other], kept.names());
      EXPECT_EQ(packed.unpacked_count(), before);
    } else {
      packed[other].goal = kept[other].goal = seed;
    }
  }
  packed.pack_idle();
  const auto bytes_of = [](const node_table& x) {
    return x.memory_bytes() + x.cold_bytes();
  };
  EXPECT_LT(packed.memory_bytes(), kept.memory_bytes() / 10);
  EXPECT_LT(bytes_of(packed), bytes_of(kept));
  for (auto id : id_range(root_node, 200))
    expect_equal(packed[id], kept[id], kept.names());
  EXPECT_EQ(packed.memory_bytes(), kept.memory_bytes());
  EXPECT_EQ(packed.cold_bytes(), kept.cold_bytes());
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodeTableProperties, testing::Range(1u, 21u));

TEST(NodeTable, WhatIsInFlightStaysAndTheRestTakesLittle) {
  node_table x;
  x.set_unpacked_max(10);
  for (std::uint64_t id = 0; id < 1000; ++id) {
    auto& made = x.emplace_back();
    made.begin = id % 7;
    made.config.assign(8, 300);
    made.results.try_emplace(id % 7 + 1, metrics{{"acc", .5}, {"loss", 1}},
                             x.names());
    made.checkpoints.try_emplace(id % 7 + 1,
                                 checkpoint{"n123-s4-l123456.ckpt", 1000, id});
    if (id == 5)
      made.wants[3];
    else if (id == 6)
      made.running.push_back({});
  }
  const auto* waited_for = &x[node_id{5}];
  const auto before = x.memory_bytes() + x.cold_bytes();
  x.pack_idle();
  EXPECT_EQ(x.unpacked_count(), 2u);
  EXPECT_EQ(&x[node_id{5}], waited_for);
  EXPECT_LT(x.memory_bytes(), before / 100);
  EXPECT_LT(x.memory_bytes() + x.cold_bytes(), before / 3);
  x[node_id{8}];
  EXPECT_EQ(x.unpacked_count(), 3u);
  x.pack_idle(); // not worth it yet
  EXPECT_EQ(x.unpacked_count(), 3u);
}

TEST(NodeTable, ALargeNodeStaysAsItIs) {
  node_table x;
  x.set_unpacked_max(0);
  x.emplace_back();
  auto& large = x.emplace_back();
  for (step_t t = 1; t < 5000; ++t)
    large.results.try_emplace(t, metrics{{"acc", 1}}, x.names());
  x.pack_idle();
  EXPECT_EQ(x.unpacked_count(), 1u);
}

} // namespace
} // namespace hippo
