#include "hippo/checkpoint/checkpoint_file.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "hippo/base/hash.hpp"
#include "train/file_size_limit.hpp"
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
  const file_size_limit limit{4};
  const auto written = write_checkpoint(folder.path, "a.ckpt", bytes);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.failure().code, errc::io_failed);
  EXPECT_NE(written.failure().message.find("File too large"),
            std::string::npos);
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(CheckpointFile, AFailureLeavesWhatWasThere) {
  const auto written = write_checkpoint(folder.path, "a.ckpt", bytes);
  ASSERT_TRUE(written);
  {
    const file_size_limit limit{4};
    EXPECT_FALSE(write_checkpoint(folder.path, "a.ckpt", bytes + bytes));
  }
  EXPECT_FALSE(refused(*written));
}

TEST_F(CheckpointFile, TheNameIsTaken) {
  std::filesystem::create_directory(path("a.ckpt"));
  const auto written = write_checkpoint(folder.path, "a.ckpt", bytes);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.failure().code, errc::io_failed);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ckpt"});
  EXPECT_EQ(refused({"a.ckpt", 0, 0})->code, errc::bad_checkpoint);
}

TEST_F(CheckpointFile, InParts) {
  auto writer = checkpoint_writer::open(folder.path, "a.ckpt");
  ASSERT_TRUE(writer);
  for (const auto byte : bytes)
    ASSERT_FALSE(writer->append(&byte, 1));
  EXPECT_FALSE(std::filesystem::exists(path("a.ckpt")));
  ASSERT_FALSE(writer->commit());
  const auto x = writer->written();
  EXPECT_EQ(x.digest, hash_bytes(bytes.data(), bytes.size()));
  auto reader = checkpoint_reader::open(folder.path, x);
  ASSERT_TRUE(reader);
  std::string read;
  while (reader->left() > 0) {
    char byte = 0;
    ASSERT_FALSE(reader->read(&byte, 1));
    read += byte;
  }
  EXPECT_EQ(read, bytes);
}

TEST_F(CheckpointFile, TwoWritersOfOneName) {
  auto first = checkpoint_writer::open(folder.path, "a.ckpt");
  auto second = checkpoint_writer::open(folder.path, "a.ckpt");
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_FALSE(first->append("one", 3));
  ASSERT_FALSE(second->append("two two", 7));
  ASSERT_FALSE(first->commit());
  EXPECT_EQ(*read_checkpoint(folder.path, first->written()), "one");
  ASSERT_FALSE(second->commit());
  EXPECT_EQ(*read_checkpoint(folder.path, second->written()), "two two");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ckpt"});
}

TEST_F(CheckpointFile, WhatIsNotCommittedIsRemoved) {
  {
    auto writer = checkpoint_writer::open(folder.path, "a.ckpt");
    ASSERT_TRUE(writer);
    ASSERT_FALSE(writer->append("one", 3));
    EXPECT_EQ(folder.names().size(), 1);
    const auto moved = std::move(*writer);
    EXPECT_EQ(folder.names().size(), 1);
  }
  EXPECT_TRUE(folder.names().empty());
}

/// Makes every file look as if nothing had been written for a while.
void age(const std::string& folder, std::chrono::seconds by) {
  for (const auto& x : std::filesystem::directory_iterator{folder})
    std::filesystem::last_write_time(
      x.path(), std::filesystem::file_time_type::clock::now() - by);
}

constexpr auto long_ago = unfinished_age_min + std::chrono::seconds{60};

TEST_F(CheckpointFile, UnfinishedOnesOfTheDeadAreRemoved) {
  ASSERT_TRUE(write_checkpoint(folder.path, "a.ckpt", bytes));
  std::ofstream{path("b.ckpt.q7Zx1P.part")} << "byt";
  age(folder.path, long_ago);
  remove_unfinished_checkpoints(folder.path);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ckpt"});
  remove_unfinished_checkpoints(path("no-such-folder"));
}

TEST_F(CheckpointFile, WhatWasWrittenJustNowMayHaveAWriterOnAnotherMachine) {
  std::ofstream{path("b.ckpt.q7Zx1P.part")} << "byt";
  age(folder.path, unfinished_age_min - std::chrono::seconds{60});
  remove_unfinished_checkpoints(folder.path);
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST_F(CheckpointFile, ALivingWriterKeepsItsFileHoweverOldItIs) {
  auto writer = checkpoint_writer::open(folder.path, "b.ckpt");
  ASSERT_TRUE(writer);
  const auto moved = std::make_unique<checkpoint_writer>(std::move(*writer));
  ASSERT_FALSE(moved->append("one", 3));
  age(folder.path, long_ago);
  remove_unfinished_checkpoints(folder.path);
  ASSERT_FALSE(moved->commit());
  EXPECT_EQ(*read_checkpoint(folder.path, moved->written()), "one");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"b.ckpt"});
}

TEST_F(CheckpointFile, AWriterOfAnotherProcessKeepsItsFileUntilItIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto writing = ::fork();
  if (writing == 0) {
    const auto writer = checkpoint_writer::open(folder.path, "b.ckpt");
    for (auto told = ::write(ready[1], "", 1);;)
      static_cast<void>(told), ::pause();
  }
  char told = 1;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  age(folder.path, long_ago);
  remove_unfinished_checkpoints(folder.path);
  EXPECT_EQ(folder.names().size(), 1u);
  ::kill(writing, SIGKILL);
  ::waitpid(writing, nullptr, 0);
  remove_unfinished_checkpoints(folder.path);
  EXPECT_TRUE(folder.names().empty());
  ::close(ready[0]);
  ::close(ready[1]);
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
  const std::string longest(checkpoint_name_bytes_max, 'n');
  EXPECT_TRUE(write_checkpoint(folder.path, longest, bytes));
  for (const auto& name :
       {std::string{}, std::string{"../a.ckpt"}, std::string{"/etc/hostname"},
        std::string{"."}, std::string{".."}, std::string{".hidden"},
        std::string{"a\0b", 3}, longest + 'n'}) {
    const auto failure = refused({name, 1, 1});
    ASSERT_TRUE(failure) << name;
    EXPECT_EQ(failure->code, errc::bad_checkpoint);
    EXPECT_NE(failure->message.find("not the name"), std::string::npos);
    const auto written = write_checkpoint(folder.path, name, bytes);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.failure().code, errc::invalid_argument);
  }
}

} // namespace hippo
