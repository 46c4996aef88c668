#include "hippo/model/code/study_code.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/checkpoint/initial/initial_files.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/train/process/made_workload.hpp"
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

/// The same with an initial state.
study_code begun() {
  auto x = sample();
  x.initial.emplace();
  x.initial->files["config.json"] = {std::string(64, 'a'), 2};
  x.initial->files["deep/weights"] = {std::string(64, 'b'), 1ull << 33};
  x.initial->is_folder = true;
  x.initial->path = "/models/base";
  return x;
}

std::string content(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(StudyCode, SurvivesBeingWritten) {
  for (const auto& code : {sample(), begun()}) {
    const auto text = to_json(code);
    EXPECT_EQ(text.find('\n'), text.npos);
    const auto read = study_code_from_json(text);
    ASSERT_TRUE(read) << read.failure().message;
    EXPECT_EQ(*read, code);
    EXPECT_EQ(to_json(*read), text);
  }
}

TEST(StudyCode, RefusesWhatIsNone) {
  for (const auto* text :
       {"", "[]", "{}", "{\"files\": {}}", "{\"files\": [], \"versions\": {}}",
        "{\"files\": {\"a\": {\"hex\": \"0g\"}}, \"versions\": {}}",
        "{\"files\": {\"a\": {\"hex\": \"0\"}}, \"versions\": {}}",
        "{\"files\": {}, \"versions\": {\"a\": 1}}",
        "{\"files\": {}, \"versions\": {}, \"initial\": 3}",
        "{\"files\": {}, \"versions\": {}, \"initial\": {\"files\": {\"a\": "
        "{\"sha256\": 1, \"bytes\": 2}}, \"folder\": true}}"}) {
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

study_code with(const std::vector<std::string>& names) {
  study_code x;
  for (const auto& name : names)
    x.files[name] = {"of " + name, false};
  return x;
}

TEST(StudyCode, FilesThatCannotLieBesideEachOtherAreRefused) {
  const std::string part(code_name_bytes_max, 'a');
  EXPECT_FALSE(check_files(with({"x", "xy/z", "x.y", "a/b/c", "a/b/d", part})));
  const std::pair<std::vector<std::string>, const char*> bad[] = {
    {{"../a"}, "the file '../a' leads out of its folder"},
    {{"/a"}, "the file '/a' leads out of its folder"},
    {{std::string{"a\0b", 3}}, "the file 'a?b' leads out of its folder"},
    {{"a\nb"}, "has characters in its name that are no text"},
    {{"a\xff"}, "has characters in its name that are no text"},
    {{part + "a"}, "has a name of more than 255 bytes"},
    {{"f/" + part + "a/x"}, "has a name of more than 255 bytes"},
    {{part + '/' + part + "/ab"}, "has a path of more than 512 bytes"},
    {{"x", "x/y"},
     "the file 'x/y' needs a folder 'x', which is a file as well"},
    {{"a/b", "a-", "a/b/c/d"}, "needs a folder 'a/b', which is a file as well"},
  };
  for (const auto& [names, why] : bad) {
    const auto refused = check_files(with(names));
    ASSERT_TRUE(refused) << why;
    EXPECT_EQ(refused->code, errc::invalid_study);
    EXPECT_NE(refused->message.find(why), std::string::npos)
      << refused->message;
  }
}

TEST(StudyCode, TooManyFilesAndTooLongNamesAreRefused) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < code_files_max; ++i)
    names.push_back(std::to_string(i));
  EXPECT_FALSE(check_files(with(names)));
  for (auto& name : names)
    name.resize(code_paths_bytes_max / code_files_max, 'a');
  EXPECT_FALSE(check_files(with(names)));
  names.back() += 'a';
  EXPECT_NE(check_files(with(names))->message.find("32768 bytes together"),
            std::string::npos);
  names.back() = "b";
  names.emplace_back("c");
  EXPECT_NE(check_files(with(names))->message.find("at most 256 travel"),
            std::string::npos);
}

TEST(StudyCode, WhatIsReadHasPassedTheCheck) {
  const auto read = study_code_from_json(to_json(with({"x", "x/y"})));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.failure().code, errc::invalid_study);
}

