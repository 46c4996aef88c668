#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "hippo/base/endpoint.hpp"
#include "hippo/base/error.hpp"
#include "hippo/base/file_descriptor.hpp"
#include "hippo/net/keys/secret_tls.hpp"

namespace hippo {

/// A connection has ended. The text is a clause about it.
class connection_ended : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A TCP connection, whose calls but `wait` return at once. Not thread-safe but
/// for `wait`.
class member_socket {
public:
  /// @param socket without blocking
  explicit member_socket(file_descriptor socket);

  /// Begins to connect. @returns a socket that can be written to once it is
  /// connected, or `errc::io_failed`. Finding the host may block.
  /// @param attempt counts: each is at the next one of the host's addresses
  static expected<member_socket> connect(const endpoint& where,
                                         unsigned attempt = 0);

  /// Whether a socket that was to connect has; throws `connection_ended` if it
  /// cannot. REQUIRES: it can be written to.
  void check_connected() const;

  /// Speaks TLS from now on.
  void protect(const std::string& secret, secret_tls::side own);

  /// Goes on with the handshake of TLS. @returns whether it is done
  /// Throws `connection_ended`, here and below.
  bool shake_hands();

  /// Sends some bytes. @returns how many; 0: it has to wait
  /// REQUIRES: `bytes` is not empty; after 0, the next call has the same ones.
  std::size_t send(std::span<const std::byte> bytes);

  /// Receives some bytes. @returns likewise
  std::size_t receive(std::span<std::byte> bytes);

  /// Waits until it can be read from, or written to, or for so long. In the
  /// handshake it knows itself which.
  void wait(bool to_read, bool to_write, std::chrono::milliseconds span) const;

  /// Sends no more.
  void finish() const;

  /// Reads and drops bytes that come without TLS. @returns whether the peer has
  /// closed the connection
  bool drop_input() const;

  [[nodiscard]] bool wants_to_write() const noexcept {
    return tls_ && tls_->wants_to_write();
  }

  [[nodiscard]] int number() const noexcept { return socket_.number(); }

private:
  file_descriptor socket_;
  std::unique_ptr<secret_tls> tls_; ///< null: it speaks none
};

} // namespace hippo
