#include "hippo/net/keys/handshake.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "hippo/net/keys/openssl.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;
using openssl::freer;
using session_ptr = std::unique_ptr<SSL, freer<SSL_free>>;
using addresses_ptr = std::unique_ptr<addrinfo, freer<::freeaddrinfo>>;

/// A connected TCP socket that waits no longer than a deadline.
class tcp_socket {
public:
  explicit tcp_socket(clock::time_point deadline) : deadline_(deadline) {}
  tcp_socket(const tcp_socket&) = delete;
  tcp_socket& operator=(const tcp_socket&) = delete;
  ~tcp_socket() { close(); }

  /// @returns 0 or an `errno`
  int connect(const addrinfo& to) {
    close();
    file_ = ::socket(to.ai_family,
                     to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                     to.ai_protocol);
    if (file_ < 0)
      return errno;
    if (::connect(file_, to.ai_addr, to.ai_addrlen) == 0)
      return 0;
    if (errno != EINPROGRESS)
      return errno;
    if (!wait(POLLOUT))
      return ETIMEDOUT;
    int result = 0;
    socklen_t size = sizeof result;
    ::getsockopt(file_, SOL_SOCKET, SO_ERROR, &result, &size);
    return result;
  }

  /// Sends as much as goes: what fails shows when the answer is read.
  void send(const char* bytes, std::size_t size) {
    while (size > 0) {
      const auto n = ::send(file_, bytes, size, MSG_NOSIGNAL);
      if (n > 0) {
        bytes += n;
        size -= static_cast<std::size_t>(n);
      } else if (errno != EAGAIN || !wait(POLLOUT)) {
        return;
      }
    }
  }

  /// @returns how many bytes came; 0 at the end; -1 with `errno`
  ssize_t receive(char* bytes, std::size_t size) {
    for (;;) {
      const auto n = ::recv(file_, bytes, size, 0);
      if (n >= 0 || errno != EAGAIN)
        return n;
      if (!wait(POLLIN)) {
        errno = ETIMEDOUT;
        return -1;
      }
    }
  }

private:
  bool wait(short what) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline_ - clock::now());
      if (left.count() <= 0)
        return false;
      pollfd x{file_, what, 0};
      const int n = ::poll(&x, 1, static_cast<int>(left.count()));
      if (n > 0)
        return true;
      if (n < 0 && errno != EINTR)
        return false;
    }
  }

  void close() {
    if (file_ >= 0)
      ::close(file_);
  }

  int file_ = -1;
  clock::time_point deadline_;
};

/// How far a handshake came.
enum class handshake_end { done, refused, closed, timed_out };

/// Drives the handshake; bytes go through memory, so that a socket that was
/// closed raises no signal.
handshake_end shake_hands(SSL* session, tcp_socket& socket) {
  auto* in = SSL_get_rbio(session);
  auto* out = SSL_get_wbio(session);
  std::array<char, 4096> bytes{};
  for (;;) {
    const int code = SSL_connect(session);
    const int reason = SSL_get_error(session, code);
    char* data = nullptr;
    const auto size = BIO_get_mem_data(out, &data);
    socket.send(data, static_cast<std::size_t>(size));
    BIO_reset(out);
    if (code == 1)
      return handshake_end::done;
    if (reason != SSL_ERROR_WANT_READ)
      return handshake_end::refused;
    const auto n = socket.receive(bytes.data(), bytes.size());
    if (n <= 0)
      return n < 0 && errno == ETIMEDOUT ? handshake_end::timed_out
                                         : handshake_end::closed;
    BIO_write(in, bytes.data(), static_cast<int>(n));
  }
}

/// Returns a session that shows `shown` and wants to see a service.
session_ptr make_session(const credentials& shown) {
  const openssl::context_ptr context{SSL_CTX_new(TLS_client_method())};
  const auto certificate = openssl::certificate_from(shown.certificate);
  const auto key = openssl::key_from(shown.key);
  const auto authority = openssl::certificate_from(shown.authorities);
  if (!context || !certificate || !key || !authority)
    return {};
  auto* x = context.get();
  SSL_CTX_set_min_proto_version(x, TLS1_2_VERSION);
  // In TLS 1.3 a client is done before the service has seen its certificate.
  SSL_CTX_set_max_proto_version(x, TLS1_2_VERSION);
  SSL_CTX_set_verify(x, SSL_VERIFY_PEER, nullptr);
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(x), authority.get()) != 1
      || SSL_CTX_use_certificate(x, certificate.get()) != 1
      || SSL_CTX_use_PrivateKey(x, key.get()) != 1)
    return {};
  session_ptr result{SSL_new(x)};
  if (!result || SSL_set1_host(result.get(), service_host) != 1)
    return {};
  auto* in = BIO_new(BIO_s_mem());
  auto* out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(in, -1);
  SSL_set_bio(result.get(), in, out);
  return result;
}

