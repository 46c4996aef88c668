#include "hippo/base/name.hpp"

#include <gtest/gtest.h>

#include "base/odd_names.hpp"
#include "hippo/base/limits.hpp"

namespace hippo {
namespace {

TEST(Name, WhatPeopleHaveIsOne) {
  for (const auto& x : test::odd_names)
    EXPECT_EQ(refused_name(x), std::nullopt) << x;
  EXPECT_EQ(refused_name(std::string(max_name_bytes, 'a')), std::nullopt);
}

TEST(Name, WhatBreaksThingsIsNone) {
  for (const auto& x : test::no_names)
    EXPECT_NE(refused_name(x), std::nullopt) << x;
}

TEST(Name, TheReasonIsSaid) {
  const std::pair<std::string, const char*> all[] = {
    {"", "is empty"},
    {" a", "begins with white space"},
    {"a\u3000", "ends with white space"},
    {"a\tb", "holds a control character (U+0009)"},
    {"a\u0085", "holds a control character (U+0085)"},
    {"a\u2028b", "holds a line separator (U+2028)"},
    {"a\uffff", "holds U+FFFF, which is no character"},
    {"\xff", "is not valid UTF-8"},
    {std::string{"\0", 1}, "holds a zero byte"},
    {std::string(max_name_bytes + 1, 'a'),
     "is too long (more than 1024 bytes)"},
  };
  for (const auto& [name, why] : all)
    EXPECT_EQ(refused_name(name), why) << name;
}

TEST(Name, WhatOlderVersionsTookStillOpens) {
  for (const auto* x : {" a", "a\nb", "a ", "\uffff"})
    EXPECT_EQ(refused_name(x, name_rules::of_before), std::nullopt) << x;
  for (const auto* x : {"", "\xff"})
    EXPECT_NE(refused_name(x, name_rules::of_before), std::nullopt) << x;
}

TEST(Name, AStudyIsCalledLikeAFileAndNotLikeANumber) {
  for (const auto* x : {"a", "2a", "a.b-c_d", "1e5", "0x1", "1.5"})
    EXPECT_EQ(refused_study_name(x), std::nullopt) << x;
  for (const auto* x : {"", "-a", ".a", "a b", "a/b", "\u00e9", "2", "007"})
    EXPECT_NE(refused_study_name(x), std::nullopt) << x;
  EXPECT_EQ(refused_study_name("2", name_rules::of_before), std::nullopt);
  EXPECT_NE(refused_study_name(std::string(101, 'a')), std::nullopt);
}

TEST(Name, AMetricThatIsNoneIsNamed) {
  EXPECT_EQ(refused_metrics({{"val/acc", 1}, {"train loss", 2}}),
            std::nullopt);
  EXPECT_EQ(refused_metrics({{"loss\n", 1}}),
            "a metric whose name holds a control character (U+000A): 'loss\n'");
  metrics many;
  for (std::size_t i = 0; i <= max_metrics; ++i)
    many[std::to_string(i)] = 0;
  EXPECT_EQ(refused_metrics(many), "4097 metrics, of which 4096 are allowed");
  metrics wide;
  for (char x = 'a'; wide.size() < max_metrics_bytes / max_name_bytes; ++x)
    for (char y = 'a'; y <= 'h'; ++y)
      wide[std::string(max_name_bytes - 1, x) + y] = 1;
  EXPECT_EQ(refused_metrics(wide), std::nullopt);
  wide["z"] = 1;
  EXPECT_EQ(refused_metrics(wide),
            "65 metrics whose names have 65537 bytes, of which 65536 are "
            "allowed");
}

} // namespace
} // namespace hippo
