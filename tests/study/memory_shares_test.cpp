#include "hippo/service/study/memory_shares.hpp"

#include <algorithm>
#include <map>
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
  EXPECT_FALSE(x.first_bytes_max());
  EXPECT_FALSE(x.refusal_of_study(UINT64_MAX / 4));
  EXPECT_FALSE(x.refusal_of_trial(study_id{1}));
  EXPECT_FALSE(x.reason_to_rest(study_id{1}, false));
}

TEST(MemoryShares, WhatIsReservedCountsBeforeItIsTaken) {
  memory_shares x{4 * mib};
  x.add_study(study_id{1}, "a", mib);
  x.note_study(study_id{1}, 1);
  EXPECT_EQ(x.share_of(study_id{1}), mib) << "it may take the rest yet";
  x.add_study(study_id{2}, "b", 2 * mib);
  EXPECT_FALSE(x.refusal_of_study(mib));
  const auto why = x.refusal_of_study(mib + 1);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::resource_exhausted);
  EXPECT_EQ(why->message,
            "the studies in work take 3.0 MiB of memory of 4.0 MiB, and this "
            "one would take 1.0 MiB more: try again when some have ended, "
            "cancel some, or start the service again with a higher limit "
            "(hippo serve --memory-limit)");
  x.remove_study(study_id{2});
  EXPECT_FALSE(x.refusal_of_study(mib + 1));
  EXPECT_EQ(x.total(), mib);
}

TEST(MemoryShares, AStudyMayTakeHalf) {
  memory_shares x{4 * mib};
  const auto why = x.refusal_of_study(2 * mib + 1);
  ASSERT_TRUE(why);
  EXPECT_NE(why->message.find("one study may take 2.0 MiB"),
            std::string::npos)
    << why->message;
  x.add_study(study_id{1}, "a", 2 * mib - 1);
  x.add_study(study_id{2}, "b", 0);
  EXPECT_FALSE(x.refusal_of_trial(study_id{1}));
  x.note_study(study_id{1}, 2 * mib - 1);
  x.note_plan("a", 1, {{study_id{1}, 1}});
  EXPECT_TRUE(x.refusal_of_trial(study_id{1}));
  EXPECT_TRUE(x.reason_to_rest(study_id{1}, false));
  EXPECT_FALSE(x.refusal_of_trial(study_id{2}));
  EXPECT_FALSE(x.reason_to_rest(study_id{2}, false));
}

TEST(MemoryShares, OfAPlanAStudyTakesWhatItsTrialsAreOfIt) {
  memory_shares x{100 * mib};
  x.add_study(study_id{1}, "a", 0);
  x.add_study(study_id{2}, "a", 0);
  x.note_plan("a", 60 * mib, {{study_id{1}, 1}, {study_id{2}, 59}});
  EXPECT_EQ(x.share_of(study_id{1}), mib);
  EXPECT_EQ(x.share_of(study_id{2}), 59 * mib);
  EXPECT_FALSE(x.reason_to_rest(study_id{1}, false)) << "it pays for another";
  EXPECT_TRUE(x.reason_to_rest(study_id{2}, false));
  // What those who are gone have left is of those who are there.
  x.remove_study(study_id{2});
  EXPECT_EQ(x.share_of(study_id{1}), 60 * mib);
  EXPECT_EQ(x.total(), 60 * mib);
  x.remove_study(study_id{1});
  EXPECT_EQ(x.total(), 60 * mib) << "the plan is kept for a while";
  EXPECT_FALSE(x.refusal_of_study(50 * mib)) << "but refuses nobody";
}

TEST(MemoryShares, WhenAllIsTakenThoseRestThatTakeMoreThanAnEqualPart) {
  memory_shares x{90};
  for (std::uint64_t i = 1; i <= 3; ++i)
    x.add_study(study_id{i}, "abc" + std::to_string(i), 0);
  x.note_study(study_id{1}, 10);
  x.note_study(study_id{2}, 40);
  x.note_study(study_id{3}, 40);
  EXPECT_FALSE(x.reason_to_rest(study_id{1}, false));
  EXPECT_TRUE(x.reason_to_rest(study_id{2}, false));
  EXPECT_TRUE(x.reason_to_rest(study_id{3}, false));
  // One that rests does so until there is some room.
  x.note_study(study_id{1}, 5);
  EXPECT_FALSE(x.reason_to_rest(study_id{2}, false));
  EXPECT_TRUE(x.reason_to_rest(study_id{2}, true));
  x.note_study(study_id{3}, 20);
  EXPECT_TRUE(x.reason_to_rest(study_id{2}, true)) << "it is near its half";
  x.note_study(study_id{2}, 30);
  EXPECT_FALSE(x.reason_to_rest(study_id{2}, true));
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
  struct study {
    std::string key;
    std::uint64_t reserved = 0, bytes = 0, segments = 0;
  };
  std::map<study_id, study> studies;
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
          studies[id].bytes = bytes;
        break;
      case 3: {
        std::map<study_id, std::uint64_t> segments;
        for (std::uint64_t no = 0; no < 5; ++no)
          if (rng() % 2 == 0)
            segments[study_id{no}] = rng() % 9;
        x.note_plan(key, bytes, segments);
        plans[key] = bytes;
        for (auto& [no, y] : studies)
          if (y.key == key)
            y.segments = segments.count(no) > 0 ? segments[no] : 0;
        break;
      }
      case 4:
        x.remove_plan(key);
        plans.erase(key);
        for (auto& [no, y] : studies)
          if (y.key == key)
            y.segments = 0;
        break;
    }
    std::uint64_t idle = 0;
    for (const auto& [plan, size] : plans)
      if (std::ranges::none_of(studies, [&](const auto& y) {
            return y.second.key == plan;
          }))
        idle += size;
    auto total = idle;
    std::map<study_id, std::uint64_t> shares;
    for (const auto& [no, what] : studies) {
      std::uint64_t users = 0, segments = 0;
      for (const auto& [other, y] : studies)
        if (y.key == what.key) {
          ++users;
          segments += y.segments;
        }
      const auto plan = plans.count(what.key) > 0 ? plans[what.key] : 0;
      const auto part = segments == 0 ? plan / users
                                      : plan * what.segments / segments;
      shares[no] = std::max(what.reserved, what.bytes + part);
      total += shares[no];
    }
    ASSERT_EQ(x.total(), total);
    ASSERT_EQ(x.refusal_of_study(bytes).has_value(),
              total - idle >= limit || total - idle + bytes > limit
                || bytes > limit / 2);
    for (const auto& [no, share] : shares) {
      ASSERT_EQ(x.share_of(no), share);
      ASSERT_EQ(x.refusal_of_trial(no).has_value(),
                share >= limit / 2
                  || (total >= limit && share * shares.size() >= limit));
      ASSERT_EQ(x.reason_to_rest(no, false).has_value(),
                share >= limit / 2
                  || (total >= limit && share * shares.size() >= limit));
      ASSERT_TRUE(!x.reason_to_rest(no, false) || x.reason_to_rest(no, true));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemorySharesProperties,
                         testing::Range(1u, 21u));

} // namespace
} // namespace hippo
