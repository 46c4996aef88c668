// That one connection's failure is no other one's on the same thread.

#include "hippo/keys/tls_calls.hpp"

#include <array>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "hippo/keys/openssl.hpp"
#include "keys/keys_fixture.hpp"

namespace hippo {
namespace {

using session_ptr = std::unique_ptr<SSL, openssl::freer<SSL_free>>;

/// Two ends of a connection that has been established, in memory.
class TlsCallsTest : public keys_test {
public:
  TlsCallsTest()
    : context_(SSL_CTX_new(TLS_method())), near_(made()), far_(made()) {
    BIO* near = nullptr;
    BIO* far = nullptr;
    BIO_new_bio_pair(&near, 0, &far, 0);
    SSL_set_bio(near_.get(), near, near);
    SSL_set_bio(far_.get(), far, far);
    SSL_set_accept_state(near_.get());
    SSL_set_connect_state(far_.get());
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(far_.get());
      SSL_do_handshake(near_.get());
    }
    SSL_read(far_.get(), bytes_.data(), 1); // what follows a handshake
  }

protected:
  /// Leaves what a failed handshake of somebody else leaves.
  static void fail_elsewhere() {
    ERR_raise(ERR_LIB_SSL, SSL_R_CERTIFICATE_VERIFY_FAILED);
  }

  session_ptr made() {
    const auto shown = service("keys", {key_role::trainer});
    const auto certificate = openssl::certificate_from(shown.certificate);
    const auto key = openssl::key_from(shown.key);
    SSL_CTX_use_certificate(context_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
    return session_ptr{SSL_new(context_.get())};
  }

  openssl::context_ptr context_;
  session_ptr near_, far_;
  std::array<char, 4096> bytes_{};
};

TEST_F(TlsCallsTest, LibrariesCallOurs) {
  EXPECT_TRUE(tls_calls_are_ours());
}

TEST_F(TlsCallsTest, ReadingIsNotToldOfAnothersFailure) {
  ASSERT_TRUE(SSL_is_init_finished(near_.get()));
  fail_elsewhere();
  const auto n = SSL_read(near_.get(), bytes_.data(), 1);
  EXPECT_EQ(SSL_get_error(near_.get(), n), SSL_ERROR_WANT_READ);
}

TEST_F(TlsCallsTest, WritingIsNotToldOfAnothersFailure) {
  ASSERT_TRUE(SSL_is_init_finished(near_.get()));
  int n = 0;
  for (int i = 0; i < 100 && n >= 0; ++i) {
    fail_elsewhere();
    n = SSL_write(near_.get(), bytes_.data(), static_cast<int>(bytes_.size()));
  }
  ASSERT_LT(n, 0) << "the buffer never fills";
  EXPECT_EQ(SSL_get_error(near_.get(), n), SSL_ERROR_WANT_WRITE);
}

} // namespace
} // namespace hippo
