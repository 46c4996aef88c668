#include "hippo/merge/settings_table.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

constexpr study_no s0{0}, s1{1}, s2{2};

settings_table::settings silence(double seconds) {
  return {{"silence_seconds", seconds}};
}

TEST(SettingsTable, TheOldestStudyThatWaitsDecides) {
  settings_table x;
  x.add(silence(1));
  x.add(silence(2));
  x.add(silence(3));
  EXPECT_EQ(x.choose({s2, s0, s1}), silence(1));
  EXPECT_EQ(x.choose({s2, s1}), silence(2));
  EXPECT_EQ(x.choose(std::vector{s2}), silence(3));
}

TEST(SettingsTable, EqualSettingsAreOne) {
  settings_table x;
  x.add(silence(1));
  EXPECT_TRUE(x.is_uniform());
  x.add(silence(1));
  EXPECT_TRUE(x.is_uniform());
  x.add({});
  EXPECT_FALSE(x.is_uniform());
  EXPECT_TRUE(x.is_of_any(silence(1), {s1, s2}));
  EXPECT_FALSE(x.is_of_any(silence(1), std::vector{s2}));
}

TEST(SettingsTable, SettingsThatFailedLastGiveWayUntilTheySucceed) {
  settings_table x;
  x.add(silence(1));
  x.add(silence(2));
  x.add(silence(1));
  x.note_failure(silence(1));
  EXPECT_EQ(x.choose({s0, s1, s2}), silence(2));
  EXPECT_EQ(x.choose({s0, s2}), silence(1)) << "there are no others";
  x.note_failure(silence(2));
  EXPECT_EQ(x.choose({s0, s1}), silence(1)) << "they failed longer ago";
  x.note_success(silence(2));
  EXPECT_EQ(x.choose({s0, s1}), silence(2));
  x.note_success(silence(1));
  EXPECT_EQ(x.choose({s0, s1}), silence(1));
}

} // namespace
} // namespace hippo
