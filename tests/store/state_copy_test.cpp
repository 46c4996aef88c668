#include "hippo/store/state_copy.hpp"

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/checkpoint_file.hpp"
#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/sha256.hpp"
#include "store/folder_fixture.hpp"
#include "train/file_size_limit.hpp"

namespace hippo {
namespace {

constexpr auto key = "toy;seed=1";

/// The bytes of a node's checkpoint.
std::string bytes_of(std::uint64_t id) {
  return std::string(20'000, static_cast<char>('a' + id % 26))
         + std::to_string(id);
}

class StateCopyTest : public folder_test {
protected:
  /// Writes a checkpoint, as a trainer does, and then says so in the database.
  void add(state_writer& state, std::uint64_t id) {
    const auto folder = folder_in(path());
    std::filesystem::create_directories(folder);
    const auto file = write_checkpoint(folder, std::to_string(id) + ".ckpt",
                                       bytes_of(id), durability::cached);
    ASSERT_TRUE(file);
    const auto done = state.commit({node_added{key, node(id, id - 1)},
                                    checkpoint_added{key, {node_id{id}, 10 * id,
                                                           *file}}});
    ASSERT_TRUE(done) << done.failure().message;
  }

  static std::string folder_in(const std::string& state) {
    return state_reader::checkpoints_of(state) + '/' + hash_text(key);
  }

  copy_outcome copy(copy_target target = copy_target::older,
                    copy_check check = copy_check::contents) {
    const auto done
      = copy_state(path(), path("copy"), target, nullptr, check);
    EXPECT_TRUE(done) << done.failure().message;
    return done ? *done : copy_outcome{};
  }

  /// Checks that a folder is a state of which nothing is missing.
  /// @returns the ids of its checkpoints
  std::vector<std::uint64_t> checked(const std::string& state) {
    std::vector<std::uint64_t> result;
    const auto reader = state_reader::open(state);
    EXPECT_TRUE(reader) << reader.failure().message;
    if (!reader)
      return result;
    const auto plan = (*reader)->load_plan(key);
    EXPECT_TRUE(plan) << plan.failure().message;
    for (const auto& x : plan->checkpoints) {
      const auto bytes = read_checkpoint(folder_in(state), x.file);
      EXPECT_TRUE(bytes && *bytes == bytes_of(number_of(x.node)))
        << x.file.file;
      result.push_back(number_of(x.node));
    }
    return result;
  }

  std::size_t files_in(const std::string& state) {
    std::size_t result = 0;
    for (const auto& x : std::filesystem::directory_iterator{folder_in(state)})
      result += x.path().extension() == ".ckpt";
    return result;
  }
};

using ids = std::vector<std::uint64_t>;

TEST_F(StateCopyTest, AServiceGoesOnInTheCopy) {
  auto state = open();
  add(*state, 1);
  add(*state, 2);
  const auto done = copy(copy_target::fresh);
  EXPECT_EQ(done.copied, 2u);
  EXPECT_EQ(done.copied_bytes, bytes_of(1).size() + bytes_of(2).size());
  EXPECT_EQ(checked(path("copy")), (ids{1, 2}));
  auto there = state_writer::open(path("copy"));
  ASSERT_TRUE(there) << there.failure().message;
  EXPECT_EQ((*there)->load_plan(key)->nodes, state->load_plan(key)->nodes);
}

/// A study that has begun from files goes on in the copy.
TEST_F(StateCopyTest, HasTheFilesOfInitialStates) {
  auto state = open();
  add(*state, 1);
  const auto from = state_reader::checkpoints_of(path()) + "/initial";
  const auto to = state_reader::checkpoints_of(path("copy")) + "/initial";
  std::filesystem::create_directories(from);
  std::vector<initial_file> files;
  for (const std::string content : {"one", "another"}) {
    files.push_back({sha256_of(content), content.size()});
    ASSERT_TRUE(write_checkpoint(from, files.back().sha256, content));
  }
  std::ofstream{from + "/unfinished.part"} << "x";
  EXPECT_EQ(copy().copied, 3u);
  for (const auto& file : files)
    EXPECT_EQ(check_content(to + '/' + file.sha256, file), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(to + "/unfinished.part"));
  EXPECT_EQ(copy().there, 3u);

  // What has rotted in the copy is mended, what has in the state is told.
  std::filesystem::remove(to + '/' + files[0].sha256);
  std::ofstream{to + '/' + files[0].sha256} << "two";
  EXPECT_EQ(copy().mended, 1u);
  EXPECT_EQ(check_content(to + '/' + files[0].sha256, files[0]), std::nullopt);
  std::filesystem::remove(from + '/' + files[1].sha256);
  std::ofstream{from + '/' + files[1].sha256} << "anotheR";
  std::filesystem::remove(to + '/' + files[1].sha256);
  EXPECT_EQ(copy().missing, 1u);
}

TEST_F(StateCopyTest, ASecondCopyTakesOnlyWhatIsNew) {
  auto state = open();
  for (const auto id : {1, 2, 3})
    add(*state, static_cast<std::uint64_t>(id));
  copy();
  add(*state, 4);
  ASSERT_TRUE(
    state->commit({checkpoint_removed{key, node_id{2}, 20, "2.ckpt"}}));
  // What is there is not copied again, nor is that read which it was copied of.
  std::ofstream{folder_in(path()) + "/1.ckpt"} << "other";
  const auto done = copy();
  EXPECT_EQ(done.copied, 1u);
  EXPECT_EQ(done.there, 2u);
  EXPECT_EQ(done.removed, 1u);
  EXPECT_EQ(done.missing, 0u);
  EXPECT_EQ(checked(path("copy")), (ids{1, 3, 4}));
  EXPECT_EQ(files_in(path("copy")), 3u);
}

TEST_F(StateCopyTest, WhateverByteHasRottedThereIsMendedByTheNextCopy) {
  auto state = open();
  for (const auto id : {1, 2, 3})
    add(*state, static_cast<std::uint64_t>(id));
  copy();
  const auto file = folder_in(path("copy")) + "/2.ckpt";
  const auto size = bytes_of(2).size();
  for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
    {
      std::fstream rotten{file, std::ios::in | std::ios::out
                                  | std::ios::binary};
      rotten.seekp(static_cast<std::streamoff>(at));
      rotten.put('#');
    }
    EXPECT_EQ(copy(copy_target::older, copy_check::sizes).mended, 0u);
    const auto done = copy();
    EXPECT_EQ(done.mended, 1u) << at;
    EXPECT_EQ(done.copied, 1u);
    EXPECT_EQ(done.there, 2u);
    EXPECT_EQ(checked(path("copy")), (ids{1, 2, 3}));
  }
  std::filesystem::resize_file(file, size - 1);
  EXPECT_EQ(copy(copy_target::older, copy_check::sizes).mended, 1u);
  std::filesystem::remove(file);
  EXPECT_EQ(copy().mended, 1u);
  EXPECT_EQ(checked(path("copy")), (ids{1, 2, 3}));
}

TEST_F(StateCopyTest, WhatHasRottedInBothIsNotInTheCopysDatabase) {
  auto state = open();
  for (const auto id : {1, 2})
    add(*state, static_cast<std::uint64_t>(id));
  copy();
  for (const auto& folder : {path(), path("copy")})
    std::fstream{folder_in(folder) + "/1.ckpt"} << "damage";
  EXPECT_EQ(copy().missing, 1u);
  EXPECT_EQ(checked(path("copy")), ids{2});
}

TEST_F(StateCopyTest, WhatIsMissingOrDamagedIsNotInTheCopysDatabase) {
  auto state = open();
  for (const auto id : {1, 2, 3})
    add(*state, static_cast<std::uint64_t>(id));
  std::filesystem::remove(folder_in(path()) + "/1.ckpt");
  std::fstream{folder_in(path()) + "/2.ckpt"} << "damage";
  EXPECT_EQ(copy().missing, 2u);
  EXPECT_EQ(checked(path("copy")), ids{3});
  EXPECT_EQ(state->load_plan(key)->checkpoints.size(), 3u);
}

TEST_F(StateCopyTest, IsOfOneMomentWhileAServiceWrites) {
  auto state = open();
  add(*state, 1);
  std::atomic<bool> ends = false;
  std::thread service{[&] {
    for (std::uint64_t id = 2; !ends; ++id) {
      add(*state, id);
      if (id % 3 == 0) { // evicted: first in the database, then the file
        ASSERT_TRUE(
          state->commit({checkpoint_removed{key, node_id{id}, 10 * id,
                                            std::to_string(id) + ".ckpt"}}));
        std::filesystem::remove(folder_in(path()) + '/' + std::to_string(id)
                                + ".ckpt");
      }
    }
  }};
  for (int i = 0; i < 8; ++i) {
    copy();
    EXPECT_FALSE(checked(path("copy")).empty());
  }
  ends = true;
  service.join();
  const auto left = checked(path());
  copy();
  EXPECT_EQ(checked(path("copy")), left);
  EXPECT_EQ(files_in(path("copy")), left.size());
}

TEST_F(StateCopyTest, KilledAtAnyTimeItLeavesTheEarlierOne) {
  auto state = open();
  std::mt19937 random{3};
  ids known;
  for (std::uint64_t round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 10; ++i)
      add(*state, 10 * round + i + 1);
    const auto child = ::fork();
    if (child == 0)
      ::_exit(copy_state(path(), path("copy"), copy_target::older) ? 0 : 1);
    ::usleep(static_cast<unsigned>(random() % 40'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!std::filesystem::exists(path("copy") + "/hippo.db")) {
      // Nothing is taken for a state that is none yet.
      if (std::filesystem::exists(path("copy") + "/hippo.db.copy")) {
        EXPECT_FALSE(state_writer::open(path("copy")));
      }
      continue;
    }
    const auto now = checked(path("copy"));
    EXPECT_TRUE(now == known || now.size() % 10 == 0) << now.size();
    EXPECT_GE(now.size(), known.size());
    known = now;
  }
  copy();
  EXPECT_EQ(checked(path("copy")).size(), 100u);
  EXPECT_EQ(files_in(path("copy")), 100u);
}

TEST_F(StateCopyTest, AFullDiskIsToldAndLeavesTheEarlierOne) {
  auto state = open();
  add(*state, 1);
  copy();
  add(*state, 2);
  for (const std::size_t bytes : {4'000, 19'000}) { // database or checkpoint
    const file_size_limit limit{bytes};
    const auto done
      = copy_state(path(), path("copy"), copy_target::older);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.failure().code, errc::io_failed);
    EXPECT_NE(done.failure().message.find(path("copy")), std::string::npos)
      << done.failure().message;
  }
  EXPECT_EQ(checked(path("copy")), ids{1});
  copy();
  EXPECT_EQ(checked(path("copy")), (ids{1, 2}));
}

TEST_F(StateCopyTest, ACopyIsTheSameStudyAndAnEqualStateIsNot) {
  auto state = open();
  stored_study study;
  study.id = study_id{1};
  study.text = "study: mine\n";
  study.metric = "m";
  ASSERT_TRUE(state->commit({study_saved{study}}));
  copy(copy_target::fresh);
  const auto uid = *state->load_uid(study.id);
  EXPECT_EQ(uid.size(), 32u);
  EXPECT_EQ(*(*state_writer::open(path("copy")))->load_uid(study.id), uid);
  const auto other = std::move(*state_writer::open(path("other")));
  ASSERT_TRUE(other->commit({study_saved{study}}));
  const auto done
    = copy_state(path("other"), path("copy"), copy_target::older);
  ASSERT_FALSE(done);
  EXPECT_NE(done.failure().message.find("another state"), std::string::npos);
  copy();
}

TEST_F(StateCopyTest, RefusesWhatWouldHarmAnotherState) {
  auto state = open();
  stored_study study;
  study.id = study_id{1};
  study.text = "study: mine\n";
  study.metric = "m";
  ASSERT_TRUE(state->commit({study_saved{study}}));
  const auto refused = [&](const std::string& to, copy_target target) {
    const auto done = copy_state(path(), to, target);
    return done ? "" : done.failure().message;
  };
  EXPECT_NE(refused(path(), copy_target::older).find("is the state itself"),
            std::string::npos);
  copy();
  EXPECT_NE(refused(path("copy"), copy_target::fresh).find("already"),
            std::string::npos);
  EXPECT_EQ(refused(path("copy"), copy_target::older), "");
  {
    const auto other = std::move(*state_writer::open(path("other")));
    study.text = "study: other\n";
    ASSERT_TRUE(other->commit({study_saved{study}}));
    EXPECT_NE(refused(path("other"), copy_target::older).find("in use"),
              std::string::npos);
  }
  EXPECT_NE(refused(path("other"), copy_target::older).find("another state"),
            std::string::npos);
  EXPECT_EQ((*state_reader::open(path("other")))->load_study("1")->text,
            "study: other\n");
  std::filesystem::create_directories(path("things") + "/mine");
  EXPECT_NE(refused(path("things"), copy_target::older).find("other things"),
            std::string::npos);
  EXPECT_EQ(copy_state(path("none"), path("x"), copy_target::older)
              .failure()
              .code,
            errc::invalid_argument);
}

} // namespace
} // namespace hippo
