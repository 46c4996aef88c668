#include "hippo/model/code/sha256.hpp"

#include <array>
#include <new>

#include <openssl/evp.h>

namespace hippo {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

/// @throws std::bad_alloc unless OpenSSL has done what it fails at for want of
///         memory alone
void expect(int done) {
  if (done != 1)
    throw std::bad_alloc{};
}

} // namespace

struct sha256_hasher::state {
  state() : context(EVP_MD_CTX_new()) {
    if (context == nullptr)
      throw std::bad_alloc{};
  }
  ~state() { EVP_MD_CTX_free(context); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  EVP_MD_CTX* context;
};

sha256_hasher::sha256_hasher() : state_(std::make_unique<state>()) {
  expect(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr));
}

sha256_hasher::sha256_hasher(sha256_hasher&& other) noexcept = default;
sha256_hasher&
sha256_hasher::operator=(sha256_hasher&& other) noexcept = default;
sha256_hasher::~sha256_hasher() = default;

void sha256_hasher::add(const void* data, std::size_t size) {
  expect(EVP_DigestUpdate(state_->context, data, size));
}

std::string sha256_hasher::digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  expect(EVP_DigestFinal_ex(state_->context, bytes.data(), &size));
  std::string result;
  for (unsigned i = 0; i < size; ++i) {
    result += hex_digits[bytes[i] >> 4];
    result += hex_digits[bytes[i] & 15];
  }
  return result;
}

std::string sha256_of(std::string_view bytes) {
  sha256_hasher hasher;
  hasher.add(bytes.data(), bytes.size());
  return hasher.digest();
}

bool is_sha256(std::string_view text) noexcept {
  return text.size() == 64
         && text.find_first_not_of(hex_digits) == std::string_view::npos;
}

} // namespace hippo
