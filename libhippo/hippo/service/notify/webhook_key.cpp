#include "hippo/service/notify/webhook_key.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <filesystem>
#include <new>

#include "hippo/net/keys/private_file.hpp"

namespace hippo {

namespace {

constexpr std::string_view prefix = "whsec_";
constexpr std::size_t made_bytes = 32, least_bytes = 24, most_bytes = 64;

std::string to_base64(std::string_view bytes) {
  std::string result((bytes.size() + 2) / 3 * 4 + 1, '\0'); // and a zero
  const auto size =
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(result.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
  result.resize(static_cast<std::size_t>(size));
  return result;
}

/// @returns the bytes; none: it is no base64
std::string from_base64(std::string_view text) {
  std::string result(text.size() / 4 * 3, '\0');
  const auto size =
    EVP_DecodeBlock(reinterpret_cast<unsigned char*>(result.data()),
                    reinterpret_cast<const unsigned char*>(text.data()),
                    static_cast<int>(text.size()));
  if (size < 0)
    return {};
  const auto padding = text.size() - text.find_last_not_of('=') - 1;
  result.resize(static_cast<std::size_t>(size)
                - std::min<std::size_t>(padding, 2));
  return result;
}

} // namespace

expected<webhook_key> webhook_key::from(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  if (text.starts_with(prefix) && text.size() <= prefix.size() + 2 * most_bytes)
    if (auto secret = from_base64(text.substr(prefix.size()));
        secret.size() >= least_bytes && secret.size() <= most_bytes)
      return webhook_key{std::move(secret)};
  return error{errc::malformed_message,
               "a key of notifications is whsec_ and 24 to 64 bytes in base64"};
}

expected<webhook_key> webhook_key::open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    std::string bytes(made_bytes, '\0');
    if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()),
                   static_cast<int>(bytes.size()))
        != 1)
      return error{errc::io_failed, "there are no random bytes for " + path};
    if (auto why = write_private_file(
          path, std::string{prefix} + to_base64(bytes) + "\n", false);
        why && why->code != errc::in_use)
      return std::move(*why);
  }
  const auto text = read_private_file(path);
  if (!text)
    return text.failure();
  auto result = from(*text);
  if (!result)
    return error{result.failure().code, path + ": " + result.failure().message};
  return result;
}

std::string webhook_key::sign(std::string_view id, std::int64_t seconds,
                              std::string_view body) const {
  std::string text{id};
  text += '.' + std::to_string(seconds) + '.';
  text += body;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           digest.data(), &size)
      == nullptr)
    throw std::bad_alloc{};
  return "v1,"
         + to_base64({reinterpret_cast<const char*>(digest.data()), size});
}

} // namespace hippo
