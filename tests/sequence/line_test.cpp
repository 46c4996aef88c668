#include "hippo/sequence/line.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"

namespace hippo {
namespace {

std::string text(double from, double to, step_t steps) {
  const auto line = line_between(from, to, steps);
  return line ? to_text(*line) : "none";
}

TEST(Line, IsInLowestTerms) {
  EXPECT_EQ(text(0.1, 0, 10), "line(0.1,-0.01,1)@0");
  EXPECT_EQ(text(0.1, 0, 80), "line(0.1,-0.00125,1)@0");
  EXPECT_EQ(text(0, 0.1, 3), "line(0,0.1,3)@0");
  EXPECT_EQ(text(0, 0.3, 9), "line(0,0.1,3)@0");
  EXPECT_EQ(text(0.01, 0.1, 7), "line(0.01,0.09,7)@0");
  EXPECT_EQ(text(-1, 1, 1000), "line(-1,0.002,1)@0");
  EXPECT_EQ(text(64, 128, 48), "line(64,4,3)@0");
  EXPECT_EQ(text(0, 0.123456789013, 1'000'000),
            "line(0,1.23456789013e-07,1)@0");
  EXPECT_EQ(text(5e-324, 0, 1), "line(5e-324,-5e-324,1)@0");
}

TEST(Line, ASlopeOfManyDigitsKeepsSomeSteps) {
  // 0.123456789012 / 2^20 has 26 digits. Half as far in half as many steps is
  // the same line.
  EXPECT_EQ(text(0, 0.123456789012, 1 << 20), text(0, 0.061728394506, 1 << 19));
  EXPECT_EQ(text(0, 0.123456789012, 1 << 20),
            text(0, 0.370370367036, 3 << 20));
  EXPECT_EQ(text(0, 0.2, 1 << 20), text(0, 0.1, 1 << 19));
}

TEST(Line, ARiseThatADoubleWouldRoundIsNoLine) {
  EXPECT_EQ(text(1e9, 1.23456789012e-9, 7), "none");
  EXPECT_EQ(text(1e300, 1e-300, 7), "none");
}

TEST(Line, IsRoundedFromItsExactValueHalfToEven) {
  const auto at = [](double from, double to, step_t steps, step_t t) {
    return line_at(*line_between(from, to, steps), t);
  };
  EXPECT_EQ(at(0.1, 0.4, 3, 1), 0.2); // 0.2 + 3e-17 in doubles
  EXPECT_EQ(at(0.123456789012, 0.123456789013, 2, 1), 0.123456789012);
  EXPECT_EQ(at(0.123456789013, 0.123456789014, 2, 1), 0.123456789014);
  EXPECT_EQ(at(-0.123456789013, -0.123456789014, 2, 1), -0.123456789014);
  EXPECT_EQ(at(0, 1, 3, 1), 0.333333333333);
  EXPECT_EQ(at(0, 2, 3, 1), 0.666666666667);
  EXPECT_EQ(at(0, 200, 3, 1), 66.6666666667);
  EXPECT_EQ(at(-1, 1, 10, 5), 0);
  EXPECT_EQ(at(0.999999999999, 1, 2, 1), 1); // a tie; the even one is 1
}

TEST(Line, GoesOnForAnyNumberOfSteps) {
  const auto line = *line_between(0.1, 0, 10);
  EXPECT_EQ(line_at(line, 1'000'000'000), -9'999'999.9);
  EXPECT_EQ(line_at(line, step_t{1} << 62),
            canonical(-0.01 * std::ldexp(1, 62)));
}

TEST(Line, IsTheSameWhereverItBegins) {
  const auto line = *line_between(0.1, 0, 10);
  const auto later = *moved_line(line, 4);
  EXPECT_EQ(to_text(later), "line(0.06,-0.01,1)@4");
  EXPECT_EQ(moved_line(later, 0), line);
  EXPECT_TRUE(same_line(line, later));
  EXPECT_TRUE(same_line(later, line));
  EXPECT_FALSE(same_line(line, *line_between(0.1, 0, 10, 1)));
  EXPECT_FALSE(same_line(line, *line_between(0.1, 0, 11)));
  // A third has no 12 digits.
  EXPECT_EQ(moved_line(*line_between(0, 1, 3), 1), std::nullopt);
  EXPECT_EQ(to_text(*moved_line(*line_between(0, 1, 3), 3)), "line(1,1,3)@3");
  EXPECT_FALSE(same_line(*line_between(0, 1, 3),
                         *line_between(0.333333333333, 1.333333333333, 3, 1)));
}

TEST(Line, AgreesWithItsFormula) {
  std::mt19937 random{1};
  std::uniform_real_distribution<> number{0.1, 1};
  for (int i = 0; i < 20000; ++i) {
    const auto from = canonical(number(random) * std::pow(10, random() % 3));
    const auto to = canonical(number(random) * std::pow(10, random() % 3));
    const step_t steps = 1 + random() % 3000;
    const auto line = line_between(from, to, steps);
    ASSERT_TRUE(line) << from << ' ' << to;
    const step_t t = random() % (steps + 1);
    const auto expected
      = from
        + (to - from) * static_cast<double>(t) / static_cast<double>(steps);
    const auto margin
      = 5.1e-12 * std::abs(expected) + 1e-15 * std::abs(from);
    ASSERT_NEAR(line_at(*line, t), expected, margin);
    ASSERT_NEAR(unrounded_line_at(*line, t), expected, 1e-15 * 20
                * (std::abs(from) + std::abs(to)));
    ASSERT_EQ(line_at(*line, steps), to);
    if (const auto moved = moved_line(*line, t)) {
      ASSERT_EQ(line_at(*moved, steps), to);
    }
  }
}

} // namespace
} // namespace hippo
