#pragma once

struct sockaddr;

namespace hippo {

/// Whether an IPv4 or IPv6 address is one of the Internet: neither of this
/// machine, nor of a private network (RFC 1918, RFC 4193, RFC 6598), nor
/// link-local (RFC 3927, RFC 4291), nor multicast or reserved. An IPv6 address
/// that stands for an IPv4 one is judged as that.
bool is_public(const sockaddr& address) noexcept;

} // namespace hippo
