#include "hippo/base/endpoint.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(Endpoint, ReadsNamesAndAddresses) {
  const std::vector<std::pair<std::string, endpoint>> cases{
    {"localhost:4848", {"localhost", 4848}},
    {"10.0.0.5:1", {"10.0.0.5", 1}},
    {"node_7.lab-a.example.org:65535", {"node_7.lab-a.example.org", 65535}},
    {"[::1]:4848", {"::1", 4848}},
    {"[::ffff:10.0.0.5]:80", {"::ffff:10.0.0.5", 80}},
  };
  for (const auto& [text, want] : cases) {
    const auto x = parse_endpoint(text);
    ASSERT_TRUE(x) << x.failure().message;
    EXPECT_EQ(*x, want) << text;
  }
}

TEST(Endpoint, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
    {"", "no port"},
    {"host", "no port"},
    {"host:", "1 to 65535"},
    {"host:0", "1 to 65535"},
    {"host:65536", "1 to 65535"},
    {"host:-1", "1 to 65535"},
    {"host:48 48", "1 to 65535"},
    {"host:4848x", "1 to 65535"},
    {":4848", "a name or an address"},
    {"http://host:4848", "in brackets"},
    {"ho st:4848", "a name or an address"},
    {std::string(300, 'h').append(":4848"), "a name or an address"},
    {"::1:4848", "in brackets: [::1]:4848"},
    {"[]:4848", "IPv6 address in the brackets"},
    {"[host]:4848", "IPv6 address in the brackets"},
    {"[::1:4848", "in brackets"},
  };
  for (const auto& [text, why] : cases) {
    const auto x = parse_endpoint(text);
    ASSERT_FALSE(x) << text;
    EXPECT_EQ(x.failure().code, errc::invalid_argument);
    EXPECT_NE(x.failure().message.find(why), std::string::npos)
      << x.failure().message;
  }
}

} // namespace
} // namespace hippo
