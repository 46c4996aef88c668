#include "hippo/net/keys/token_folder.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "hippo/net/keys/private_file.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t id_bytes = 5;
constexpr std::size_t secret_bytes = 32;
constexpr std::size_t id_digits = 2 * id_bytes;

std::string hex(const unsigned char* bytes, std::size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (std::size_t i = 0; i < size; ++i) {
    result += digits[bytes[i] >> 4];
    result += digits[bytes[i] & 15];
  }
  return result;
}

template <std::size_t Size>
expected<std::string> random_text() {
  std::array<unsigned char, Size> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return {errc::io_failed, "this machine has no random numbers"};
  return hex(bytes.data(), bytes.size());
}

std::string hash_of(const std::string& secret) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  EVP_Digest(secret.data(), secret.size(), bytes.data(), &size, EVP_sha256(),
             nullptr);
  return hex(bytes.data(), size);
}

bool is_hex(const std::string& x) {
  return !x.empty()
         && x.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Returns which token a secret names; empty: it is none. What comes from
/// somebody who may be nobody must not be a path.
std::string id_in(const std::string& secret) {
  const auto id = secret.substr(0, secret.find('.'));
  return secret.size() == id_digits + 1 + 2 * secret_bytes
             && id.size() == id_digits && is_hex(id)
             && is_hex(secret.substr(id_digits + 1))
           ? id
           : std::string{};
}

} // namespace

const char* to_string(page_role role) noexcept {
  return role == page_role::viewer ? "viewer" : "operator";
}

expected<page_role> parse_page_role(const std::string& text) {
  for (const auto x : {page_role::viewer, page_role::operator_})
    if (text == to_string(x))
      return x;
  return {errc::invalid_argument,
          "there is no role '" + text + "': viewer or operator"};
}

expected<token_folder::secrets> token_folder::add(const std::string& name,
                                                  page_role role,
                                                  std::int64_t now,
                                                  std::int64_t expires) {
  const auto id = random_text<id_bytes>();
  const auto token = random_text<secret_bytes>();
  const auto link = random_text<secret_bytes>();
  if (!id || !token || !link)
    return {errc::io_failed, "this machine has no random numbers"};
  secrets result{{*id, name, role, now, expires},
                 *id + '.' + *token,
                 *id + '.' + *link};
  const auto folder = folder_of(*id);
  for (const auto& x : {path_, folder})
    if (auto why = make_private_folder(x))
      return *why;
  // What says whose it is comes last: before it, it is nobody's.
  const nlohmann::ordered_json about{{"name", name},
                                     {"role", to_string(role)},
                                     {"created", now},
                                     {"expires", expires}};
  for (const auto& file : {"link-" + hash_of(result.link),
                           "token-" + hash_of(result.token)})
    if (auto why = write_private_file(folder + '/' + file, "", false))
      return *why;
  if (auto why
      = write_private_file(folder + "/about.json", about.dump() + '\n', false))
    return *why;
  return result;
}

std::optional<token_entry> token_folder::read(const std::string& id) const {
  const auto text = read_private_file(folder_of(id) + "/about.json");
  if (!text)
    return std::nullopt;
  // Somebody may have damaged it: then it is nobody's.
  try {
    const auto x = nlohmann::json::parse(*text);
    const auto role = parse_page_role(x.at("role").get<std::string>());
    if (!role)
      return std::nullopt;
    return token_entry{id, x.at("name").get<std::string>(), *role,
                       x.at("created").get<std::int64_t>(),
                       x.at("expires").get<std::int64_t>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::vector<token_entry> token_folder::list() const {
  std::vector<token_entry> result;
  std::error_code reason;
  for (const auto& x : fs::directory_iterator{path_, reason})
    if (auto entry = read(x.path().filename().string()))
      result.push_back(std::move(*entry));
  std::ranges::sort(result, [](const auto& x, const auto& y) {
    return std::pair{x.created, x.id} < std::pair{y.created, y.id};
  });
  return result;
}

std::optional<error> token_folder::remove(const std::string& id_or_name) {
  bool found = false;
  for (const auto& x : list()) {
    if (x.id != id_or_name && x.name != id_or_name)
      continue;
    found = true;
    // First what makes it somebody's: from then on it lets nobody in.
    std::error_code reason;
    fs::remove(folder_of(x.id) + "/about.json", reason);
    if (!reason)
      fs::remove_all(folder_of(x.id), reason);
    if (reason)
      return error{errc::io_failed, "cannot remove " + folder_of(x.id) + ": "
                                      + reason.message()};
  }
  if (!found)
    return error{errc::invalid_argument,
                 "there is no token '" + id_or_name
                   + "'; `hippo token ls` shows those that there are"};
  return std::nullopt;
}

std::optional<token_entry> token_folder::find(const std::string& secret,
                                              std::int64_t now) const {
  const auto id = id_in(secret);
  if (id.empty())
    return std::nullopt;
  // A file has its hash for a name: finding it takes no comparison of secrets.
  const auto hash = hash_of(secret);
  std::error_code reason;
  if (!fs::exists(folder_of(id) + "/token-" + hash, reason)
      && !fs::exists(folder_of(id) + "/session-" + hash, reason))
    return std::nullopt;
  auto result = read(id);
  return result && now < result->expires ? result : std::nullopt;
}

expected<token_folder::session> token_folder::take(const std::string& link,
                                                   std::int64_t now) {
  const error refused{errc::not_allowed,
                      "this link is none, or it was used before: ask for "
                      "another one, which `hippo token new` makes"};
  const auto id = id_in(link);
  if (id.empty())
    return refused;
  const auto entry = read(id);
  if (!entry || now >= entry->expires)
    return refused;
  std::error_code reason;
  // Of several who try, one removes it.
  if (!fs::remove(folder_of(id) + "/link-" + hash_of(link), reason) || reason)
    return refused;
  const auto secret = random_text<secret_bytes>();
  if (!secret)
    return secret.failure();
  session result{*entry, id + '.' + *secret};
  if (auto why = write_private_file(
        folder_of(id) + "/session-" + hash_of(result.secret), "", false))
    return *why;
  return result;
}

} // namespace hippo
