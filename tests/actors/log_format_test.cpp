#include "log_format.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/ostream_sink.h>

#include "train/temporary_folder.hpp"

namespace hippo {
namespace {

struct LogFormatTest : testing::Test {
  ~LogFormatTest() override { spdlog::set_default_logger(before); }

  /// Returns the line that a message becomes.
  std::string line(const std::string& format, const std::string& message) {
    std::ostringstream out;
    log_to(std::make_shared<spdlog::sinks::ostream_sink_st>(out), "test",
           {.format = format});
    spdlog::warn("{}", message);
    return out.str();
  }

  std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
};

TEST_F(LogFormatTest, WhatOthersHaveSaidWritesNoLinesOfItsOwn) {
  const std::string evil = "x\x1b]0;title\x07\n2026-01-31 info forged\r\x9b";
  for (const auto format : {"text", "json"}) {
    const auto said = line(format, evil + "é");
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    for (const char c : {'\x1b', '\x07', '\r', '\x9b'})
      EXPECT_EQ(said.find(c), said.npos) << said;
    EXPECT_NE(said.find("forged"), said.npos);
  }
  EXPECT_NE(line("text", "é").find("é"), std::string::npos);
}

TEST_F(LogFormatTest, FilesAreOfBoundedSizeAndNumber) {
  const temporary_folder folder;
  const auto file = folder.path + "/hippo.log";
  constexpr std::size_t bytes_max = 1000;
  log_to(make_log_files(file, bytes_max), "test", {});
  for (int i = 0; i < 1000; ++i)
    spdlog::warn("line {}", i);
  spdlog::default_logger()->flush();
  const auto names = folder.names();
  EXPECT_EQ(names.size(), old_log_files_max + 1);
  for (const auto& name : names)
    EXPECT_LE(std::filesystem::file_size(folder.path + '/' + name), bytes_max);
  EXPECT_TRUE(std::filesystem::exists(old_log_of(file)));
}

TEST_F(LogFormatTest, AFullLogOfAnotherProgramBeginsAnew) {
  const temporary_folder folder;
  const auto file = folder.path + "/trainer-1.log";
  std::ofstream writer{file, std::ios::app};
  writer << "the first line\n" << std::flush;
  keep_small(file, 100);
  EXPECT_EQ(folder.names().size(), 1u);
  writer << std::string(100, 'x') << '\n' << std::flush;
  keep_small(file, 100);
  EXPECT_EQ(std::filesystem::file_size(old_log_of(file)), 116u);
  EXPECT_EQ(std::filesystem::file_size(file), 0u);
  writer << "the last line\n" << std::flush;
  EXPECT_EQ(std::filesystem::file_size(file), 14u);
  keep_small(folder.path + "/nothing.log", 0);
}

TEST(LinesOfLease, AreThoseSinceItBeganThatAreOfNoLease) {
  const std::string before = "1 info trainer: registered\n"
                             "2 warning trainer: lease 7 failed at step 0: x\n";
  EXPECT_EQ(lines_of_lease(before, before), "");
  EXPECT_EQ(lines_of_lease(before + "3 warning: memory is short\n", before),
            "3 warning: memory is short\n");
  EXPECT_EQ(lines_of_lease(before + "3 warning trainer: lease 8 failed at step "
                                    "3: y\n4 info: z",
                           before),
            "4 info: z");
  // Of a log that has gone on since, no line of before is left.
  EXPECT_EQ(lines_of_lease("3 a\n4 b\n", before), "3 a\n4 b\n");
  EXPECT_EQ(lines_of_lease("1 a\n", ""), "1 a\n");
  EXPECT_EQ(lines_of_lease("", before), "");
}

TEST_F(LogFormatTest, ALevelHasTheLinesOfThoseBeforeIt) {
  const std::vector<std::string> levels{"error", "warning", "info", "debug"};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    std::ostringstream out;
    log_to(std::make_shared<spdlog::sinks::ostream_sink_st>(out), "test",
           {.level = levels[i]});
    spdlog::error("line");
    spdlog::warn("line");
    spdlog::info("line");
    spdlog::debug("line");
    const auto text = out.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), i + 1) << levels[i];
  }
}

TEST_F(LogFormatTest, TextIsForPeople) {
  EXPECT_TRUE(std::regex_match(
    line("text", "pool: trainer 1 is gone"),
    std::regex{R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} warning pool: )"
               R"(trainer 1 is gone\n)"}));
}

TEST_F(LogFormatTest, EveryLineOfJsonIsAnObject) {
  for (const std::string message :
       {"plain", "a \"quoted\" one\\", "two\nlines\tand \x01", "{}", "µ",
        "no UTF-8: \xff"}) {
    const auto text = line("json", message);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    const auto x = nlohmann::json::parse(text);
    EXPECT_EQ(x.size(), 3u);
    EXPECT_EQ(x.at("level"), "warning");
    EXPECT_TRUE(std::regex_match(
      x.at("time").get<std::string>(),
      std::regex{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"}));
    if (message.back() != '\xff') {
      EXPECT_EQ(x.at("message"), message);
    }
  }
}

} // namespace
} // namespace hippo
