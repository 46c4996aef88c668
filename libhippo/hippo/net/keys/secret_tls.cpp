#include "hippo/net/keys/secret_tls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "hippo/net/keys/openssl.hpp"

namespace hippo {

namespace {

using session_ptr = std::unique_ptr<SSL, openssl::freer<SSL_free>>;
using method_ptr = std::unique_ptr<BIO_METHOD, openssl::freer<BIO_meth_free>>;

constexpr std::size_t key_bytes = 32;
using key = std::array<unsigned char, key_bytes>;

/// The name of the key in the handshake, which anybody may see.
constexpr const char* identity = "hippo";

/// The one cipher: its digest has to be that of the key.
constexpr const char* cipher = "TLS_AES_128_GCM_SHA256";

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

/// Whether a call of a socket is to be made again later.
bool is_not_yet() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// As the methods of OpenSSL's own sockets, but for signals: a peer that is gone
// raises none.

int write_bytes(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto n =
    ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && is_not_yet())
    BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int read_bytes(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto n =
    ::recv(socket_of(bio), bytes, static_cast<std::size_t>(size), 0);
  if (n < 0 && is_not_yet())
    BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

long control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* socket_method() {
  static const method_ptr result = [] {
    method_ptr x{BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
                              "socket without signals")};
    if (x) {
      BIO_meth_set_write(x.get(), write_bytes);
      BIO_meth_set_read(x.get(), read_bytes);
      BIO_meth_set_ctrl(x.get(), control);
    }
    return x;
  }();
  return result.get();
}

const key& key_of(SSL* session) {
  return *static_cast<const key*>(SSL_get_app_data(session));
}

unsigned put_key(SSL* session, unsigned char* out, unsigned size_max) {
  const auto& from = key_of(session);
  if (size_max < from.size())
    return 0;
  std::ranges::copy(from, out);
  return static_cast<unsigned>(from.size());
}

unsigned key_to_show(SSL* session, const char*, char* name, unsigned name_max,
                     unsigned char* out, unsigned size_max) {
  if (name_max <= std::strlen(identity))
    return 0;
  std::strcpy(name, identity);
  return put_key(session, out, size_max);
}

unsigned key_to_see(SSL* session, const char* name, unsigned char* out,
                    unsigned size_max) {
  return std::strcmp(name, identity) == 0 ? put_key(session, out, size_max) : 0;
}

} // namespace

struct secret_tls::state {
  openssl::context_ptr context;
  session_ptr session;
  key secret{};
};

secret_tls::secret_tls(int socket, const std::string& secret, side own)
  : state_(std::make_unique<state>()) {
  const auto needed = [](bool there) {
    if (!there)
      throw std::runtime_error("TLS cannot be used: " + openssl::take_errors());
  };
  auto& x = *state_;
  const auto text = "hippo secret_tls " + secret;
  unsigned size = 0;
  needed(EVP_Digest(text.data(), text.size(), x.secret.data(), &size,
                    EVP_sha256(), nullptr)
         == 1);
  const bool connects = own == side::connects;
  x.context.reset(
    SSL_CTX_new(connects ? TLS_client_method() : TLS_server_method()));
  needed(x.context != nullptr);
  auto* context = x.context.get();
  needed(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1
         && SSL_CTX_set_ciphersuites(context, cipher) == 1);
  // The one that accepts has no certificate, and the other trusts none: without
  // the key no handshake comes to its end.
  if (connects)
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE
                              | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_num_tickets(context, 0);
  // Its users know how much is to come.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
  if (connects)
    SSL_CTX_set_psk_client_callback(context, key_to_show);
  else
    SSL_CTX_set_psk_server_callback(context, key_to_see);
  x.session.reset(SSL_new(context));
  needed(x.session && socket_method() != nullptr);
  SSL_set_app_data(x.session.get(), &x.secret);
  auto* bio = BIO_new(socket_method());
  needed(bio != nullptr);
  BIO_set_data(bio,
               reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(x.session.get(), bio, bio);
  if (connects)
    SSL_set_connect_state(x.session.get());
  else
    SSL_set_accept_state(x.session.get());
}

secret_tls::~secret_tls() = default;

secret_tls::outcome secret_tls::outcome_of(int code) {
  switch (SSL_get_error(state_->session.get(), code)) {
    case SSL_ERROR_WANT_READ:
      wants_to_write_ = false;
      return outcome::not_yet;
    case SSL_ERROR_WANT_WRITE:
      wants_to_write_ = true;
      return outcome::not_yet;
    case SSL_ERROR_ZERO_RETURN:
      return outcome::closed;
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      if (errno == 0 || errno == ECONNRESET || errno == EPIPE)
        return outcome::closed;
      why_ = std::strerror(errno);
      return outcome::failed;
    default:
      why_ = openssl::take_errors();
      return outcome::failed;
  }
}

secret_tls::outcome secret_tls::shake_hands() {
  ERR_clear_error();
  errno = 0;
  const int code = SSL_do_handshake(state_->session.get());
  return code == 1 ? outcome::done : outcome_of(code);
}

secret_tls::outcome secret_tls::send(std::span<const std::byte> bytes,
                                     std::size_t& sent) {
  ERR_clear_error();
  errno = 0;
  const int code =
    SSL_write_ex(state_->session.get(), bytes.data(), bytes.size(), &sent);
  return code == 1 ? outcome::done : outcome_of(code);
}

secret_tls::outcome secret_tls::receive(std::span<std::byte> bytes,
                                        std::size_t& received) {
  ERR_clear_error();
  errno = 0;
  const int code =
    SSL_read_ex(state_->session.get(), bytes.data(), bytes.size(), &received);
  return code == 1 ? outcome::done : outcome_of(code);
}

} // namespace hippo
