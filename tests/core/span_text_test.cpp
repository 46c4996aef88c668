#include "hippo/core/span_text.hpp"

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

} // namespace
} // namespace hippo
