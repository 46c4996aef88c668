#include "hippo/base/whole_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "train/file_size_limit.hpp"

namespace hippo {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
protected:
  WholeFile() {
    auto name = (fs::temp_directory_path() / "hippo_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      ADD_FAILURE() << "cannot make " << name;
    root_ = name;
  }

  ~WholeFile() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return root_ / name;
  }

  static std::string read(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator{root_}, {});
  }

  static mode_t mode_of(const std::string& path) {
    struct stat about {};
    ::stat(path.c_str(), &about);
    return about.st_mode & 07777;
  }

private:
  fs::path root_;
};

TEST_F(WholeFile, IsNeverHalfThereWhateverRoomThereIs) {
  const std::string before = "what was there";
  const std::string bytes(1000, 'x');
  for (const bool exists : {false, true})
    for (rlim_t room = 0; room < bytes.size() + 50; room += 37) {
      const auto file = path("file");
      fs::remove(file);
      if (exists)
        std::ofstream{file} << before;
      std::optional<error> why;
      {
        const file_size_limit limit{room};
        why = write_whole(file, bytes);
      }
      if (room >= bytes.size()) {
        EXPECT_FALSE(why) << why->message;
        EXPECT_EQ(read(file), bytes);
        EXPECT_EQ(files(), 1);
        continue;
      }
      ASSERT_TRUE(why) << room;
      EXPECT_EQ(why->code, errc::io_failed);
      EXPECT_NE(why->message.find(file), std::string::npos) << why->message;
      EXPECT_EQ(fs::exists(file), exists);
      EXPECT_EQ(files(), exists ? 1 : 0);
      if (exists) {
        EXPECT_EQ(read(file), before);
      }
    }
}

TEST_F(WholeFile, KeepsTheModeOfWhatIsThereAndGivesANewOneItsOwn) {
  const auto old = path("old");
  std::ofstream{old} << "a";
  ::chmod(old.c_str(), 0640);
  ASSERT_FALSE(write_whole(old, "b"));
  EXPECT_EQ(mode_of(old), 0640u);
  const auto mask = ::umask(022);
  whole_file_options secret;
  secret.mode = 0600;
  EXPECT_FALSE(write_whole(path("secret"), "b", secret));
  EXPECT_FALSE(write_whole(path("open"), "b"));
  ::umask(mask);
  EXPECT_EQ(mode_of(path("secret")), 0600u);
  EXPECT_EQ(mode_of(path("open")), 0644u);
}

TEST_F(WholeFile, DoesNotReplaceWhereItIsNotTo) {
  whole_file_options how;
  how.replaces = false;
  ASSERT_FALSE(write_whole(path("a"), "first", how));
  const auto why = write_whole(path("a"), "second", how);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::in_use);
  EXPECT_EQ(read(path("a")), "first");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, WritesThroughLinksAndIntoWhatIsNoFile) {
  std::ofstream{path("real")} << "a";
  fs::create_symlink("real", path("link"));
  ASSERT_FALSE(write_whole(path("link"), "b"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read(path("real")), "b");
  EXPECT_FALSE(write_whole("/dev/null", "b"));
  const auto why = write_whole("/dev/full", "b");
  ASSERT_TRUE(why);
  EXPECT_NE(why->message.find("No space left"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(WholeFile, SaysWhyAFolderOrNothingCannotBeWritten) {
  fs::create_directory(path("folder"));
  for (const auto& name : {path("folder"), path("none/file"), std::string{}}) {
    const auto why = write_whole(name, "a");
    ASSERT_TRUE(why) << name;
    EXPECT_EQ(why->code, errc::io_failed);
  }
  EXPECT_EQ(files(), 1);
}

} // namespace
} // namespace hippo
