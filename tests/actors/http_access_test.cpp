// Who may ask what over HTTP, without a network: docs/security.md.

#include <filesystem>

#include <gtest/gtest.h>

#include "gateway/http_access.hpp"
#include "train/temporary_folder.hpp"

namespace hippo::test {
namespace {

struct HttpAccessTest : testing::Test {
  temporary_folder folder;
  std::int64_t now = 1000;
  http_access own{{true, {}, false, {}}}; // loopback
  http_access people{
    {false, folder.path + "/tokens", true, [this] { return now; }}};
  token_folder tokens{folder.path + "/tokens"};

  /// What our own page sends that changes something.
  http_asker page(const std::string& cookie = {}) {
    return {"localhost:1", "http://localhost:1", cookie, {},
            "1",           "application/json",   true};
  }
};

TEST_F(HttpAccessTest, OnThisMachineOurOwnPageMayDoAll) {
  EXPECT_EQ(own.judge(page()).status, 200u);
  EXPECT_EQ(own.judge(page()).role, page_role::operator_);
  auto x = page();
  x.content_type = "application/json; charset=utf-8";
  EXPECT_EQ(own.judge(x).status, 200u);
}

TEST_F(HttpAccessTest, OnlyNamesOfThisMachineAreAsked) {
  for (const auto* name : {"localhost", "localhost:80", "127.0.0.1:1",
                           "127.1.2.3", "[::1]", "[::1]:4850"}) {
    http_asker x;
    x.host = name;
    EXPECT_EQ(own.judge(x).status, 200u) << name;
  }
  for (const auto* name :
       {"", "10.0.0.1", "192.168.1.5:4850", "[::2]", "127.0.0.1.evil.example",
        "localhost.evil.example"}) {
    http_asker x;
    x.host = name;
    EXPECT_EQ(own.judge(x).status, 403u) << name;
  }
}

TEST_F(HttpAccessTest, WhereNoTokenIsNeededNoneExcusesAForeignPage) {
  auto x = page();
  x.authorization = "Bearer x";
  x.page.clear();
  EXPECT_EQ(own.judge(x).status, 403u);
}

TEST_F(HttpAccessTest, WhateverAForeignPageCanSendChangesNothing) {
  // By the rules of browsers: its origin is told, it cannot set our header or
  // type without asking first, and its name may lead here.
  for (auto* const access : {&own, &people}) {
    for (const auto change : {0, 1, 2, 3}) {
      auto x = page();
      if (access == &people)
        x.cookie = *people.welcome(
          tokens.add("", page_role::operator_, now, now + 9)->link);
      ASSERT_EQ(access->judge(x).status, 200u);
      if (change == 0)
        x.origin = "https://evil.example";
      else if (change == 1)
        x.origin = "null";
      else if (change == 2)
        x.page.clear();
      else
        x.content_type = "text/plain";
      EXPECT_EQ(access->judge(x).status, 403u) << change;
      x.changes = false;
      EXPECT_EQ(access->judge(x).status, 200u) << "who looks changes nothing";
    }
  }
  auto x = page();
  x.host = "evil.example";
  x.origin = "http://evil.example";
  EXPECT_EQ(own.judge(x).status, 403u);
}

TEST_F(HttpAccessTest, RolesTimeAndRemovalDecide) {
  const auto viewer = tokens.add("v", page_role::viewer, now, now + 10);
  const auto operators = tokens.add("o", page_role::operator_, now, now + 20);
  ASSERT_TRUE(viewer && operators);
  const auto judged = [&](const std::string& token, bool changes) {
    http_asker x;
    x.authorization = "Bearer " + token;
    x.changes = changes;
    x.content_type = "application/json";
    return people.judge(x).status;
  };
  EXPECT_EQ(judged(viewer->token, false), 200u);
  EXPECT_EQ(judged(viewer->token, true), 403u);
  EXPECT_EQ(judged(operators->token, true), 200u) << "a script sends no header";
  now += 10;
  EXPECT_EQ(judged(viewer->token, false), 401u);
  EXPECT_EQ(judged(operators->token, true), 200u);
  EXPECT_FALSE(tokens.remove("o"));
  EXPECT_EQ(judged(operators->token, false), 401u);
  EXPECT_TRUE(tokens.remove("o"));
}

TEST_F(HttpAccessTest, WhatIsNoTokenLetsNobodyIn) {
  const auto made = tokens.add("", page_role::viewer, now, now + 10);
  const auto id = made->entry.id;
  for (const auto& secret : std::initializer_list<std::string>{
         "", id, id + ".", made->link, made->token + "0",
         id + "." + std::string(64, '0'), "../" + id, std::string(9999, 'a'),
         "../../../" + std::string(66, '0')})
    EXPECT_FALSE(tokens.find(secret, now)) << secret;
  EXPECT_TRUE(tokens.find(made->token, now));
}

TEST_F(HttpAccessTest, ALinkIsGoodOnceAndItsSessionAsLongAsItsToken) {
  const auto made = tokens.add("", page_role::viewer, now, now + 10);
  const auto cookie = people.welcome(made->link);
  ASSERT_TRUE(cookie);
  EXPECT_NE(cookie->find("; HttpOnly; SameSite=Strict; Path=/; Max-Age=10"),
            std::string::npos);
  EXPECT_TRUE(cookie->ends_with("; Secure"));
  EXPECT_FALSE(people.welcome(made->link));
  EXPECT_FALSE(people.welcome(made->token)) << "a token is no link";
  http_asker x;
  x.cookie = "other=1; " + cookie->substr(0, cookie->find(';'));
  EXPECT_EQ(people.judge(x).status, 200u);
  now += 10;
  EXPECT_EQ(people.judge(x).status, 401u);
  const auto late = tokens.add("", page_role::viewer, now, now + 10);
  now += 10;
  EXPECT_FALSE(people.welcome(late->link)) << "its token has expired";
}

} // namespace
} // namespace hippo::test
