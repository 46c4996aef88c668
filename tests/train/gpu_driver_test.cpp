// Runs with the driver of fake_gpu_driver.cpp.

#include "hippo/train/gpu_driver.hpp"

#include <gtest/gtest.h>

#include "hippo/train/torch/training.hpp"

namespace hippo {

TEST(GpuDriver, TellsWhatThereIs) {
  const auto& driver = gpu_driver::get();
  ASSERT_TRUE(driver);
  EXPECT_EQ(driver->version(), "13.2");
  ASSERT_EQ(driver->count(), 2);
  const auto large = driver->describe(0), small = driver->describe(1);
  EXPECT_EQ(large.name, "Fake H100");
  EXPECT_EQ(large.memory_bytes, 80ull << 30);
  EXPECT_EQ(large.compute_capability, "9.0");
  EXPECT_EQ(small.name, "Fake A10");
  EXPECT_EQ(small.memory_bytes, 24ull << 30);
  EXPECT_EQ(small.compute_capability, "8.6");
}

TEST(GpuDriver, AllOfItsGpusAreDevices) {
  const auto all = all_devices();
  EXPECT_EQ(all.names, (std::vector<std::string>{"cuda:0", "cuda:1"}));
  EXPECT_EQ(all.trouble, "");
}

} // namespace hippo
