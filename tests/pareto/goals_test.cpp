#include "hippo/model/goals.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "hippo/model/slack.hpp"

namespace hippo {
namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();
constexpr auto nan_value = std::numeric_limits<double>::quiet_NaN();

const goals wanted{{{"acc", direction::maximize}, {"ms", direction::minimize}},
                   {{"ms", true, 5}, {"acc", false, .5}}};

TEST(Outcome, LessIsBetterAndViolationsAddUp) {
  const auto x = outcome_of({{"acc", .25}, {"ms", 7}}, wanted);
  EXPECT_EQ(x.values, (losses{-.25, 7}));
  EXPECT_EQ(x.violation, 2.25);
  EXPECT_FALSE(x.is_feasible());
  EXPECT_FALSE(x.is_nan);
}

TEST(Outcome, ALimitIsKeptByItself) {
  EXPECT_TRUE(outcome_of({{"acc", .5}, {"ms", 5}}, wanted).is_feasible());
}

TEST(Outcome, WhatIsMissingOrNotFiniteIsTheWorst) {
  EXPECT_TRUE(outcome_of({{"acc", .5}}, wanted).is_nan);
  EXPECT_EQ(outcome_of({{"acc", .5}}, wanted).violation, infinity);
  EXPECT_TRUE(outcome_of({{"acc", infinity}, {"ms", 1}}, wanted).is_nan);
  EXPECT_TRUE(outcome_of({{"acc", nan_value}, {"ms", 1}}, wanted).is_nan);
}

TEST(Outcome, NamesTheConstraintsThatItViolates) {
  EXPECT_EQ(violated_in({{"acc", .5}, {"ms", 5}}, wanted), "");
  EXPECT_EQ(violated_in({{"acc", .5}, {"ms", 6}}, wanted), "ms <= 5");
  EXPECT_EQ(violated_in({{"acc", nan_value}}, wanted), "ms <= 5, acc >= 0.5");
}

TEST(Outcome, AConstraintMayBeOnAnotherMetric) {
  const goals x{{{"acc", direction::maximize}}, {{"bytes", true, 10}}};
  EXPECT_FALSE(x.is_one());
  EXPECT_EQ(outcome_of({{"acc", 1}, {"bytes", 12}}, x).violation, 2);
  EXPECT_EQ(outcome_of({{"acc", 1}}, x).violation, infinity);
  EXPECT_FALSE(outcome_of({{"acc", 1}}, x).is_nan);
}

TEST(Outcome, ASlackIsWhatIsLeftOfALimit) {
  using slacks = std::vector<double>;
  const auto of = [](const metrics& measured) {
    return slacks_of(measured, wanted.constraints);
  };
  EXPECT_EQ(of({{"acc", .25}, {"ms", 2}}), (slacks{3, -.25}));
  EXPECT_EQ(of({{"acc", nan_value}, {"ms", 5}}), (slacks{0, -infinity}));
  EXPECT_EQ(of({{"ms", -infinity}}), (slacks{infinity, -infinity}));
}

TEST(Outcome, AConstraintAsText) {
  EXPECT_EQ(to_text(wanted.constraints[0]), "ms <= 5");
  EXPECT_EQ(to_text(wanted.constraints[1]), "acc >= 0.5");
}

} // namespace
} // namespace hippo
