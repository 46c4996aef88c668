#include "hippo/train/checkpoint_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hippo/core/hash.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {

class CheckpointFile : public testing::Test {
protected:
  std::string path(const std::string& name) const {
    return (std::filesystem::path{folder.path} / name).string();
  }

  /// Returns the error of reading `x`, or none if it can be read.
  std::optional<error> refused(const checkpoint& x) const {
    const auto result = read_checkpoint(folder.path, x);
    return result ? std::nullopt : std::optional{result.failure()};
  }

  temporary_folder folder;
  const std::string bytes{"state\0with zero", 15};
};

TEST_F(CheckpointFile, ReadsWhatWasWritten) {
  const auto written = write_checkpoint(folder.path, "a.ckpt", bytes);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->file, "a.ckpt");
  EXPECT_EQ(written->bytes, bytes.size());
  EXPECT_EQ(written->digest, hash_bytes(bytes.data(), bytes.size()));
  const auto read = read_checkpoint(folder.path, *written);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, bytes);
}

TEST_F(CheckpointFile, LeavesNothingElse) {
  ASSERT_TRUE(write_checkpoint(folder.path, "a.ckpt", bytes));
  ASSERT_TRUE(write_checkpoint(folder.path, "a.ckpt", bytes));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ckpt"});
}

TEST_F(CheckpointFile, EmptyState) {
  const auto written = write_checkpoint(folder.path, "a.ckpt", "");
  ASSERT_TRUE(written);
  const auto read = read_checkpoint(folder.path, *written);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, "");
}

TEST_F(CheckpointFile, FolderMissing) {
  const auto written =
    write_checkpoint(path("no-such-folder"), "a.ckpt", bytes);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.failure().code, errc::io_failed);
  EXPECT_NE(written.failure().message.find("No such file"), std::string::npos);
}

TEST_F(CheckpointFile, DiskFull) {
  // /dev/full accepts writes into the buffer and refuses them at the flush.
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  std::filesystem::create_symlink("/dev/full", path("a.ckpt.part"));
  const auto written = write_checkpoint(folder.path, "a.ckpt", bytes);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.failure().code, errc::io_failed);
  EXPECT_NE(written.failure().message.find("No space left"), std::string::npos);
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(CheckpointFile, Missing) {
  const auto failure = refused({"a.ckpt", 3, 4});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, errc::bad_checkpoint);
  EXPECT_NE(failure->message.find("is missing"), std::string::npos);
}

TEST_F(CheckpointFile, Truncated) {
  const auto written = write_checkpoint(folder.path, "a.ckpt", bytes);
  ASSERT_TRUE(written);
  std::filesystem::resize_file(path("a.ckpt"), bytes.size() - 1);
  const auto failure = refused(*written);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, errc::bad_checkpoint);
  EXPECT_NE(failure->message.find("15 bytes"), std::string::npos);
}

TEST_F(CheckpointFile, EveryDamagedBitIsFound) {
  const auto written = write_checkpoint(folder.path, "a.ckpt", bytes);
  ASSERT_TRUE(written);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::ofstream{path("a.ckpt"), std::ios::binary} << damaged;
    const auto failure = refused(*written);
    ASSERT_TRUE(failure) << bit;
    EXPECT_EQ(failure->code, errc::bad_checkpoint);
  }
}

TEST_F(CheckpointFile, StaysInItsFolder) {
  for (const auto* name : {"", "../a.ckpt", "/etc/hostname"}) {
    const auto failure = refused({name, 1, 1});
    ASSERT_TRUE(failure) << name;
    EXPECT_EQ(failure->code, errc::bad_checkpoint);
    EXPECT_NE(failure->message.find("not the name"), std::string::npos);
  }
}

} // namespace hippo