/// Says what is wrong with the certificate of the service.
std::string explain_service(long verdict) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired, or this machine's clock is wrong; "
             "a new one: "
             + renewal_of({key_role::service, {}}) + ", and start it again";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet: compare the clocks of both "
             "machines";
    case X509_V_ERR_INVALID_PURPOSE:
    case X509_V_ERR_HOSTNAME_MISMATCH:
      return "its certificate is not that of a Hippo service";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "its certificate is of another authority: these keys are of "
             "another service, or its keys were made anew";
    default:
      return std::string{"its certificate is not valid: "}
             + X509_verify_cert_error_string(verdict);
  }
}

/// Says why a service refuses the certificate that it was shown.
std::string explain_alert(int alert, const key_holder& holder) {
  const auto subject = "it refuses the certificate of " + to_text(holder);
  const auto renewal = "; a new one: " + renewal_of(holder);
  switch (alert) {
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_DECRYPT_ERROR:
      return subject + ": its authority is none of those that may come in "
             + "here, for it is of another service, or a "
             + to_string(holder.role) + " has no business at this port";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return subject + " as expired, or not valid yet, by its clock" + renewal;
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
      return subject + " as one that is not for connecting" + renewal;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_ACCESS_DENIED:
      return subject + renewal;
    default:
      return std::string{"the TLS handshake failed: "}
             + SSL_alert_desc_string_long(alert);
  }
}

error explain_refusal(SSL* session, const std::string& service,
                      const credentials& shown) {
  const auto verdict = SSL_get_verify_result(session);
  if (verdict != X509_V_OK) {
    ERR_clear_error();
    return {errc::not_allowed, service + ": " + explain_service(verdict)};
  }
  const auto code = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(code);
  const auto words = openssl::take_errors();
  if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET)
    return {errc::not_allowed,
            service + ": "
              + explain_alert(reason - SSL_AD_REASON_OFFSET, shown.holder)};
  return {errc::io_failed,
          service + ": what listens there does not speak TLS (" + words
            + "); was the service started with --keys?"};
}

} // namespace

std::optional<error> why_refused(const std::string& host, std::uint16_t port,
                                 const credentials& shown,
                                 std::chrono::milliseconds patience) {
  const auto service
    = "the service at " + host + ":" + std::to_string(port);
  const auto session = make_session(shown);
  if (!session)
    return error{errc::invalid_argument,
                 "cannot use the keys of " + to_text(shown.holder) + ": "
                   + openssl::take_errors()};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(),
                                     &hints, &found);
      code != 0)
    return error{errc::io_failed,
                 "cannot find the host " + host + ": " + ::gai_strerror(code)};
  const addresses_ptr addresses{found};
  tcp_socket socket{clock::now() + patience};
  int failed = 0;
  for (const auto* x = found; x != nullptr; x = x->ai_next)
    if (failed = socket.connect(*x); failed == 0)
      break;
  if (failed != 0)
    return error{errc::io_failed,
                 "cannot connect to " + service + ": " + std::strerror(failed)};
  ERR_clear_error();
  switch (shake_hands(session.get(), socket)) {
    case handshake_end::done: return {};
    case handshake_end::refused:
      return explain_refusal(session.get(), service, shown);
    case handshake_end::timed_out:
      return error{errc::io_failed,
                   service + " accepts connections but does not answer: it is "
                             "stopped, or does not speak TLS; was it started "
                             "with --keys?"};
    case handshake_end::closed: break;
  }
  return error{errc::io_failed,
               service + " ends the connection in the TLS handshake: it does "
                         "not speak TLS, or has too many connections; was it "
                         "started with --keys?"};
}

} // namespace hippo
