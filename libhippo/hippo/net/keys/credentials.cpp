#include "hippo/net/keys/credentials.hpp"

#include <utility>
#include <vector>

#include "hippo/net/keys/openssl.hpp"
#include "hippo/net/keys/private_file.hpp"

namespace hippo {

namespace {

/// Sorts the blocks of a file into key, certificate and authority.
expected<credentials> sort_blocks(const std::string& path,
                                  const std::string& bytes) {
  const auto damaged = [&path](const std::string& what) {
    return error{errc::invalid_argument,
                 path + " is no whole file of `hippo keys add`: " + what};
  };
  const auto blocks = openssl::blocks_of(bytes);
  if (!blocks)
    return damaged(blocks.failure().message);
  std::vector<std::string> certificates;
  credentials result;
  for (const auto& block : *blocks) {
    if (block.label == "CERTIFICATE")
      certificates.push_back(block.text);
    else if (block.label == "PRIVATE KEY" && result.key.empty())
      result.key = block.text;
    else
      return damaged("it holds a " + block.label + " too many");
  }
  if (result.key.empty())
    return damaged("the private key is missing");
  if (certificates.size() != 2)
    return damaged("it should hold 2 certificates, and holds "
                   + std::to_string(certificates.size()));
  result.certificate = std::move(certificates[0]);
  result.authorities = std::move(certificates[1]);
  const auto certificate = openssl::certificate_from(result.certificate);
  const auto key = openssl::key_from(result.key);
  if (!certificate || !key || !openssl::certificate_from(result.authorities))
    return damaged(openssl::take_errors());
  if (!openssl::is_key_of(certificate.get(), key.get()))
    return damaged("key and certificate are not of each other");
  return result;
}

} // namespace

expected<credentials> load_credentials(const std::string& path, key_role role,
                                       unix_seconds now) {
  const auto bytes = read_private_file(path);
  if (!bytes)
    return bytes.failure();
  auto result = sort_blocks(path, *bytes);
  if (!result)
    return result;
  const auto certificate = read_certificate(result->certificate);
  if (!certificate)
    return error{certificate.failure().code,
                 path + ": " + certificate.failure().message};
  if (certificate->holder.role != role)
    return {errc::not_allowed,
            path + " is the key of a " + to_string(certificate->holder.role)
              + " (" + to_text(certificate->holder) + "), and this needs one "
              + "of a " + to_string(role) + ": hippo keys add NAME --role "
              + to_string(role)};
  if (auto why = check_validity(*certificate, now))
    return error{why->code, path + ": " + why->message};
  result->holder = certificate->holder;
  return result;
}

} // namespace hippo
