#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "link/frames.hpp"

namespace hippo::test {

/// Somebody at the other end of a TCP connection over loopback who says what he
/// likes.
class raw_peer {
public:
  /// @param from the last byte of the address from which it comes
  explicit raw_peer(std::uint16_t port, std::uint8_t from = 1)
    : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from);
    if (from != 1)
      ::bind(file_, reinterpret_cast<sockaddr*>(&own), sizeof own);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_
      = ::connect(file_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    int on = 1;
    ::setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  raw_peer(raw_peer&& peer) noexcept
    : file_(std::exchange(peer.file_, -1)), is_connected_(peer.is_connected_) {}
  raw_peer& operator=(raw_peer&&) = delete;
  ~raw_peer() {
    if (file_ >= 0)
      ::close(file_);
  }

  [[nodiscard]] bool is_connected() const noexcept { return is_connected_; }

  /// @returns whether all of it went
  bool say(const bytes& content) const {
    std::size_t at = 0;
    while (at < content.size()) {
      const auto n =
        ::send(file_, content.data() + at, content.size() - at, MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }

  /// Says as much as goes without waiting, from a byte on.
  /// @returns how many bytes
  [[nodiscard]] std::size_t say_some(const bytes& content,
                                     std::size_t from) const {
    const auto n = ::send(file_, content.data() + from, content.size() - from,
                          MSG_NOSIGNAL | MSG_DONTWAIT);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }

  /// Reads until the other side closes. @returns whether it does so in time
  [[nodiscard]] bool await_end(std::chrono::milliseconds patience
                               = std::chrono::seconds{20}) {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (char buffer[4096];;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
      pollfd x{file_, POLLIN, 0};
      if (left.count() <= 0
          || ::poll(&x, 1, static_cast<int>(left.count())) <= 0)
        return false;
      const auto n = ::recv(file_, buffer, sizeof buffer, 0);
      if (n <= 0)
        return true;
      heard_.append(buffer, static_cast<std::size_t>(n));
    }
  }

  /// What `await_end` has read.
  [[nodiscard]] const std::string& heard() const noexcept { return heard_; }

private:
  int file_;
  bool is_connected_ = false;
  std::string heard_;
};

} // namespace hippo::test
