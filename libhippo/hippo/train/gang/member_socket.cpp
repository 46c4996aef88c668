#include "hippo/train/gang/member_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace hippo {

namespace {

bool is_not_yet(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

[[noreturn]] void throw_closed() {
  throw connection_ended{"has closed the connection"};
}

[[noreturn]] void throw_failed(int code) {
  if (code == ECONNRESET || code == EPIPE)
    throw_closed();
  throw connection_ended{std::string{"cannot be reached: "}
                         + std::strerror(code)};
}

} // namespace

member_socket::member_socket(file_descriptor socket)
  : socket_(std::move(socket)) {
  const int on = 1; // requests are short, and awaited
  ::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

expected<member_socket> member_socket::connect(const endpoint& where,
                                               unsigned attempt) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(
        where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
      code != 0)
    return {errc::io_failed,
            std::string{"its host cannot be found: "} + ::gai_strerror(code)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{
    found, ::freeaddrinfo};
  std::vector<const addrinfo*> addresses;
  for (const auto* x = found; x != nullptr; x = x->ai_next)
    addresses.push_back(x);
  const auto& to = *addresses.at(attempt % addresses.size());
  file_descriptor socket{::socket(to.ai_family,
                                  to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                                  to.ai_protocol)};
  if (socket
      && (::connect(socket.number(), to.ai_addr, to.ai_addrlen) == 0
          || errno == EINPROGRESS))
    return member_socket{std::move(socket)};
  return {errc::io_failed,
          std::string{"it cannot be reached: "} + std::strerror(errno)};
}

void member_socket::check_connected() const {
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0)
    throw_failed(code);
}

void member_socket::protect(const std::string& secret, secret_tls::side own) {
  tls_ = std::make_unique<secret_tls>(socket_.number(), secret, own);
}

namespace {

/// @returns whether it is done; throws if it never will be
bool is_done(const secret_tls& tls, secret_tls::outcome x) {
  switch (x) {
    case secret_tls::outcome::done:
      return true;
    case secret_tls::outcome::not_yet:
      return false;
    case secret_tls::outcome::closed:
      throw_closed();
    case secret_tls::outcome::failed:
      break;
  }
  throw connection_ended{"is not understood: " + tls.why()};
}

} // namespace

bool member_socket::shake_hands() {
  return !tls_ || is_done(*tls_, tls_->shake_hands());
}

std::size_t member_socket::send(std::span<const std::byte> bytes) {
  if (tls_) {
    std::size_t sent = 0;
    return is_done(*tls_, tls_->send(bytes, sent)) ? sent : 0;
  }
  const auto n =
    ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n < 0 && !is_not_yet(errno))
    throw_failed(errno);
  return static_cast<std::size_t>(std::max<ssize_t>(n, 0));
}

std::size_t member_socket::receive(std::span<std::byte> bytes) {
  if (tls_) {
    std::size_t received = 0;
    return is_done(*tls_, tls_->receive(bytes, received)) ? received : 0;
  }
  const auto n = ::recv(socket_.number(), bytes.data(), bytes.size(), 0);
  if (n == 0)
    throw_closed();
  if (n < 0 && !is_not_yet(errno))
    throw_failed(errno);
  return static_cast<std::size_t>(std::max<ssize_t>(n, 0));
}

void member_socket::wait(bool to_read, bool to_write,
                         std::chrono::milliseconds span) const {
  pollfd x{
    socket_.number(),
    static_cast<short>((to_read ? POLLIN : 0) | (to_write ? POLLOUT : 0)), 0};
  ::poll(&x, 1, static_cast<int>(std::max<std::int64_t>(span.count(), 0)));
}

void member_socket::finish() const {
  ::shutdown(socket_.number(), SHUT_WR);
}

bool member_socket::drop_input() const {
  std::array<std::byte, 16 << 10> dropped;
  for (;;) {
    const auto n = ::recv(socket_.number(), dropped.data(), dropped.size(), 0);
    if (n <= 0)
      return n == 0 || !is_not_yet(errno);
  }
}

} // namespace hippo
