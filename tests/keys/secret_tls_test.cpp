// TLS between two peers that share a secret.

#include "hippo/net/keys/secret_tls.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "hippo/base/file_descriptor.hpp"

namespace hippo {
namespace {

using outcome = secret_tls::outcome;

/// Both ends of a connection.
struct SecretTls : testing::Test {
  SecretTls() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
      return;
    left = file_descriptor{ends[0]};
    right = file_descriptor{ends[1]};
  }

  file_descriptor left, right;
};

/// Shakes hands until both are through, or one has failed.
std::pair<outcome, outcome> shake_hands(secret_tls& one, secret_tls& other) {
  std::pair result{outcome::not_yet, outcome::not_yet};
  for (int i = 0; i < 100; ++i) {
    if (result.first == outcome::not_yet)
      result.first = one.shake_hands();
    if (result.second == outcome::not_yet)
      result.second = other.shake_hands();
  }
  return result;
}

TEST_F(SecretTls, CarriesBytesBothWaysUnread) {
  secret_tls one{left.number(), "s3cret", secret_tls::side::connects};
  secret_tls other{right.number(), "s3cret", secret_tls::side::accepts};
  ASSERT_EQ(shake_hands(one, other), std::pair(outcome::done, outcome::done));
  const std::string text = "weights";
  for (auto [from, to, end] :
       {std::tuple{&one, &other, &right}, {&other, &one, &left}}) {
    std::size_t sent = 0, received = 0;
    ASSERT_EQ(from->send(std::as_bytes(std::span{text}), sent), outcome::done);
    EXPECT_EQ(sent, text.size());
    std::string seen(1000, '\0');
    seen.resize(static_cast<std::size_t>(
      ::recv(end->number(), seen.data(), seen.size(), MSG_PEEK)));
    EXPECT_EQ(seen.find(text), seen.npos);
    std::string got(100, '\0');
    ASSERT_EQ(to->receive(std::as_writable_bytes(std::span{got}), received),
              outcome::done);
    EXPECT_EQ(got.substr(0, received), text);
    EXPECT_EQ(to->receive(std::as_writable_bytes(std::span{got}), received),
              outcome::not_yet);
    EXPECT_FALSE(to->wants_to_write());
  }
}

TEST_F(SecretTls, WaitsWhereThereIsNoRoom) {
  secret_tls one{left.number(), "s3cret", secret_tls::side::connects};
  secret_tls other{right.number(), "s3cret", secret_tls::side::accepts};
  ASSERT_EQ(shake_hands(one, other), std::pair(outcome::done, outcome::done));
  const std::string text(10'000'000, 'w');
  std::span rest{text};
  std::string got;
  bool has_waited = false;
  while (got.size() < text.size()) {
    std::size_t n = 0;
    while (!rest.empty() && one.send(std::as_bytes(rest), n) == outcome::done)
      rest = rest.subspan(n);
    has_waited = has_waited || (!rest.empty() && one.wants_to_write());
    std::string some(50'000, '\0');
    while (other.receive(std::as_writable_bytes(std::span{some}), n)
           == outcome::done)
      got.append(some, 0, n);
  }
  EXPECT_TRUE(got == text);
  EXPECT_TRUE(has_waited);
}

TEST_F(SecretTls, AnotherSecretLetsNobodyIn) {
  secret_tls one{left.number(), "s3cret", secret_tls::side::connects};
  secret_tls other{right.number(), "secret", secret_tls::side::accepts};
  EXPECT_EQ(shake_hands(one, other),
            std::pair(outcome::failed, outcome::failed));
  EXPECT_FALSE(one.why().empty());
  EXPECT_FALSE(other.why().empty());
}

TEST_F(SecretTls, OneThatSpeaksNoTlsOrIsGoneIsSeen) {
  secret_tls one{left.number(), "s3cret", secret_tls::side::accepts};
  const std::string text = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_GT(::send(right.number(), text.data(), text.size(), 0), 0);
  EXPECT_EQ(one.shake_hands(), outcome::failed);
  // No signal, either.
  right = file_descriptor{};
  secret_tls two{left.number(), "s3cret", secret_tls::side::connects};
  EXPECT_EQ(two.shake_hands(), outcome::closed);
}

} // namespace
} // namespace hippo
