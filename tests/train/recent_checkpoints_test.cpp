#include "hippo/checkpoint/recent_checkpoints.hpp"

#include <gtest/gtest.h>

#include <map>

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

/// Files in memory, and how often they were asked for.
struct counted_files {
  std::map<std::string, std::string> files;
  int reads = 0;
  int writes = 0;
  bool full = false; ///< writing fails
};

class counting_store : public checkpoint_store {
public:
  explicit counting_store(counted_files& files) : files_(files) {}

  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override {
    ++files_.reads;
    const auto i = files_.files.find(checkpoint.file);
    if (i == files_.files.end())
      return error{errc::bad_checkpoint, "missing"};
    return take(i->second.data(), i->second.size());
  }

  std::optional<error> read_range(const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) override {
    ++files_.reads;
    return take(files_.files.at(checkpoint.file).data() + offset,
                static_cast<std::size_t>(size));
  }

  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes, durability) override {
    ++files_.writes;
    if (files_.full)
      return {errc::io_failed, "full"};
    std::string content(bytes.size(), '\0');
    if (const auto why = bytes.read(0, content.data(), content.size()))
      return *why;
    const auto digest = hash_bytes(content.data(), content.size());
    files_.files[name] = std::move(content);
    return checkpoint{name, bytes.size(), digest};
  }

  expected<std::string> find_initial(const initial_file& file) override {
    return files_.files.at(file.sha256);
  }

private:
  counted_files& files_;
};

} // namespace

class RecentCheckpoints : public testing::Test {
protected:
  std::unique_ptr<checkpoint_store> open(const std::string& folder = "f") {
    return recent.over(folder, std::make_unique<counting_store>(files));
  }

  counted_files files;
  recent_checkpoints recent{10};
};

TEST_F(RecentCheckpoints, WhatWasWrittenIsReadFromMemory) {
  const auto x = open()->write("a", memory_source{"1234"});
  ASSERT_TRUE(x);
  EXPECT_EQ(files.writes, 1);
  EXPECT_EQ(*read_whole(*open(), *x), "1234") << "in a later lease";
  EXPECT_EQ(files.reads, 0);
}

TEST_F(RecentCheckpoints, WhatWasReadIsKept) {
  files.files["a"] = "1234";
  const checkpoint x{"a", 4, hash_bytes("1234", 4)};
  const auto store = open();
  EXPECT_EQ(*read_whole(*store, x), "1234");
  EXPECT_EQ(*read_whole(*store, x), "1234");
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, NameAndDigestAndFolderMustMatch) {
  const auto x = open()->write("a", memory_source{"1234"});
  ASSERT_TRUE(x);
  auto other = *x;
  ++other.digest;
  EXPECT_TRUE(read_whole(*open(), other));
  EXPECT_EQ(files.reads, 1);
  ASSERT_TRUE(open()->write("a", memory_source{"1234"}));
  other = *x;
  other.file = "b";
  EXPECT_FALSE(read_whole(*open(), other));
  EXPECT_TRUE(read_whole(*open("g"), *x));
  EXPECT_EQ(files.reads, 3);
}

TEST_F(RecentCheckpoints, TheLeastRecentlyUsedGoesFirst) {
  const auto store = open();
  const auto a = *store->write("a", memory_source{"1234"});
  const auto b = *store->write("b", memory_source{"1234"});
  ASSERT_TRUE(read_whole(*store, a));
  const auto c = *store->write("c", memory_source{"1234"});
  ASSERT_TRUE(read_whole(*store, a));
  ASSERT_TRUE(read_whole(*store, c));
  EXPECT_EQ(files.reads, 0);
  ASSERT_TRUE(read_whole(*store, b));
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, WhatIsTooLargeIsNotKeptAndDrivesNothingOut) {
  const auto store = open();
  const auto a = *store->write("a", memory_source{"1234"});
  const auto large = *store->write("b", memory_source{"12345678901"});
  EXPECT_EQ(*read_whole(*store, large), "12345678901");
  EXPECT_EQ(files.reads, 1);
  ASSERT_TRUE(read_whole(*store, a));
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, ANewOneReplacesItsName) {
  const auto store = open();
  const auto before = *store->write("a", memory_source{"1234"});
  const auto now = *store->write("a", memory_source{"567890"});
  EXPECT_EQ(*read_whole(*store, now), "567890");
  ASSERT_TRUE(store->write("b", memory_source{"1234"}))
    << "there is place for both";
  EXPECT_EQ(*read_whole(*store, now), "567890");
  EXPECT_EQ(files.reads, 0);
  ASSERT_TRUE(read_whole(*store, before));
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, WhatCouldNotBeWrittenIsNotKept) {
  files.full = true;
  EXPECT_FALSE(open()->write("a", memory_source{"1234"}));
  EXPECT_FALSE(read_whole(*open(), {"a", 4, hash_bytes("1234", 4)}));
}

} // namespace hippo
