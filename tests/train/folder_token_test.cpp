#include "hippo/checkpoint/folder_token.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "train/temporary_folder.hpp"

namespace hippo {

TEST(FolderToken, IsSeenInItsFolderOnly) {
  const temporary_folder one;
  const temporary_folder other;
  const auto token = leave_folder_token(one.path);
  ASSERT_TRUE(token);
  EXPECT_TRUE(sees_folder(one.path, *token));
  EXPECT_FALSE(sees_folder(other.path, *token));
  EXPECT_FALSE(sees_folder(one.path + "/no-such-folder", *token));
  const auto of_other = leave_folder_token(other.path);
  ASSERT_TRUE(of_other);
  EXPECT_NE(*token, *of_other);
  EXPECT_FALSE(sees_folder(one.path, *of_other));
}

TEST(FolderToken, ACopyOfTheFolderIsAnotherOne) {
  const temporary_folder one;
  const auto before = leave_folder_token(one.path);
  const temporary_folder copy;
  std::filesystem::copy(one.path, copy.path);
  const auto now = leave_folder_token(one.path);
  ASSERT_TRUE(before && now);
  EXPECT_FALSE(sees_folder(copy.path, *now));
  EXPECT_FALSE(sees_folder(one.path, *before));
  EXPECT_EQ(one.names().size(), 1);
  EXPECT_TRUE(one.names()[0].starts_with(".hippo-"));
}

TEST(FolderToken, TheContentMustMatch) {
  const temporary_folder folder;
  const auto token = leave_folder_token(folder.path);
  ASSERT_TRUE(token);
  const auto path = folder.path + '/' + folder.names()[0];
  std::ofstream{path, std::ios::app} << 'x';
  EXPECT_FALSE(sees_folder(folder.path, *token));
  std::ofstream{path} << token->substr(1);
  EXPECT_FALSE(sees_folder(folder.path, *token));
  std::ofstream{path} << *token;
  EXPECT_TRUE(sees_folder(folder.path, *token));
}

TEST(FolderToken, WhatIsNoTokenIsNotSeen) {
  const temporary_folder folder;
  for (const std::string text :
       {"", "x", "../../../../../../../../../../../../etc", ".", "0"}) {
    std::ofstream{folder.path + "/.hippo-" + text.substr(0, 16)} << text;
    EXPECT_FALSE(sees_folder(folder.path, text)) << text;
  }
}

TEST(FolderToken, FolderMissing) {
  const auto token = leave_folder_token("/no-such-folder");
  ASSERT_FALSE(token);
  EXPECT_EQ(token.failure().code, errc::io_failed);
  EXPECT_NE(token.failure().message.find("No such file"), std::string::npos);
}

} // namespace hippo
