#include "hippo/search/sampler/mark_levels.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using numbers = std::vector<double>;

TEST(MarkLevels, TheFirstIsTheMedian) {
  mark_levels x{3};
  trial_no trial = 0;
  for (const double value : {5, 1, 3, 9})
    x.add(trial++, 0, value);
  // The lower of two; nothing is known of later marks.
  EXPECT_EQ(x.levels(), (numbers{3, 3, 3}));
}

TEST(MarkLevels, NoResultsAreNoLevel) {
  EXPECT_EQ(mark_levels{2}.levels(), (numbers{0, 0}));
}

TEST(MarkLevels, ALaterOneLiesBetweenItsMedianAndWhatTrialsWereWorth) {
  mark_levels x{2};
  for (trial_no trial = 0; trial < 9; ++trial)
    x.add(trial, 0, static_cast<double>(trial));
  // The best three go on. Half of them gain 12 or less.
  x.add(6, 1, 17);
  x.add(7, 1, 19);
  x.add(8, 1, 25);
  EXPECT_EQ(x.levels(), (numbers{4, (19 + 4 + 12) / 2.}));
}

TEST(MarkLevels, AGainCountsFromTheMarkBefore) {
  mark_levels x{4};
  for (trial_no trial = 0; trial < 3; ++trial)
    x.add(trial, 0, static_cast<double>(trial));
  x.add(2, 1, 4);
  x.add(2, 3, 10); // passes mark 2
  // Between 4 and 1 + 2, and between 10 and 1 + 2 + 6.
  EXPECT_EQ(x.levels(), (numbers{1, 3.5, 3, 9.5}));
}

TEST(MarkLevels, WhereAllGoOnItIsTheMedian) {
  mark_levels x{2};
  for (trial_no trial = 0; trial < 5; ++trial) {
    x.add(trial, 0, static_cast<double>(trial));
    x.add(trial, 1, static_cast<double>(trial) + 8);
  }
  EXPECT_EQ(x.levels(), (numbers{2, 10}));
}

TEST(MarkLevels, ResultsOfOtherTrialsAreNoGains) {
  mark_levels x{2};
  x.add(0, 0, 1);
  x.add(1, 1, 7);
  x.add(2, 1, 9);
  EXPECT_EQ(x.levels(), (numbers{1, 7}));
}

} // namespace
} // namespace hippo
