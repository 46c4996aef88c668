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

TEST(DurationText, IsSecondsFirstAndAClockThen) {
  EXPECT_EQ(duration_text(31.4), "31.4 s");
  EXPECT_EQ(duration_text(119.9), "119.9 s");
  EXPECT_EQ(duration_text(178046.6), "49:27:26");
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
