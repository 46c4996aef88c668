#include "hippo/base/file_memory.hpp"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <unordered_map>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/resident.hpp"

namespace hippo {
namespace {

using test::resident_kb;

/// A folder that is empty, for one test.
struct FileMemory : testing::Test {
  FileMemory() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~FileMemory() override { std::filesystem::remove_all(folder); }

  std::string folder = testing::TempDir() + "file_memory-"
                       + std::to_string(::getpid());
};

TEST_F(FileMemory, IsWhatAModelIsWhateverIsTakenGivenBackAndLetGo) {
  for (auto seed = 1u; seed <= 3; ++seed) {
    file_memory memory{folder};
    std::mt19937_64 rng{seed};
    struct block {
      unsigned char* at;
      std::size_t size;
      std::size_t alignment;
      unsigned char value;
    };
    std::vector<block> blocks;
    const auto expect_whole = [](const block& x) {
      for (std::size_t i = 0; i < x.size; ++i)
        ASSERT_EQ(x.at[i], x.value);
    };
    for (int i = 0; i < 3000; ++i) {
      if (!blocks.empty() && rng() % 3 == 0) {
        std::swap(blocks[rng() % blocks.size()], blocks.back());
        expect_whole(blocks.back());
        memory.deallocate(blocks.back().at, blocks.back().size,
                          blocks.back().alignment);
        blocks.pop_back();
        continue;
      }
      // Small ones, and now and then one larger than any pool has.
      block x{nullptr, rng() % 100 == 0 ? rng() % (8 << 20) + 1
                                        : rng() % 600 + 1,
              std::size_t{1} << rng() % 5,
              static_cast<unsigned char>(rng())};
      x.size = (x.size + x.alignment - 1) / x.alignment * x.alignment;
      x.at = static_cast<unsigned char*>(memory.allocate(x.size, x.alignment));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(x.at) % x.alignment, 0u);
      std::memset(x.at, x.value, x.size);
      blocks.push_back(x);
      if (rng() % 500 == 0)
        memory.let_go();
    }
    for (const auto& x : blocks)
      expect_whole(x);
    EXPECT_GT(memory.file_bytes(), 0u);
    EXPECT_EQ(memory.memory_bytes(), 0u);
    for (const auto& x : blocks)
      memory.deallocate(x.at, x.size, x.alignment);
  }
}

TEST_F(FileMemory, WhatIsLetGoLeavesTheProcessAndComesBack) {
  file_memory memory{folder};
  std::pmr::unordered_map<std::uint64_t, std::uint64_t> xs{&memory};
  for (std::uint64_t i = 0; i < 400'000; ++i)
    xs.emplace(i, ~i);
  memory.let_go();
  EXPECT_LT(resident_kb("RssFile") + resident_kb("RssShmem"),
            static_cast<long>(memory.file_bytes() >> 10));
  const auto without = resident_kb("VmRSS");
  for (std::uint64_t i = 0; i < 400'000; ++i)
    ASSERT_EQ(xs.at(i), ~i);
  EXPECT_GT(resident_kb("VmRSS"), without + 8'000);
  memory.let_go();
  EXPECT_LT(resident_kb("VmRSS"), without + 4'000);
}

TEST_F(FileMemory, TheFileHasNoNameAndGoesWithIt) {
  const auto free_before = std::filesystem::space(folder).available;
  {
    file_memory memory{folder};
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    auto* at = memory.allocate(64 << 20);
    std::memset(at, 1, 64 << 20);
    EXPECT_GE(memory.file_bytes(), 64u << 20);
    memory.deallocate(at, 64 << 20);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  // Others write to the disk as well.
  EXPECT_GT(std::filesystem::space(folder).available + (48 << 20), free_before);
}

TEST_F(FileMemory, HoldsNoDescriptor) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"},
                         std::filesystem::directory_iterator{});
  };
  const auto before = open_files();
  std::vector<std::unique_ptr<file_memory>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<file_memory>(folder));
    std::memset(all.back()->allocate(3 << 20), 1, 3 << 20);
    EXPECT_GE(all.back()->file_bytes(), 3u << 20);
  }
  EXPECT_EQ(open_files(), before);
}

TEST_F(FileMemory, WithoutADescriptorMemoryIsTaken) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  auto none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  {
    file_memory memory{folder};
    std::memset(memory.allocate(3 << 20), 1, 3 << 20);
    EXPECT_EQ(memory.file_bytes(), 0u);
    EXPECT_GE(memory.memory_bytes(), 3u << 20);
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(FileMemory, WhereTheDiskIsFullMemoryIsTaken) {
  file_memory memory{folder};
  std::pmr::map<int, std::string> xs{&memory};
  xs.emplace(0, "before");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  // What writes beyond gets a signal, but for this.
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  auto small = before;
  small.rlim_cur = memory.file_bytes();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto* at = static_cast<unsigned char*>(memory.allocate(10 << 20));
  std::memset(at, 7, 10 << 20);
  for (int i = 1; i < 30'000; ++i)
    xs.emplace(i, "then");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  memory.let_go();
  EXPECT_GE(memory.memory_bytes(), 10u << 20);
  EXPECT_EQ(at[(10 << 20) - 1], 7);
  EXPECT_EQ(xs.at(0), "before");
  EXPECT_EQ(xs.at(29'999), "then");
  memory.deallocate(at, 10 << 20);
}

TEST(FileMemoryFolder, AFolderThatIsNotThereIsNamed) {
  try {
    file_memory memory{"/nowhere/at/all"};
    FAIL();
  } catch (const std::system_error& x) {
    EXPECT_NE(std::string{x.what()}.find("/nowhere/at/all"), std::string::npos);
  }
}

} // namespace
} // namespace hippo