TEST(StudyCode, InitialStatesHaveLimits) {
  const auto refuses = [](const initial_state& state, const char* why) {
    auto code = sample();
    code.initial = state;
    const auto refused = check_files(code);
    ASSERT_TRUE(refused) << why;
    EXPECT_EQ(refused->code, errc::invalid_study);
    EXPECT_NE(refused->message.find(why), std::string::npos)
      << refused->message;
    EXPECT_FALSE(study_code_from_json(to_json(code)));
  };
  EXPECT_FALSE(check_files(begun()));
  const auto good = *begun().initial;
  auto bad = good;
  bad.files["../w"] = {std::string(64, 'c'), 1};
  refuses(bad, "leads out of its folder");
  bad = good;
  bad.files["deep"] = {std::string(64, 'c'), 1};
  refuses(bad, "needs a folder 'deep'");
  bad = good;
  bad.files["config.json"].sha256 = "../../key.pem";
  refuses(bad, "the digest of 'config.json' is none");
  bad = good;
  bad.files["more"] = {std::string(64, 'c'), initial_bytes_max};
  refuses(bad, "bytes together");
  bad.files["more"].bytes = ~0ull; // more than fits if added up
  refuses(bad, "bytes together");
  bad = good;
  bad.is_folder = false;
  refuses(bad, "a file is one file");
  refuses({}, "a file is one file");
  for (std::size_t i = 0; i < initial_files_max; ++i)
    bad.files[std::to_string(i)] = {std::string(64, 'c'), 1};
  refuses(bad, "at most 1000 travel");
}

TEST(StudyCode, DigestsAreThoseOfSha256) {
  EXPECT_EQ(digest_of({"abc", false}),
            "649d85fcc5d7e13d1217fc85fc746817"
            "f31c16fcf850002545dda492fd8caffc");
  EXPECT_EQ(digest_of({"abc", true}),
            "d15c609c78b3106ec54b9f5c4c704376"
            "36f69f191bff82e430e0b77ec376c310");
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
    auto made = unpacked_code::make(sample());
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
}

/// Names that clash often.
std::string random_path(std::mt19937& random) {
  static const std::vector<std::string> parts{"a", "b", "A", "..", "", "a.b"};
  std::string result = parts[random() % parts.size()];
  while (random() % 2 == 0)
    result += '/' + parts[random() % parts.size()];
  return result;
}

TEST(StudyCode, WhatPassesTheCheckIsUnpackedFileByFile) {
  std::mt19937 random{18};
  int passed = 0;
  for (int i = 0; i < 300; ++i) {
    study_code x;
    for (auto n = random() % 6; n > 0; --n)
      x.files[random_path(random)] = {std::to_string(random()),
                                      random() % 2 == 0};
    if (check_files(x))
      continue;
    ++passed;
    const auto made = unpacked_code::make(x);
    ASSERT_TRUE(made) << made.failure().message << to_json(x);
    std::map<std::string, code_file> found;
    for (const auto& entry : fs::recursive_directory_iterator{made->path()})
      if (entry.is_regular_file())
        found[entry.path().lexically_relative(made->path()).string()]
          = {content(entry.path()),
             (entry.status().permissions() & fs::perms::owner_exec)
               != fs::perms::none};
    EXPECT_EQ(found, x.files);
  }
  EXPECT_GT(passed, 50);
}

/// A workload whose key names these files.
workload_spec keyed(const study_code& x) {
  workload_spec result{"noting", {{"seed", 1.0}}, {}};
  for (const auto& [path, file] : x.files)
    result.options[file_option(path)] = digest_of(file);
  if (x.initial)
    result.options[initial_option] = digest_of(*x.initial);
  return result;
}

TEST(StudyCode, TheKeyDecidesTheInitialState) {
  const auto key = keyed(begun());
  EXPECT_FALSE(check_key(begun(), key));
  std::vector<study_code> others(5, begun());
  others[0].initial->files["config.json"].sha256 = std::string(64, 'c');
  others[1].initial->files["more"] = {std::string(64, 'c'), 1};
  others[2].initial->files.erase("config.json");
  others[3].initial.reset();
  auto renamed = others[4].initial->files.extract("config.json");
  renamed.key() = "conf.json";
  others[4].initial->files.insert(std::move(renamed));
  for (const auto& x : others)
    EXPECT_EQ(check_key(x, key)->code, errc::training_failed) << to_json(x);
  EXPECT_EQ(check_key(begun(), keyed(sample()))->code, errc::training_failed);
}

