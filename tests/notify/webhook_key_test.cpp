#include "hippo/service/notify/webhook_key.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace hippo {
namespace {

class WebhookKey : public testing::Test {
protected:
  WebhookKey() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~WebhookKey() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "notify.key").string(); }
  void write(const std::string& text) const {
    std::ofstream{path(), std::ios::binary} << text;
    std::filesystem::permissions(path(),
                                 std::filesystem::perms::owner_read
                                   | std::filesystem::perms::owner_write);
  }

private:
  std::filesystem::path folder_ =
    std::filesystem::temp_directory_path()
    / ("hippo-webhook-"
       + std::string{
         testing::UnitTest::GetInstance()->current_test_info()->name()});
};

// The example of the libraries of "Standard Webhooks".
TEST_F(WebhookKey, SignsAsTheSpecificationHasIt) {
  const auto key = webhook_key::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                      R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST_F(WebhookKey, IsMadeOnceForItsOwnerAlone) {
  const auto first = webhook_key::open(path());
  ASSERT_TRUE(first) << first.failure().message;
  const auto second = webhook_key::open(path());
  ASSERT_TRUE(second);
  EXPECT_EQ(first->sign("a", 1, "b"), second->sign("a", 1, "b"));
  EXPECT_NE(first->sign("a", 1, "b"), first->sign("a", 2, "b"));
  EXPECT_NE(first->sign("a", 1, "b"), first->sign("c", 1, "b"));
  EXPECT_EQ(std::filesystem::status(path()).permissions(),
            std::filesystem::perms::owner_read
              | std::filesystem::perms::owner_write);
  std::filesystem::remove(path());
  const auto other = webhook_key::open(path());
  ASSERT_TRUE(other);
  EXPECT_NE(first->sign("a", 1, "b"), other->sign("a", 1, "b"));
}

TEST_F(WebhookKey, AFileThatHoldsSomethingElseIsTold) {
  for (const auto* text :
       {"", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_!!!!9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}) {
    write(text);
    const auto key = webhook_key::open(path());
    ASSERT_FALSE(key) << text;
    EXPECT_EQ(key.failure().code, errc::malformed_message);
    EXPECT_EQ(key.failure().message,
              path()
                + ": a key of notifications is whsec_ and 24 to 64 bytes in "
                  "base64");
  }
  write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
  EXPECT_TRUE(webhook_key::open(path()));
}

TEST_F(WebhookKey, AFileThatOthersCanReadIsRefused) {
  write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
  std::filesystem::permissions(path(), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const auto key = webhook_key::open(path());
  ASSERT_FALSE(key);
  EXPECT_EQ(key.failure().code, errc::not_allowed);
}

} // namespace
} // namespace hippo
