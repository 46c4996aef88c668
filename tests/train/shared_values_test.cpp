#include "hippo/train/torch/data/shared_values.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hippo {

TEST(SharedValues, AreMadeOnceForAllThatHaveThem) {
  shared_values<int> values;
  std::atomic<int> made{0};
  const auto make = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return std::make_shared<const int>(++made);
  };
  std::vector<std::shared_ptr<const int>> found(8);
  std::vector<std::thread> threads;
  for (auto& x : found)
    threads.emplace_back([&] { x = values.get("one", make); });
  for (auto& x : threads)
    x.join();
  EXPECT_EQ(made, 1);
  for (const auto& x : found)
    EXPECT_EQ(x, found.front());
  EXPECT_NE(values.get("another", make), found.front());
  found.clear();
  EXPECT_EQ(*values.get("one", make), 3) << "nobody had it any more";
}

TEST(SharedValues, OneThatCannotBeMadeIsTriedAgain) {
  shared_values<int> values;
  EXPECT_THROW(values.get("one",
                          []() -> std::shared_ptr<const int> {
                            throw std::runtime_error("no file");
                          }),
               std::runtime_error);
  EXPECT_EQ(*values.get("one", [] { return std::make_shared<const int>(7); }),
            7);
}

} // namespace hippo
