#include "hippo/service/merge/settings_table.hpp"

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

TEST(SettingsTable, SettingsThatNeedNotBeTriedAnyMoreComeLast) {
  settings_table x;
  x.add(silence(1));
  x.add(silence(2));
  x.note_failure(silence(2));
  const auto without = [&](double spent) {
    return x.choose({s0, s1}, [=](const auto& y) {
      return y == silence(spent);
    });
  };
  EXPECT_EQ(without(1), silence(2)) << "though they failed last";
  EXPECT_EQ(without(2), silence(1));
  EXPECT_EQ(x.choose({s1}, [](const auto&) { return true; }), silence(2));
  EXPECT_EQ(x.of(s1), silence(2));
}

} // namespace
} // namespace hippo
