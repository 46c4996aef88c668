#include "hippo/search/importance/importance.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

/// Trials of which those with cosine schedules and a long horizon are best.
std::vector<compared_trial> trials(double sign) {
  std::vector<compared_trial> result;
  for (int i = 0; i < 100; ++i) {
    json lr = 0.1;
    auto value = 0.5 + 0.001 * (i % 7);
    if (i % 2 == 0) {
      lr = {{"cosine", {{"initial", 0.1}, {"horizon", 10 + i}}}};
      value += 0.002 * i;
    }
    result.push_back(
      {{{"lr", lr}, {"noise", i * 37 % 100}, {"batch_size", 64}},
       sign * value});
  }
  return result;
}

class Directions : public testing::TestWithParam<direction> {};

TEST_P(Directions, NamesWhatTheBestHaveInCommon) {
  const auto x = importance_of(
    trials(GetParam() == direction::maximize ? 1 : -1), GetParam());
  EXPECT_EQ(x.trials, 100u);
  EXPECT_EQ(x.best, 10u);
  ASSERT_EQ(x.parameters.size(), 3u);
  EXPECT_EQ(x.parameters[0].name, "lr.cosine.horizon");
  EXPECT_EQ(x.parameters[0].trials, 50u);
  EXPECT_EQ(x.constant, std::vector<std::string>{"batch_size"});
  double sum = 0;
  for (std::size_t i = 0; i < x.parameters.size(); ++i) {
    sum += x.parameters[i].share;
    EXPECT_LE(x.parameters[i].importance,
              x.parameters[i == 0 ? 0 : i - 1].importance);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Importance, Directions,
                         testing::Values(direction::maximize,
                                         direction::minimize));

TEST(Importance, ComparesWhereNineTenthsAre) {
  EXPECT_EQ(step_to_compare({}), std::nullopt);
  EXPECT_EQ(step_to_compare({{1, 0}}), std::nullopt);
  EXPECT_EQ(step_to_compare({{1, 100}, {3, 33}, {9, 11}}), step_t{1});
  EXPECT_EQ(step_to_compare({{1, 100}, {2, 95}, {3, 90}, {4, 89}}), step_t{3});
}

} // namespace
} // namespace hippo
