#include "hippo/train/recent_states.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace hippo {

namespace {

/// A state that takes so much memory, and counts itself.
class sized_state final : public workload_state {
public:
  sized_state(std::uint64_t size, int& alive) : size_(size), alive_(alive) {
    ++alive_;
  }
  sized_state(const sized_state&) = delete;
  sized_state& operator=(const sized_state&) = delete;
  ~sized_state() override { --alive_; }

  [[nodiscard]] std::string bytes() const override { return {}; }
  [[nodiscard]] std::uint64_t size() const override { return size_; }

private:
  const std::uint64_t size_;
  int& alive_;
};

checkpoint named(const std::string& name) {
  return {name, 1, 2};
}

} // namespace

class RecentStates : public testing::Test {
protected:
  void keep(const std::string& name, std::uint64_t size) {
    kept.keep(named(name), std::make_shared<sized_state>(size, alive));
  }

  int alive = 0;
  recent_states kept{10};
};

TEST_F(RecentStates, AreFoundByNameSizeAndDigest) {
  keep("a", 4);
  EXPECT_TRUE(kept.find(named("a")));
  for (const auto& other :
       {checkpoint{"b", 1, 2}, checkpoint{"a", 2, 2}, checkpoint{"a", 1, 3}})
    EXPECT_FALSE(kept.find(other));
}

TEST_F(RecentStates, TheLeastRecentlyUsedGoesFirst) {
  keep("a", 4);
  keep("b", 4);
  EXPECT_TRUE(kept.find(named("a")));
  keep("c", 4);
  EXPECT_TRUE(kept.find(named("a")));
  EXPECT_FALSE(kept.find(named("b")));
  EXPECT_TRUE(kept.find(named("c")));
  keep("d", 10);
  EXPECT_EQ(alive, 1) << "there is room for no other";
  EXPECT_TRUE(kept.find(named("d")));
}

TEST_F(RecentStates, WhatIsTooLargeOrNotWorthItDrivesNothingOut) {
  keep("a", 10);
  keep("b", 11);
  kept.keep(named("c"), std::make_shared<saved_state>("c"));
  EXPECT_TRUE(kept.find(named("a")));
  EXPECT_FALSE(kept.find(named("b")));
  EXPECT_FALSE(kept.find(named("c")));
}

TEST_F(RecentStates, OneThatIsSavedAgainCountsOnce) {
  keep("a", 6);
  keep("a", 4);
  keep("b", 6);
  EXPECT_EQ(alive, 2);
}

TEST_F(RecentStates, AreLetGoOf) {
  keep("a", 6);
  const auto held = kept.find(named("a"));
  keep("b", 4);
  kept.clear();
  EXPECT_EQ(alive, 1) << "what is in use";
  EXPECT_FALSE(kept.find(named("a")));
  keep("c", 10);
  EXPECT_TRUE(kept.find(named("c"))) << "all of the room is there again";
}

TEST(RecentStatesOf, SeveralThreads) {
  struct state final : workload_state {
    [[nodiscard]] std::string bytes() const override { return "x"; }
    [[nodiscard]] std::uint64_t size() const override { return 3; }
  };
  recent_states kept{10};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&kept, i] {
      for (int j = 0; j < 200; ++j) {
        kept.keep(named(std::to_string((i + j) % 5)),
                  std::make_shared<state>());
        const auto x = kept.find(named(std::to_string(j % 5)));
        EXPECT_TRUE(!x || x->bytes() == "x");
        if (j % 50 == 0)
          kept.clear();
      }
    });
  for (auto& x : threads)
    x.join();
}

} // namespace hippo
