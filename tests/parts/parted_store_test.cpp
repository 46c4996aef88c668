#include "hippo/checkpoint/parts/parted_store.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "depot/random_bytes.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/parts/part_table.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t mib = 1 << 20;

std::string read_file(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

} // namespace

class PartedStore : public testing::Test {
protected:
  PartedStore() { work.folder = folder.path; }

  /// Writes states of one lease after the other; names follow from their order.
  checkpoint write(parted_store& store, const std::string& state) {
    const auto name = checkpoint_name(node_id{1}, ++written, lease_id{1});
    const auto result =
      store.write(name, memory_source{state}, durability::cached);
    EXPECT_TRUE(result) << result.failure().message;
    return result ? *result : checkpoint{};
  }

  checkpoint write(const std::string& state) {
    parted_store store{work, files, *tables};
    return write(store, state);
  }

  /// Reads as a trainer that has nothing in memory.
  expected<std::string> read(const checkpoint& x) {
    part_tables none;
    parted_store store{work, files, none};
    std::string result;
    const auto why = store.read(
      x, [&](const char* data, std::size_t size) -> std::optional<error> {
        result.append(data, size);
        return std::nullopt;
      });
    if (why)
      return *why;
    if (const auto size = store.size_of(x); !size || *size != result.size())
      return {errc::io_failed, "it is of another size than it says"};
    return result;
  }

  [[nodiscard]] fs::path path_of(const checkpoint& x) const {
    return fs::path{folder.path} / x.file;
  }

  temporary_folder folder;
  folder_store files{folder.path};
  std::optional<part_tables> tables{std::in_place};
  lease work;
  step_t written = 0;
};

TEST_F(PartedStore, SmallStatesAreFilesAsTheyAre) {
  for (std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{parted_bytes_min - 1}}) {
    const auto state = random_bytes(size);
    const auto x = write(state);
    EXPECT_EQ(x.table_bytes, 0u);
    EXPECT_TRUE(x.part_files.empty());
    EXPECT_EQ(read_file(path_of(x)), state);
    EXPECT_EQ(*read(x), state);
  }
}

TEST_F(PartedStore, ALargeOneHasItsTableBehindIt) {
  const auto state = random_bytes(9 * mib + 17);
  const auto x = write(state);
  EXPECT_GT(x.table_bytes, 0u);
  EXPECT_EQ(x.bytes, state.size() + x.table_bytes);
  EXPECT_TRUE(x.part_files.empty());
  EXPECT_EQ(read_file(path_of(x)).substr(0, state.size()), state);
  const auto got = read(x);
  ASSERT_TRUE(got) << got.failure().message;
  EXPECT_TRUE(*got == state);
}

TEST_F(PartedStore, StatesOfOneLeaseShareWhatIsTheSame) {
  const auto frozen = random_bytes(40 * mib);
  parted_store store{work, files, *tables};
  std::uint64_t stored = 0;
  std::vector<std::pair<checkpoint, std::string>> all;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto state = random_bytes(mib, 7 + i) + frozen;
    all.emplace_back(write(store, state), state);
    stored += all.back().first.bytes;
    if (i > 0) {
      EXPECT_EQ(all.back().first.part_files,
                (std::vector<part_file>{{all[0].first.file, all[0].first.bytes,
                                         all[0].first.digest}}))
        << "the first one holds what is shared, not a chain";
    }
  }
  EXPECT_LE(stored, frozen.size() + 5 * 2 * mib);
  for (const auto& [x, state] : all)
    EXPECT_TRUE(*read(x) == state);
}

TEST_F(PartedStore, ALeaseSharesWithItsBaseAndItsStart) {
  const auto frozen = random_bytes(20 * mib);
  const auto base = write(random_bytes(2 * mib, 2) + frozen);
  const auto start = write(random_bytes(10 * mib, 3));
  tables.emplace();
  work.base = base;
  work.start = start;
  const auto state = frozen + random_bytes(10 * mib, 3) + random_bytes(mib, 4);
  const auto x = write(state);
  EXPECT_EQ(x.part_files.size(), 2u);
  EXPECT_LE(x.bytes, 4 * mib);
  EXPECT_TRUE(*read(x) == state);
}

TEST_F(PartedStore, ABaseThatCannotBeReadIsNotUsed) {
  const auto state = random_bytes(8 * mib);
  work.base = write(state);
  fs::remove(path_of(work.base));
  tables.emplace();
  const auto x = write(state);
  EXPECT_TRUE(x.part_files.empty());
  EXPECT_TRUE(*read(x) == state);
}

TEST_F(PartedStore, LittleInCommonIsWrittenAgain) {
  const auto little = random_bytes(mib / 2, 5);
  work.base = write(little + random_bytes(60 * mib, 1));
  const auto x = write(little + random_bytes(60 * mib, 2));
  EXPECT_TRUE(x.part_files.empty()) << "the other would have to be kept";
}

/// Every other 256 KiB has changed: to read the rest from another file would
/// take a request each.
TEST_F(PartedStore, ShortStretchesInCommonAreWrittenAgain) {
  auto state = random_bytes(16 * mib);
  work.base = write(state);
  for (std::size_t at = 0; at < state.size(); at += mib / 2)
    state.replace(at, mib / 4, random_bytes(mib / 4, at + 2));
  const auto x = write(state);
  EXPECT_TRUE(x.part_files.empty());
  EXPECT_TRUE(*read(x) == state);
}

