#include "hippo/base/scratch_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

namespace fs = std::filesystem;

/// With a `TMPDIR` of its own.
struct ScratchFolder : testing::Test {
  ScratchFolder() {
    auto path = (fs::temp_directory_path() / "scratch-test-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      throw std::runtime_error("no folder");
    place = path;
    if (const char* const set = std::getenv("TMPDIR"))
      before = set;
    ::setenv("TMPDIR", path.c_str(), 1);
  }

  ~ScratchFolder() override {
    if (before)
      ::setenv("TMPDIR", before->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
    fs::remove_all(place);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& x : fs::directory_iterator{place})
      result.push_back(x.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }

  /// Makes a folder with a file in a process that is killed then, unless it is
  /// to live. @returns that process, and the folder's path
  std::pair<pid_t, std::string> in_a_process(bool is_killed) {
    std::array<int, 2> told{};
    if (::pipe(told.data()) != 0)
      throw std::runtime_error("no pipe");
    const auto child = ::fork();
    if (child == 0) {
      const auto made = scratch_folder::make("hippo-test");
      std::ofstream{made->file("left")} << "behind";
      const auto& path = made->path();
      if (::write(told[1], path.data(), path.size()) < 0)
        ::_exit(1);
      ::close(told[1]);
      for (;;)
        ::pause();
    }
    ::close(told[1]);
    std::string path(4096, '\0');
    const auto size = ::read(told[0], path.data(), path.size());
    path.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    ::close(told[0]);
    if (is_killed) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    return {child, path};
  }

  fs::path place;
  std::optional<std::string> before;
};

TEST_F(ScratchFolder, IsGoneWithWhatIsInIt) {
  {
    const auto x = scratch_folder::make("hippo-test");
    ASSERT_TRUE(x);
    EXPECT_EQ(fs::path{x->path()}.parent_path(), place);
    EXPECT_EQ(fs::status(x->path()).permissions(), fs::perms::owner_all);
    fs::create_directories(x->file("a/b"));
    std::ofstream{x->file("a/b/c")} << "d";
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(ScratchFolder, MayBeMoved) {
  auto x = scratch_folder::make("hippo");
  auto y = scratch_folder::make("hippo");
  const auto first = x->path(), second = y->path();
  *x = std::move(*y);
  EXPECT_EQ(x->path(), second);
  const scratch_folder z{std::move(*x)};
  EXPECT_EQ(z.path(), second);
  EXPECT_TRUE(fs::exists(first) && fs::exists(second));
}

TEST_F(ScratchFolder, TheNextOneRemovesWhatAKilledProcessHasLeft) {
  const auto dead = in_a_process(true).second;
  EXPECT_TRUE(fs::exists(dead + "/left"));
  const auto [alive, theirs] = in_a_process(false);
  EXPECT_FALSE(fs::exists(dead));
  {
    const auto mine = scratch_folder::make("hippo-other");
    EXPECT_TRUE(fs::exists(theirs + "/left")) << "its owner lives";
    const auto another = scratch_folder::make("hippo-other");
    EXPECT_TRUE(fs::exists(mine->path())) << "and so does this one's";
  }
  ::kill(alive, SIGKILL);
  ::waitpid(alive, nullptr, 0);
  EXPECT_TRUE(fs::exists(theirs));
  EXPECT_TRUE(scratch_folder::make("hippo"));
  EXPECT_TRUE(names().empty());
}

TEST_F(ScratchFolder, RemovesNothingThatIsNotOne) {
  const auto other = place / "elsewhere";
  fs::create_directories(other / "kept");
  fs::create_directory_symlink(other, place / "hippo-code.abcdef");
  for (const auto* name :
       {"hippo-code-abcdef", "hippo-1.abcdef", "hippo.abcde", "hippox.abcdef",
        "other.abcdef", "hippo-code.abcdefg"})
    fs::create_directory(place / name);
  std::ofstream{place / "hippo-file.abcdef"} << "a file";
  const auto before_it = names();
  EXPECT_TRUE(scratch_folder::make("hippo"));
  EXPECT_EQ(names(), before_it);
  EXPECT_TRUE(fs::exists(other / "kept"));
}

TEST_F(ScratchFolder, ManyMakersAtATimeKeepWhatTheyHave) {
  std::vector<std::thread> makers;
  std::atomic<int> lost{0};
  for (int i = 0; i < 4; ++i)
    makers.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        const auto x = scratch_folder::make("hippo-test");
        std::ofstream{x->file("mine")} << j;
        lost += !x || !fs::exists(x->file("mine"));
      }
    });
  for (auto& x : makers)
    x.join();
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(names().empty());
}

} // namespace
} // namespace hippo
