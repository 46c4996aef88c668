#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace hippo {

/// TLS 1.3 over a non-blocking socket, between two programs that know the same
/// secret and show each other no certificate: a peer that does not know it gets
/// nothing and is believed nothing (RFC 8446, pre-shared keys with ephemeral
/// ones).
///
/// Not thread-safe.
class secret_tls {
public:
  enum class side : std::uint8_t { connects, accepts };

  /// The result of a call. All but the first two end the connection.
  enum class outcome : std::uint8_t {
    done,
    not_yet, ///< wait until the socket is as `wants_to_write` says, call again
    closed,  ///< by the peer
    failed,  ///< `why` tells of it
  };

  /// @param socket a connected one, without blocking; outlives `*this`
  /// Throws `std::runtime_error` if OpenSSL has no resources.
  secret_tls(int socket, const std::string& secret, side own);
  ~secret_tls();
  secret_tls(const secret_tls&) = delete;
  secret_tls& operator=(const secret_tls&) = delete;

  /// Goes on with the handshake.
  outcome shake_hands();

  /// Sends bytes. REQUIRES: the handshake is done, here and below; a call that
  /// was `not_yet` is made again with the same bytes.
  /// @param sent how many of them, if that is `done`
  outcome send(std::span<const std::byte> bytes, std::size_t& sent);

  /// @param received how many bytes have come, if that is `done`
  outcome receive(std::span<std::byte> bytes, std::size_t& received);

  /// Whether the last call that was `not_yet` waits until it can write.
  [[nodiscard]] bool wants_to_write() const noexcept { return wants_to_write_; }

  [[nodiscard]] const std::string& why() const noexcept { return why_; }

private:
  outcome outcome_of(int code);

  struct state;
  std::unique_ptr<state> state_;
  bool wants_to_write_ = false;
  std::string why_;
};

} // namespace hippo
