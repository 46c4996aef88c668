#include "hippo/net/http/address_kind.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

namespace hippo {
namespace {

bool is_public(const char* text) {
  sockaddr_storage x{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(x);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(x);
  if (::inet_pton(AF_INET, text, &v4.sin_addr) == 1)
    x.ss_family = AF_INET;
  else if (::inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
    x.ss_family = AF_INET6;
  else
    ADD_FAILURE() << text;
  return hippo::is_public(reinterpret_cast<const sockaddr&>(x));
}

TEST(AddressKind, AddressesOfTheInternetArePublic) {
  for (const auto* x :
       {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0", "172.15.255.255", "172.32.0.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "223.255.255.255", "2606:4700::1111", "3fff:ffff::1", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::1"})
    EXPECT_TRUE(is_public(x)) << x;
}

TEST(AddressKind, AddressesOfThisMachineAndOfPrivateNetworksAreNot) {
  for (const auto* x : {"0.0.0.0",
                        "10.0.0.0",
                        "10.255.255.255",
                        "100.64.0.0",
                        "127.0.0.1",
                        "127.255.255.255",
                        "169.254.169.254",
                        "172.16.0.0",
                        "172.31.255.255",
                        "192.0.0.1",
                        "192.0.2.1",
                        "192.168.0.0",
                        "192.168.255.255",
                        "198.18.0.0",
                        "198.19.255.255",
                        "198.51.100.1",
                        "203.0.113.1",
                        "224.0.0.1",
                        "240.0.0.1",
                        "255.255.255.255",
                        "::",
                        "::1",
                        "fe80::1",
                        "fc00::1",
                        "fdff::1",
                        "ff02::1",
                        "2001:db8::1",
                        "2001::1",
                        "::ffff:127.0.0.1",
                        "::ffff:10.0.0.1",
                        "64:ff9b::7f00:1",
                        "2002:7f00:1::1",
                        "::127.0.0.1"})
    EXPECT_FALSE(is_public(x)) << x;
}

TEST(AddressKind, OtherFamiliesAreNot) {
  sockaddr_storage x{};
  x.ss_family = AF_UNIX;
  EXPECT_FALSE(hippo::is_public(reinterpret_cast<const sockaddr&>(x)));
}

} // namespace
} // namespace hippo
