#include "hippo/train/library.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hippo {

TEST(Library, AddsItsWorkloads) {
  workload_registry registry;
  ASSERT_FALSE(load_workloads(GOOD_LIBRARY, registry));
  auto made = registry.make({"from-library", {}});
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->evaluate(), (metrics{{"loss", 0.5}}));
}

TEST(Library, ItsExceptionsAreUnderstood) {
  workload_registry registry;
  ASSERT_FALSE(load_workloads(GOOD_LIBRARY, registry));
  const auto made = registry.make({"from-library", {{"lost", 1.0}}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.failure().code, errc::missing_data);
}

TEST(Library, IsLookedForAsAFile) {
  // Without a slash, and where no loader would look for it.
  const auto before = std::filesystem::current_path();
  const std::filesystem::path file{GOOD_LIBRARY};
  std::filesystem::current_path(file.parent_path());
  workload_registry registry;
  EXPECT_FALSE(load_workloads(file.filename(), registry));
  std::filesystem::current_path(before);
}

TEST(Library, Missing) {
  workload_registry registry;
  const auto failure = load_workloads("/nowhere/libmine.so", registry);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, errc::io_failed);
  EXPECT_EQ(failure->message, "no workload library at /nowhere/libmine.so");
}

TEST(Library, NotALibrary) {
  const auto path =
    std::filesystem::path{testing::TempDir()} / "hippo_no_library.so";
  std::ofstream{path} << "text";
  workload_registry registry;
  const auto failure = load_workloads(path, registry);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, errc::io_failed);
  EXPECT_NE(failure->message.find("cannot load"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(Library, WithoutWorkloads) {
  workload_registry registry;
  const auto failure = load_workloads(OTHER_LIBRARY, registry);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, errc::invalid_argument);
  EXPECT_NE(failure->message.find("HIPPO_WORKLOADS"), std::string::npos);
}

TEST(Library, OfAnotherVersion) {
  workload_registry registry;
  const auto failure = load_workloads(OLD_LIBRARY, registry);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, errc::incompatible_version);
  EXPECT_NE(failure->message.find("workload interface 0, this is 1"),
            std::string::npos);
}

TEST(Library, ThatThrows) {
  workload_registry registry;
  const auto failure = load_workloads(THROWING_LIBRARY, registry);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, errc::training_failed);
  EXPECT_NE(failure->message.find("no licence"), std::string::npos);
}

} // namespace hippo
