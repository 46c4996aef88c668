#include "hippo/net/http/address_kind.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace hippo {

namespace {

struct v4_range {
  std::uint32_t begin;
  int bits; ///< of the prefix
};

/// The ranges of IPv4 that are not of the Internet: the special-purpose
/// registry of RFC 6890, multicast and what is reserved.
constexpr std::array not_public_v4{
  v4_range{0x00000000, 8},  // this network
  v4_range{0x0a000000, 8},  // private
  v4_range{0x64400000, 10}, // carriers'
  v4_range{0x7f000000, 8},  // loopback
  v4_range{0xa9fe0000, 16}, // link-local
  v4_range{0xac100000, 12}, // private
  v4_range{0xc0000000, 24}, // protocol assignments
  v4_range{0xc0000200, 24}, // documentation
  v4_range{0xc0a80000, 16}, // private
  v4_range{0xc6120000, 15}, // benchmarks
  v4_range{0xc6336400, 24}, // documentation
  v4_range{0xcb007100, 24}, // documentation
  v4_range{0xe0000000, 3},  // multicast, reserved, broadcast
};

bool is_public_v4(std::uint32_t address) noexcept {
  return std::none_of(not_public_v4.begin(), not_public_v4.end(),
                      [address](const v4_range& x) {
                        return (address ^ x.begin) >> (32 - x.bits) == 0;
                      });
}

using v6_bytes = std::array<std::uint8_t, 16>;

std::uint32_t v4_at(const v6_bytes& x, std::size_t first) noexcept {
  return std::uint32_t{x[first]} << 24 | std::uint32_t{x[first + 1]} << 16
         | std::uint32_t{x[first + 2]} << 8 | x[first + 3];
}

bool is_public_v6(const v6_bytes& x) noexcept {
  const auto starts_with = [&x](std::initializer_list<std::uint8_t> prefix) {
    return std::equal(prefix.begin(), prefix.end(), x.begin());
  };
  if (starts_with({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})        // mapped
      || starts_with({0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) // NAT64
    return is_public_v4(v4_at(x, 12));
  if (starts_with({0x20, 0x02})) // 6to4
    return is_public_v4(v4_at(x, 2));
  const bool is_global_unicast = (x[0] & 0xe0) == 0x20; // 2000::/3
  return is_global_unicast && !starts_with({0x20, 0x01, 0x0d, 0xb8})
         && !starts_with({0x20, 0x01, 0, 0}); // documentation, Teredo
}

} // namespace

bool is_public(const sockaddr& address) noexcept {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return is_public_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    v6_bytes bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return is_public_v6(bytes);
  }
  return false;
}

} // namespace hippo
