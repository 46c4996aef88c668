#include "hippo/train/study_code.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "hippo/train/made_workload.hpp"
#include "train/summing_workload.hpp"
#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

namespace fs = std::filesystem;

study_code sample() {
  study_code x;
  x.files["train.py"] = {"import data\n# \"caf\xc3\xa9\"\n", false};
  x.files["tools/run.sh"] = {"#!/bin/sh\n", true};
  x.files["weights"] = {std::string{"\x00\xff\n\x80", 4}, false};
  x.versions = {{"python", "3.11.2"}, {"torch", ""}};
  x.python = "/opt/venv/bin/python";
  return x;
}

std::string content(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(StudyCode, SurvivesBeingWritten) {
  const auto text = to_json(sample());
  EXPECT_EQ(text.find('\n'), text.npos);
  const auto read = study_code_from_json(text);
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_EQ(*read, sample());
  EXPECT_EQ(to_json(*read), text);
}

TEST(StudyCode, RefusesWhatIsNone) {
  for (const auto* text :
       {"", "[]", "{}", "{\"files\": {}}", "{\"files\": [], \"versions\": {}}",
        "{\"files\": {\"a\": {\"hex\": \"0g\"}}, \"versions\": {}}",
        "{\"files\": {\"a\": {\"hex\": \"0\"}}, \"versions\": {}}",
        "{\"files\": {\"../a\": {\"text\": \"\"}}, \"versions\": {}}",
        "{\"files\": {\"/a\": {\"text\": \"\"}}, \"versions\": {}}",
        "{\"files\": {}, \"versions\": {\"a\": 1}}"}) {
    const auto read = study_code_from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.failure().code, errc::malformed_message);
  }
}

TEST(StudyCode, PathsStayInTheirFolder) {
  for (const auto* good : {"a", "a/b.py", "a/..b", ".hidden"})
    EXPECT_TRUE(is_code_path(good)) << good;
  for (const auto* bad : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "./a"})
    EXPECT_FALSE(is_code_path(bad)) << bad;
}

TEST(StudyCode, DigestsTellFilesApart) {
  EXPECT_NE(digest_of({"a", false}), digest_of({"b", false}));
  EXPECT_NE(digest_of({"a", false}), digest_of({"a", true}));
  EXPECT_EQ(digest_of({"a", true}), digest_of({"a", true}));
}

TEST(StudyCode, TravelsWithAStudysText) {
  for (const auto* study : {"study: s\n", "study: s", ""}) {
    EXPECT_EQ(split(study).study, study);
    EXPECT_EQ(split(study).code, "");
    EXPECT_EQ(join({study, ""}), study);
  }
  const auto code = to_json(sample());
  const auto parts = split(join({"study: s\n", code}));
  EXPECT_EQ(parts.study, "study: s\n");
  EXPECT_EQ(parts.code, code);
  EXPECT_EQ(split(join({"study: s", code})).code, code);
}

TEST(StudyCode, IsUnpackedForAsLongAsItIsNeeded) {
  std::string path;
  {
    auto made = unpacked_code::make(to_json(sample()));
    ASSERT_TRUE(made) << made.failure().message;
    const auto moved = std::move(*made);
    path = moved.path();
    for (const auto& [name, file] : sample().files) {
      EXPECT_EQ(content(path + '/' + name), file.bytes);
      const auto mode = fs::status(path + '/' + name).permissions();
      EXPECT_EQ((mode & fs::perms::owner_exec) != fs::perms::none,
                file.executable);
    }
    std::ofstream{path + "/left behind"} << "x";
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(unpacked_code::make("nonsense"));
}

/// A registry with a workload that notes where its code is.
workload_registry registry(std::string& folder) {
  workload_registry result;
  workload_descriptor x;
  x.name = "noting";
  result.add(x, [&](const workload_spec& spec) {
    const auto i = spec.settings.find("folder");
    folder = i == spec.settings.end() ? "" : std::get<std::string>(i->second);
    return std::make_unique<summing_workload>();
  });
  return result;
}

TEST(MadeWorkload, HasItsCodeForAsLongAsItLives) {
  std::string folder;
  const auto known = registry(folder);
  {
    auto made = make_workload(known, {"noting", {}, {}}, to_json(sample()));
    ASSERT_TRUE(made);
    EXPECT_TRUE(fs::exists(folder + "/train.py"));
  }
  EXPECT_FALSE(fs::exists(folder));
  ASSERT_TRUE(make_workload(known, {"noting", {}, {}}, std::string{}));
  EXPECT_EQ(folder, "");
}

TEST(MadeWorkload, ReadsTheCodeOfALeaseFromItsStore) {
  std::string folder;
  const auto known = registry(folder);
  temporary_folder checkpoints;
  folder_store store{checkpoints.path};
  lease x;
  x.workload.name = "noting";
  x.code = *store.write(code_file_name, to_json(sample()));
  {
    auto made = make_workload(known, x, store);
    ASSERT_TRUE(made);
    EXPECT_TRUE(fs::exists(folder + "/tools/run.sh"));
  }
  x.code.digest ^= 1;
  const auto refused = make_workload(known, x, store);
  ASSERT_FALSE(refused);
  // Not `bad_checkpoint`: no checkpoint is to be given up for it.
  EXPECT_EQ(refused.failure().code, errc::io_failed);
}

} // namespace
} // namespace hippo
