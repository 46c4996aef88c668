#include "hippo/base/devices.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using names = std::vector<std::string>;

constexpr unsigned cores = 3;

std::string refusal(const names& devices, std::optional<unsigned> trainers) {
  const auto x = devices_of_trainers(devices, trainers, cores);
  return x ? "" : x.failure().message;
}

TEST(Devices, HaveNames) {
  for (const char* x : {"cpu", "all", "cuda:0", "cuda:15"})
    EXPECT_EQ(check_device_name(x), "") << x;
  for (const char* x : {"", "cuda", "cuda:", "cuda:x", "cuda:1x", "gpu",
                        "cpu:0", "ALL"})
    EXPECT_NE(check_device_name(x).find("cuda:N"), std::string::npos) << x;
}

TEST(Devices, TheCpuHasManyTrainers) {
  EXPECT_EQ(*devices_of_trainers({"cpu"}, {}, cores),
            (names{"cpu", "cpu", "cpu"}));
  EXPECT_EQ(*devices_of_trainers({"cpu", "cpu"}, 2, cores),
            (names{"cpu", "cpu"}));
}

TEST(Devices, EachGpuHasOneTrainer) {
  EXPECT_EQ(*devices_of_trainers({"cuda:1", "cuda:0", "cuda:1"}, {}, cores),
            (names{"cuda:1", "cuda:0", "cuda:1"})); // two on one GPU
  EXPECT_EQ(*devices_of_trainers({"all"}, {}, cores), names{"all"});
}

TEST(Devices, WhatMakesNoSense) {
  EXPECT_NE(refusal({"cuda:0"}, 1).find("--trainers"), std::string::npos);
  EXPECT_NE(refusal({"all"}, 2).find("--trainers"), std::string::npos);
  EXPECT_NE(refusal({"cpu", "cuda:0"}, {}).find("other bits"),
            std::string::npos);
  EXPECT_NE(refusal({"cuda:0", "all"}, {}).find("every GPU"),
            std::string::npos);
}

TEST(Devices, GpusTrainSeveralLeasesAtOnce) {
  EXPECT_EQ(default_at_once("cpu"), 1u);
  EXPECT_GT(default_at_once("cuda:0"), 1u);
  EXPECT_EQ(default_at_once("cuda:7"), default_at_once("cuda:0"));
}

} // namespace
} // namespace hippo
