#include "hippo/report/text.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace hippo {

TEST(CutLines, FewEnoughLinesStayAsTheyAre) {
  EXPECT_EQ(cut_lines("", 1), "");
  EXPECT_EQ(cut_lines("a\nb\n", 2), "a\nb\n");
  EXPECT_EQ(cut_lines("a\nb\n", 3), "a\nb\n");
}

TEST(CutLines, TooManyLinesEndWithHowManyAreLeftOut) {
  EXPECT_EQ(cut_lines("a\nb\nc\n", 2), "a\nand 2 more\n");
  EXPECT_EQ(cut_lines("a\nb\nc\n", 1), "and 3 more\n");
}

TEST(DurationText, IsInTheTwoLargestUnits) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.0123), "0.012 s");
  EXPECT_EQ(duration_text(3), "3 s");
  EXPECT_EQ(duration_text(3.44), "3.4 s");
  EXPECT_EQ(duration_text(9.96), "10 s");
  EXPECT_EQ(duration_text(47.9), "48 s");
  EXPECT_EQ(duration_text(59.6), "1 min");
  EXPECT_EQ(duration_text(119.9), "2 min");
  EXPECT_EQ(duration_text(725), "12 min 5 s");
  EXPECT_EQ(duration_text(3599.7), "1 h");
  EXPECT_EQ(duration_text(16'690), "4 h 38 min");
  EXPECT_EQ(duration_text(86'399), "1 d");
  EXPECT_EQ(duration_text(178'046.6), "2 d 1 h");
}

TEST(DurationText, WhatIsNoSpanIsNone) {
  EXPECT_EQ(duration_text(-1), "0 s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::quiet_NaN()), "0 s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "0 s");
}

TEST(PlainText, NullIsEmpty) {
  EXPECT_EQ(plain_text(nullptr), "");
}

TEST(PlainText, StringIsNotQuoted) {
  EXPECT_EQ(plain_text("a \"b\""), "a \"b\"");
}

TEST(PlainText, NumbersAreShortestThatReadBack) {
  EXPECT_EQ(plain_text(0.1), "0.1");
  EXPECT_EQ(plain_text(7), "7");
}

TEST(PlainText, NonFiniteNumbersAreNotNull) {
  EXPECT_EQ(plain_text(std::numeric_limits<double>::infinity()), "inf");
}

TEST(PlainText, ArraysAndObjectsAreJson) {
  EXPECT_EQ(plain_text({{"a", {1, 2}}}), R"({"a":[1,2]})");
}

} // namespace hippo
