#include "hippo/base/span_text.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(SpanText, ReadsSpans) {
  const auto of = [](const char* text) {
    const auto x = span_from(text);
    return x ? *x : -1;
  };
  EXPECT_EQ(of("6h"), 6 * 3600);
  EXPECT_EQ(of("90m"), 5400);
  EXPECT_EQ(of("1h30m"), 5400);
  EXPECT_EQ(of("45s"), 45);
  EXPECT_EQ(of("1.5d"), 129'600);
  EXPECT_EQ(of("20"), 20);
  EXPECT_EQ(of("0.5"), 0.5);
}

TEST(SpanText, SaysWhatASpanIs) {
  for (const auto* text : {"", "h", "6x", "6hh", "6h3", "-6h", "0h", "0", "nan",
                           "inf", "1e300d", "6 h"}) {
    const auto x = span_from(text);
    ASSERT_FALSE(x) << text;
    EXPECT_EQ(x.failure().message,
              "must be a span above 0 such as 6h, 90m or 1h30m, found '"
                + std::string{text} + "'");
  }
}

TEST(TimeText, ReadsTimesWithTheirZones) {
  const std::pair<const char*, double> times[] = {
    {"1970-01-01T00:00Z", 0},
    {"1970-01-02T00:00:05Z", 86'405},
    {"2024-02-29T12:00Z", 1'709'208'000},
    {"2024-02-29T12:00+01:30", 1'709'202'600},
    {"2024-02-29T12:00:30-02:00", 1'709'215'230},
    {"9999-12-31T23:59:59Z", 253'402'300'799}};
  for (const auto& [text, seconds] : times) {
    const auto x = time_from(text);
    ASSERT_TRUE(x) << text;
    EXPECT_EQ(*x, seconds) << text;
  }
}

TEST(TimeText, SaysWhatATimeIs) {
  for (const auto* text :
       {"", "2024", "2024-02-29", "2024-02-29T12:00", "2023-02-29T12:00Z",
        "2024-13-01T12:00Z", "2024-02-29 12:00Z", "2024-02-29T24:00Z",
        "2024-02-29T12:60Z", "2024-02-29T12:00ZZ", "2024-02-29T12:00+1",
        "2024-02-29T12:00:+01:00", "24-02-29T12:00Z", "2024-2-29T12:00Z"}) {
    const auto x = time_from(text);
    ASSERT_FALSE(x) << text;
    EXPECT_EQ(x.failure().message,
              "must be a time with its zone such as 2030-01-31T18:00Z, found '"
                + std::string{text} + "'");
  }
}

} // namespace
} // namespace hippo
