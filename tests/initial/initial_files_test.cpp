#include "hippo/checkpoint/initial/initial_files.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "hippo/model/code/sha256.hpp"
#include "hippo/model/code/study_code.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream{path, std::ios::binary} << bytes;
}

std::string content(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

initial_file file_of(const std::string& bytes) {
  return {sha256_of(bytes), bytes.size()};
}

} // namespace

class InitialFiles : public testing::Test {
protected:
  InitialFiles() {
    write(root / "model" / "config.json", "{}");
    write(root / "model" / "deep" / "weights", std::string(3 << 20, 'w'));
    write(root / "w.pt", "weights");
  }

  void refuses(const fs::path& path, const std::string& why) const {
    const auto read = read_initial_state(path.string());
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.failure().code, errc::invalid_argument);
    EXPECT_NE(read.failure().message.find(why), std::string::npos)
      << read.failure().message;
  }

  temporary_folder temporary;
  const fs::path root = temporary.path;
  const std::string held = temporary.path + "/checkpoints/initial";
};

TEST_F(InitialFiles, FolderIsReadWhole) {
  const auto read = read_initial_state((root / "model").string());
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_TRUE(read->is_folder);
  EXPECT_EQ(read->files,
            (std::map<std::string, initial_file>{
              {"config.json", file_of("{}")},
              {"deep/weights", file_of(std::string(3 << 20, 'w'))}}));
}

TEST_F(InitialFiles, FileKeepsTheEndingOfItsName) {
  const auto read = read_initial_state((root / "w.pt").string());
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_FALSE(read->is_folder);
  EXPECT_EQ(read->files, (std::map<std::string, initial_file>{
                           {"state.pt", file_of("weights")}}));
}

/// The digest follows from content and names, not from the place.
TEST_F(InitialFiles, DigestIsThatOfTheContent) {
  const auto digest = [&](const fs::path& path) {
    return digest_of(*read_initial_state(path.string()));
  };
  const auto first = digest(root / "model");
  fs::rename(root / "model", root / "moved");
  EXPECT_EQ(digest(root / "moved"), first);
  fs::rename(root / "moved" / "config.json", root / "moved" / "conf.json");
  EXPECT_NE(digest(root / "moved"), first);
  fs::rename(root / "moved" / "conf.json", root / "moved" / "config.json");
  write(root / "moved" / "config.json", "[]");
  EXPECT_NE(digest(root / "moved"), first);

  const auto file = digest(root / "w.pt");
  fs::rename(root / "w.pt", root / "other.pt");
  EXPECT_EQ(digest(root / "other.pt"), file);
  fs::rename(root / "other.pt", root / "other.bin");
  EXPECT_NE(digest(root / "other.bin"), file);
  write(root / "alone" / "state.bin", "weights");
  EXPECT_NE(digest(root / "alone"), digest(root / "other.bin"))
    << "a folder with one file is no file";
}

TEST_F(InitialFiles, RefusesWhatCannotTravel) {
  refuses(root / "nothing", "is not there");
  fs::create_directory(root / "empty");
  refuses(root / "empty", "has no files");
  const auto odd = root / "model" / "odd";
  fs::create_symlink(root / "w.pt", odd);
  refuses(root / "model", "leads out of the folder");
  fs::remove(odd);
  fs::create_symlink("nowhere", odd);
  refuses(root / "model", "leads nowhere");
  fs::remove(odd);
  fs::create_directory_symlink("deep", odd);
  refuses(root / "model", "is a link to a folder");
  fs::remove(odd);
  ASSERT_EQ(::mkfifo(odd.c_str(), 0600), 0);
  refuses(root / "model", "is no file but a pipe");
  fs::remove(odd);
  for (std::size_t i = 0; i <= initial_files_max; ++i)
    write(root / "many" / std::to_string(i), "");
  refuses(root / "many", "has more than 1000 files");
}

TEST_F(InitialFiles, LinkWithinTheFolderIsItsFile) {
  fs::create_symlink("config.json", root / "model" / "same.json");
  const auto read = read_initial_state((root / "model").string());
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_EQ(read->files.at("same.json"), file_of("{}"));
}

TEST_F(InitialFiles, ArePlacedOnceEach) {
  write(root / "model" / "again", "{}");
  const auto state = *read_initial_state((root / "model").string());
  EXPECT_TRUE(check_initial_state(state, held));
  ASSERT_EQ(place_initial_state(state, held), std::nullopt);
  EXPECT_EQ(check_initial_state(state, held), std::nullopt);
  std::size_t count = 0;
  for (const auto& x : fs::directory_iterator{held}) {
    EXPECT_EQ(sha256_of(content(x.path())), x.path().filename());
    EXPECT_EQ(x.status().permissions() & fs::perms::owner_write,
              fs::perms::none);
    ++count;
  }
  EXPECT_EQ(count, 2u);
  fs::remove_all(root / "model");
  EXPECT_EQ(place_initial_state(state, held), std::nullopt)
    << "the source is not needed where all is there";
}

TEST_F(InitialFiles, SourceThatHasChangedIsNotPlaced) {
  const auto state = *read_initial_state((root / "w.pt").string());
  write(root / "w.pt", "WEIGHTS");
  const auto why = place_initial_state(state, held);
  ASSERT_TRUE(why);
  EXPECT_NE(why->message.find("has changed since it was read"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(held));
}

TEST_F(InitialFiles, ContentIsCheckedAgainOnceItHasChanged) {
  const auto path = (root / "w.pt").string();
  EXPECT_EQ(check_content(path, file_of("weights")), std::nullopt);
  EXPECT_EQ(check_content(path, file_of("weights")), std::nullopt);
  write(path, "WEIGHTS");
  const auto why = check_content(path, file_of("weights"));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::bad_checkpoint);
  EXPECT_EQ(check_content(path, file_of("longer weights"))->code,
            errc::bad_checkpoint);
  EXPECT_EQ(check_content(path + "x", file_of("weights"))->code,
            errc::bad_checkpoint);
}

TEST_F(InitialFiles, AreLaidOutAsTheyWere) {
  const auto find = [&](const std::string&,
                        const initial_file& file) -> expected<std::string> {
    return held + '/' + file.sha256;
  };
  const auto state = *read_initial_state((root / "model").string());
  ASSERT_EQ(place_initial_state(state, held), std::nullopt);
  std::string path;
  {
    const auto laid_out = laid_out_state::make(state, find);
    ASSERT_TRUE(laid_out) << laid_out.failure().message;
    path = laid_out->path();
    EXPECT_EQ(content(fs::path{path} / "config.json"), "{}");
    EXPECT_EQ(fs::file_size(fs::path{path} / "deep" / "weights"), 3u << 20);
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(check_initial_state(state, held), std::nullopt)
    << "the files stay where they are";

  fs::remove(held + '/' + file_of("{}").sha256);
  write(held + '/' + file_of("{}").sha256, "!!");
  const auto damaged = laid_out_state::make(state, find);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.failure().code, errc::bad_checkpoint);
}

} // namespace hippo
