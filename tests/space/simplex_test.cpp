// Hyper-parameters that are shares of 1.

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/space/study.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using test::texts;
using lines = std::vector<std::string>;

/// Of a workload without limits.
study_file read(const std::string& space) {
  workload_descriptor toy;
  toy.name = "toy";
  toy.metrics = {{"accuracy", direction::maximize, ""}};
  for (const auto* name : {"web", "math", "code", "lr"})
    toy.hyper_parameters.push_back(test::parameter(name, 0.0));
  return read_study(test::with_flat_space(space), "s.yaml", {toy});
}

study_spec good(const std::string& space) {
  const auto file = read(space);
  EXPECT_EQ(texts(file.errors), lines{});
  return file.study ? *file.study : study_spec{};
}

constexpr auto mixed = "mix: {simplex: {web: share, math: share,"
                       " code: share}}";

TEST(Simplex, SharesSumToOne) {
  const auto space = good(mixed).space;
  EXPECT_FALSE(space.size());
  EXPECT_EQ(space.leaves(), 3u);
  const std::set<std::string> names{"web", "math", "code"};
  EXPECT_EQ(space.names(), names);
  EXPECT_EQ(space.varied(), names);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto trial = space.sample(2, i);
    ASSERT_EQ(trial.shown.size(), 3u);
    double sum = 0;
    for (const auto& [name, share] : trial.shown.items()) {
      EXPECT_GE(share.get<double>(), 0);
      sum += share.get<double>();
      EXPECT_EQ(trial.sequences.at(name).at(0), scalar{share.get<double>()});
    }
    EXPECT_NEAR(sum, 1, 1e-11);
  }
}

/// Uniform on the simplex of k shares: each is less than s with the probability
/// 1 - (1 - s)^(k - 1).
TEST(Simplex, SharesAreEquallyLikely) {
  const auto space = good(mixed).space;
  constexpr int draws = 4000;
  for (const auto* name : {"web", "math", "code"})
    for (const double s : {0.1, 0.3, 0.5, 0.8}) {
      int below = 0;
      for (std::uint64_t i = 0; i < draws; ++i)
        below += space.sample(3, i).shown.at(name).get<double>() < s;
      EXPECT_NEAR(below / double{draws}, 1 - (1 - s) * (1 - s), 0.03)
        << name << ' ' << s;
    }
}

TEST(Simplex, AGridHasEveryCombinationOnce) {
  const auto space
    = good("mix: {simplex: {web: share, math: share, code: share},"
           " points: 5}")
        .space;
  ASSERT_EQ(space.size(), 15u); // 6 over 2
  std::set<std::vector<double>> found;
  for (std::uint64_t i = 0; i < 15; ++i) {
    std::vector<double> shares;
    double sum = 0;
    for (const auto& share : space.at(i).shown) {
      EXPECT_TRUE(share.is_number_float());
      shares.push_back(share.get<double>());
      EXPECT_EQ(std::fmod(shares.back(), 0.25), 0);
      sum += shares.back();
    }
    EXPECT_EQ(sum, 1);
    found.insert(shares);
  }
  EXPECT_EQ(found.size(), 15u);
}

TEST(Simplex, SharesMayBeItemsOfSequences) {
  const auto space
    = good("mix: {simplex: {web: {piecewise: [[0, 1], [75%, share]]},"
           " math: {piecewise: [[0, 0], [75%, share]]}}, points: 3}\n"
           "lr: {choice: [0, 0.1]}")
        .space;
  ASSERT_EQ(space.size(), 6u);
  EXPECT_EQ(space.at(2).shown.dump(),
            R"({"web":{"piecewise":[[0,1],[9,0.5]]},)"
            R"("math":{"piecewise":[[0,0],[9,0.5]]},"lr":0})");
}

TEST(Simplex, SaysWhatIsWrong) {
  const auto errors = [](const std::string& space) {
    return texts(read(space).errors);
  };
  EXPECT_EQ(errors("mix: {simplex: {web: share}}"),
            lines{"s.yaml:6:18: space.mix.simplex: must be a map of 2 to 64 "
                  "hyper-parameters, each of them 'share' or a sequence with "
                  "it, found 1 keys"});
  EXPECT_EQ(errors("mix: {simplex: {web: share, math: 0.1}}"),
            lines{"s.yaml:6:37: space.mix.simplex.math: has no 'share': "
                  "it is the share, or a sequence with it, such as {piecewise:"
                  " [[0, 1], [90%, share]]}"});
  EXPECT_EQ(errors("mix: {simplex: {web: share, math: share}, points: 1}"),
            lines{"s.yaml:6:53: space.mix.points: must be a whole number of "
                  "values of each share, from 2 on, that gives up to 10000 "
                  "combinations of shares, found '1'"});
  EXPECT_EQ(errors("mix: {simplex: {web: share, maths: share}}").size(), 1u);
  EXPECT_EQ(errors("mix: {simplex: {web: share, math: share}}\nweb: 0.1")
              .size(),
            1u);
}

} // namespace
} // namespace hippo
