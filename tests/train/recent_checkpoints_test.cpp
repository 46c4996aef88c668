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

  expected<std::string> read(const checkpoint& checkpoint) override {
    ++files_.reads;
    const auto i = files_.files.find(checkpoint.file);
    if (i == files_.files.end())
      return {errc::bad_checkpoint, "missing"};
    return i->second;
  }

  expected<checkpoint> write(const std::string& name, const std::string& bytes,
                             durability) override {
    ++files_.writes;
    if (files_.full)
      return {errc::io_failed, "full"};
    files_.files[name] = bytes;
    return checkpoint{name, bytes.size(),
                      hash_bytes(bytes.data(), bytes.size())};
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
  const auto x = open()->write("a", "1234");
  ASSERT_TRUE(x);
  EXPECT_EQ(files.writes, 1);
  EXPECT_EQ(*open()->read(*x), "1234") << "in a later lease";
  EXPECT_EQ(files.reads, 0);
}

TEST_F(RecentCheckpoints, WhatWasReadIsKept) {
  files.files["a"] = "1234";
  const checkpoint x{"a", 4, hash_bytes("1234", 4)};
  const auto store = open();
  EXPECT_EQ(*store->read(x), "1234");
  EXPECT_EQ(*store->read(x), "1234");
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, NameAndDigestAndFolderMustMatch) {
  const auto x = open()->write("a", "1234");
  ASSERT_TRUE(x);
  auto other = *x;
  ++other.digest;
  EXPECT_TRUE(open()->read(other));
  EXPECT_EQ(files.reads, 1);
  ASSERT_TRUE(open()->write("a", "1234"));
  other = *x;
  other.file = "b";
  EXPECT_FALSE(open()->read(other));
  EXPECT_TRUE(open("g")->read(*x));
  EXPECT_EQ(files.reads, 3);
}

TEST_F(RecentCheckpoints, TheLeastRecentlyUsedGoesFirst) {
  const auto store = open();
  const auto a = *store->write("a", "1234");
  const auto b = *store->write("b", "1234");
  ASSERT_TRUE(store->read(a));
  const auto c = *store->write("c", "1234");
  ASSERT_TRUE(store->read(a));
  ASSERT_TRUE(store->read(c));
  EXPECT_EQ(files.reads, 0);
  ASSERT_TRUE(store->read(b));
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, WhatIsTooLargeIsNotKeptAndDrivesNothingOut) {
  const auto store = open();
  const auto a = *store->write("a", "1234");
  const auto large = *store->write("b", "12345678901");
  EXPECT_EQ(*store->read(large), "12345678901");
  EXPECT_EQ(files.reads, 1);
  ASSERT_TRUE(store->read(a));
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, ANewOneReplacesItsName) {
  const auto store = open();
  const auto before = *store->write("a", "1234");
  const auto now = *store->write("a", "567890");
  EXPECT_EQ(*store->read(now), "567890");
  ASSERT_TRUE(store->write("b", "1234")) << "there is place for both";
  EXPECT_EQ(*store->read(now), "567890");
  EXPECT_EQ(files.reads, 0);
  ASSERT_TRUE(store->read(before));
  EXPECT_EQ(files.reads, 1);
}

TEST_F(RecentCheckpoints, WhatCouldNotBeWrittenIsNotKept) {
  files.full = true;
  EXPECT_FALSE(open()->write("a", "1234"));
  EXPECT_FALSE(open()->read({"a", 4, hash_bytes("1234", 4)}));
}

} // namespace hippo
