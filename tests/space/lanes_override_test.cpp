#include "hippo/space/lanes_override.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(LanesOverride, GivesAWorkloadThatIsOnlyNamedAnOption) {
  EXPECT_EQ(with_lanes("study: a\nworkload: fashion-mlp # small\nx: 1\n", 4),
            "study: a\nworkload: {name: fashion-mlp, lanes: 4} # small\nx: 1\n");
}

TEST(LanesOverride, AddsToOptionsInEitherStyle) {
  EXPECT_EQ(with_lanes("workload: {name: toy, seed: 3}\n", 16),
            "workload: {lanes: 16, name: toy, seed: 3}\n");
  EXPECT_EQ(with_lanes("workload:\n  name: toy\n  data:\n    train: 9\n", 2),
            "workload:\n  lanes: 2\n  name: toy\n  data:\n    train: 9\n");
}

TEST(LanesOverride, ReplacesWhatTheFileSays) {
  EXPECT_EQ(with_lanes("workload: {name: toy, lanes: 16, seed: 3}\n", 1),
            "workload: {name: toy, lanes: 1, seed: 3}\n");
  EXPECT_EQ(with_lanes("workload:\n  name: toy\n  lanes: 8 # a few\n", 32),
            "workload:\n  name: toy\n  lanes: 32 # a few\n");
}

TEST(LanesOverride, DoesNotSayThatThereIsOne) {
  for (const auto* text : {"workload: python\n", "workload: {name: toy}\n"})
    EXPECT_EQ(with_lanes(text, 1), text);
}

TEST(LanesOverride, LeavesAloneWhatItDoesNotUnderstand) {
  for (const auto* text : {"", "study: a\n", "workload: [1]\n", "a: [", "7",
                           "workload: {}\n"})
    EXPECT_EQ(with_lanes(text, 4), text);
}

} // namespace
} // namespace hippo