TEST_F(PartedStore, WhatAStateHasTwiceIsWrittenOnce) {
  const auto state = std::string(64 * mib, '\0') + random_bytes(mib);
  const auto x = write(state);
  EXPECT_LE(x.bytes, 3 * mib);
  EXPECT_TRUE(*read(x) == state);
}

TEST_F(PartedStore, NoMoreFilesOfOthersAreUsedThanMayBe) {
  std::string all;
  parted_store store{work, files, *tables};
  for (std::uint64_t i = 0; i < 12; ++i) {
    all += random_bytes(4 * mib, 20 + i);
    const auto x = write(store, all); // shares what was there before
    EXPECT_LE(x.part_files.size(), part_files_max);
    EXPECT_TRUE(*read(x) == all);
  }
}

/// Any bit that flips, in any of the files, is found, and no other state comes
/// of it.
TEST_F(PartedStore, DamageIsFoundWhereverItIs) {
  const auto frozen = random_bytes(6 * mib);
  parted_store store{work, files, *tables};
  const auto base = write(store, random_bytes(mib, 2) + frozen);
  const auto state = random_bytes(mib, 3) + frozen;
  const auto x = write(store, state);
  ASSERT_EQ(x.part_files.size(), 1u);
  std::mt19937_64 rng{1};
  int found = 0;
  for (const auto& file : {base, x}) {
    const auto bytes = read_file(path_of(file));
    for (int i = 0; i < 60; ++i) {
      auto damaged = bytes;
      // Half of them in the table.
      const auto at = i % 2 == 0
                        ? rng() % damaged.size()
                        : damaged.size() - 1 - rng() % file.table_bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng() % 8));
      write_file(path_of(file), damaged);
      const auto got = read(x);
      if (got) {
        EXPECT_TRUE(*got == state) << at << " of " << file.file;
      } else {
        EXPECT_EQ(got.failure().code, errc::bad_checkpoint)
          << got.failure().message;
        ++found;
      }
    }
    write_file(path_of(file), bytes);
  }
  EXPECT_GT(found, 30);
}

TEST_F(PartedStore, AFileThatIsGoneOrShortIsABadCheckpoint) {
  const auto frozen = random_bytes(6 * mib);
  parted_store store{work, files, *tables};
  const auto base = write(store, random_bytes(mib, 2) + frozen);
  const auto x = write(store, random_bytes(mib, 3) + frozen);
  EXPECT_TRUE(is_complete(folder.path, x));
  fs::resize_file(path_of(base), base.bytes - 1);
  EXPECT_EQ(read(x).failure().code, errc::bad_checkpoint);
  EXPECT_FALSE(is_complete(folder.path, x));
  fs::remove(path_of(base));
  EXPECT_EQ(read(x).failure().code, errc::bad_checkpoint);
  EXPECT_FALSE(is_complete(folder.path, x));
}

/// Records may be odd, too.
TEST_F(PartedStore, ATableOfAnotherCheckpointIsRefused) {
  const auto state = random_bytes(6 * mib);
  const auto x = write(state);
  const auto bytes = read_file(path_of(x)).substr(state.size());
  ASSERT_TRUE(part_table_of(x, bytes));
  auto other = x;
  other.table_bytes -= 8;
  EXPECT_EQ(read(other).failure().code, errc::bad_checkpoint);
  other = x;
  other.part_files = {{"n1-s9-l9.ckpt", 10, 10}};
  EXPECT_EQ(part_table_of(other, bytes).failure().code, errc::bad_checkpoint);
  other = x;
  other.bytes -= mib; // so that parts lie beyond its end
  EXPECT_EQ(part_table_of(other, bytes).failure().code, errc::bad_checkpoint);
  EXPECT_FALSE(part_table_of(x, ""));
  EXPECT_FALSE(part_table_of(x, std::string(4096, '\0')));
  std::mt19937_64 rng{3};
  for (int i = 0; i < 200; ++i)
    static_cast<void>(part_table_of(x, random_bytes(rng() % 4096, rng())));
}

TEST_F(PartedStore, AFullDiskFailsAndLeavesNothing) {
  folder_store gone{"/no/such/folder"};
  parted_store store{work, gone, *tables};
  const auto x = store.write("a.ckpt", memory_source{random_bytes(5 * mib)},
                             durability::cached);
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().code, errc::io_failed);
}

/// Random edits of a state, read by who has nothing in memory.
TEST_F(PartedStore, AHistoryOfEditsIsReadAsItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 rng{seed};
    auto state = random_bytes(5 * mib + rng() % mib, seed);
    std::vector<std::pair<checkpoint, std::string>> all;
    for (int i = 0; i < 6; ++i) {
      tables.emplace();
      if (!all.empty()) {
        work.base = all.front().first;
        work.start = all[rng() % all.size()].first;
        state = all[rng() % all.size()].second;
      }
      for (auto edits = rng() % 4; edits > 0; --edits) {
        const auto at = rng() % state.size();
        const auto more = random_bytes(rng() % (mib / 2), rng());
        if (rng() % 2 == 0)
          state.insert(at, more);
        else
          state.replace(at, more.size(), more);
      }
      all.emplace_back(write(state), state);
    }
    for (const auto& [x, was] : all) {
      const auto got = read(x);
      ASSERT_TRUE(got) << seed << ": " << got.failure().message;
      ASSERT_TRUE(*got == was) << seed;
    }
    work.base = work.start = {};
  }
}

} // namespace hippo