TEST(StudyCode, TheKeyDecidesEveryFile) {
  const auto key = keyed(sample());
  EXPECT_FALSE(check_key(sample(), key));
  std::vector<study_code> others(5, sample());
  others[0].files["helper.py"] = {"V = 2.0\n", false};
  others[1].files.erase("weights");
  others[2].files["train.py"].bytes += ' ';
  others[3].files["train.py"].executable = true;
  auto renamed = others[4].files.extract("train.py");
  renamed.key() = "trainer.py";
  others[4].files.insert(std::move(renamed));
  for (const auto& x : others) {
    const auto why = check_key(x, key);
    ASSERT_TRUE(why) << to_json(x);
    // Training it again gives no other code.
    EXPECT_EQ(why->code, errc::training_failed);
  }
}

TEST(StudyCode, WhatTrainersNeedIsAFunctionOfTheFiles) {
  auto other = sample();
  other.versions["torch"] = "2";
  other.python = "python3";
  EXPECT_NE(to_json(other), to_json(sample()));
  EXPECT_EQ(files_to_json(other), files_to_json(sample()));
  auto elsewhere = begun();
  elsewhere.initial->path = "/mnt/base";
  EXPECT_EQ(files_to_json(elsewhere), files_to_json(begun()));
  EXPECT_NE(files_to_json(begun()), files_to_json(sample()));
  EXPECT_EQ(study_code_from_json(files_to_json(other))->files, sample().files);
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
    auto made = make_workload(known, keyed(sample()), to_json(sample()),
                              local_initial_state{});
    ASSERT_TRUE(made);
    EXPECT_TRUE(fs::exists(folder + "/train.py"));
  }
  EXPECT_FALSE(fs::exists(folder));
  ASSERT_TRUE(
    make_workload(known, {"noting", {}, {}}, "", local_initial_state{}));
  EXPECT_EQ(folder, "");
}

/// Where the source is gone, the files are found by their digests.
TEST(MadeWorkload, HasItsInitialStateForAsLongAsItLives) {
  workload_registry known;
  workload_descriptor x;
  x.name = "noting";
  std::string initial;
  known.add(x, [&](const workload_spec& spec) {
    initial = std::get<std::string>(spec.settings.at("initial"));
    return std::make_unique<summing_workload>();
  });
  const temporary_folder here;
  const auto source = here.path + "/w.txt";
  std::ofstream{source} << "weights";
  auto code = sample();
  code.initial = *read_initial_state(source);
  const auto make = [&](const local_initial_state& where) {
    return make_workload(known, keyed(code), files_to_json(code), where);
  };
  {
    const auto made = make({source});
    ASSERT_TRUE(made) << made.failure().message;
    EXPECT_EQ(content(initial), "weights");
    EXPECT_EQ(fs::path{initial}.filename(), "state.txt");
  }
  EXPECT_FALSE(fs::exists(initial));
  EXPECT_TRUE(fs::exists(source));
  fs::rename(source, here.path + '/' + sha256_of("weights"));
  EXPECT_EQ(make({source}).failure().code, errc::bad_checkpoint);
  const auto again = make({source, here.path});
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_EQ(content(initial), "weights");
}

TEST(MadeWorkload, RunsNoCodeButThatOfItsKey) {
  std::string folder;
  const auto known = registry(folder);
  auto more = sample();
  more.files["helper.py"] = {"V = 2.0\n", false};
  EXPECT_FALSE(make_workload(known, keyed(sample()), to_json(more),
                             local_initial_state{}));
  EXPECT_FALSE(make_workload(known, keyed(more), to_json(sample()),
                             local_initial_state{}));
  EXPECT_FALSE(
    make_workload(known, keyed(more), "nonsense", local_initial_state{}));
  EXPECT_EQ(folder, ""); // nothing was made of it
}

TEST(MadeWorkload, ReadsTheCodeOfALeaseFromItsStore) {
  std::string folder;
  const auto known = registry(folder);
  temporary_folder checkpoints;
  folder_store store{checkpoints.path};
  lease x;
  x.workload = keyed(sample());
  x.code = *store.write(code_file_name, memory_source{to_json(sample())});
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
