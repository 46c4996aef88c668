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

TEST(Library, TheVersionOfItsWorkloadsIsTheFile) {
  const auto version_in = [](const std::string& path) {
    workload_registry registry;
    EXPECT_FALSE(load_workloads(path, registry));
    return registry.descriptors().at(0).version;
  };
  const auto version = version_in(GOOD_LIBRARY);
  EXPECT_TRUE(version.starts_with("library ")) << version;
  const std::filesystem::path other
    = std::filesystem::path{testing::TempDir()} / "hippo_changed.so";
  const auto overwrite = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(GOOD_LIBRARY, other, overwrite);
  EXPECT_EQ(version_in(other), version);
  std::ofstream{other, std::ios::app} << "x";
  EXPECT_NE(version_in(other), version);
  std::filesystem::remove(other);
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
  const auto versions = std::to_string(HIPPO_WORKLOAD_ABI - 1) + ", this is "
                        + std::to_string(HIPPO_WORKLOAD_ABI);
  EXPECT_NE(failure->message.find("workload interface " + versions),
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
