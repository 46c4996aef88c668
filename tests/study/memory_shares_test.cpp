#include "hippo/study/memory_shares.hpp"

#include <random>

#include <gtest/gtest.h>

namespace hippo {
namespace {

constexpr std::uint64_t mib = 1 << 20;

TEST(MemoryShares, WithoutALimitNothingIsRefused) {
  memory_shares x;
  x.add_study(study_id{1}, "key", UINT64_MAX / 4);
  EXPECT_FALSE(x.is_limited());
  EXPECT_FALSE(x.is_full());
  EXPECT_FALSE(x.refusal_of_study());
  EXPECT_FALSE(x.refusal_of_trial(study_id{1}));
}

TEST(MemoryShares, FromTheLimitOnNewStudiesAreRefusedUntilSomeHaveEnded) {
  memory_shares x{4 * mib};
  x.add_study(study_id{1}, "a", mib);
  x.add_study(study_id{2}, "b", 3 * mib - 1);
  EXPECT_FALSE(x.refusal_of_study());
  x.note_study(study_id{2}, 3 * mib);
  const auto why = x.refusal_of_study();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::resource_exhausted);
  EXPECT_EQ(why->message,
            "the studies in work take 4.0 MiB of memory, and no new one is "
            "taken from 4.0 MiB on (hippo serve --memory-limit): try again "
            "when some have ended, cancel some, or start the service again "
            "with a higher limit");
  EXPECT_TRUE(x.refusal_of_trial(study_id{1}))
    << "though its own share is small";
  x.remove_study(study_id{2});
  EXPECT_FALSE(x.refusal_of_study());
  EXPECT_EQ(x.total(), mib);
}

TEST(MemoryShares, AStudyMayTakeHalf) {
  memory_shares x{4 * mib};
  x.add_study(study_id{1}, "a", 2 * mib - 1);
  x.add_study(study_id{2}, "b", 0);
  EXPECT_FALSE(x.refusal_of_trial(study_id{1}));
  x.note_plan("a", 1);
  EXPECT_TRUE(x.refusal_of_trial(study_id{1}));
  EXPECT_FALSE(x.refusal_of_trial(study_id{2}));
  EXPECT_FALSE(x.refusal_of_study());
  x.add_study(study_id{3}, "a", 0); // shares the plan from now on
  EXPECT_FALSE(x.refusal_of_trial(study_id{1}));
}

TEST(MemoryShares, WhatIsUnknownIsIgnored) {
  memory_shares x{mib};
  x.note_study(study_id{7}, mib);
  x.remove_study(study_id{7});
  x.remove_plan("key");
  EXPECT_EQ(x.total(), 0u);
  EXPECT_EQ(x.share_of(study_id{7}), 0u);
  EXPECT_FALSE(x.refusal_of_trial(study_id{7}));
}

struct MemorySharesProperties : testing::TestWithParam<unsigned> {};

TEST_P(MemorySharesProperties, TotalAndSharesAreThoseOfAListOfAll) {
  std::mt19937 rng{GetParam()};
  const auto limit = 200 + rng() % 800;
  memory_shares x{limit};
  std::map<study_id, std::pair<std::string, std::uint64_t>> studies;
  std::map<std::string, std::uint64_t> plans;
  for (int i = 0; i < 300; ++i) {
    const study_id id{rng() % 5};
    const auto key = std::string(1, static_cast<char>('a' + rng() % 3));
    const std::uint64_t bytes = rng() % 200;
    switch (rng() % 5) {
      case 0:
        x.add_study(id, key, bytes);
        studies[id] = {key, bytes};
        break;
      case 1:
        x.remove_study(id);
        studies.erase(id);
        break;
      case 2:
        x.note_study(id, bytes);
        if (studies.count(id) > 0)
          studies[id].second = bytes;
        break;
      case 3:
        x.note_plan(key, bytes);
        plans[key] = bytes;
        break;
      case 4:
        x.remove_plan(key);
        plans.erase(key);
        break;
    }
    std::uint64_t total = 0;
    for (const auto& kvp : studies)
      total += kvp.second.second;
    for (const auto& kvp : plans)
      total += kvp.second;
    ASSERT_EQ(x.total(), total);
    ASSERT_EQ(x.refusal_of_study().has_value(), total >= limit);
    for (const auto& [no, what] : studies) {
      std::uint64_t users = 0;
      for (const auto& kvp : studies)
        users += kvp.second.first == what.first;
      const auto plan = plans.find(what.first);
      const auto share
        = what.second + (plan == plans.end() ? 0 : plan->second / users);
      ASSERT_EQ(x.share_of(no), share);
      ASSERT_EQ(x.refusal_of_trial(no).has_value(),
                total >= limit || (share > 0 && share >= limit / 2));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemorySharesProperties,
                         testing::Range(1u, 21u));

} // namespace
} // namespace hippo
