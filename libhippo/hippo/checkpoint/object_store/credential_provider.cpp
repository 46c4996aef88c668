#include "hippo/checkpoint/object_store/credential_provider.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "hippo/checkpoint/object_store/answer.hpp"

namespace hippo {

namespace {

constexpr std::size_t file_bytes_max = 1 << 20;

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return std::nullopt;
  std::string result(file_bytes_max, '\0');
  in.read(result.data(), static_cast<std::streamsize>(result.size()));
  result.resize(static_cast<std::size_t>(in.gcount()));
  return result;
}

/// A request to what runs the machine or the container: it is near.
http_request metadata_request(std::string url) {
  http_request result;
  result.url = std::move(url);
  result.answer_bytes_max = 64 << 10;
  result.connect_max = std::chrono::seconds{1};
  result.silence_max = std::chrono::seconds{5};
  result.through_proxy = false;
  return result;
}

error unanswered(const std::string& where, const http_answer& x) {
  return {errc::io_failed,
          where + (x.trouble.empty() ? ": status " + std::to_string(x.status)
                                     : ": " + x.trouble)};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

} // namespace

credential_provider::credential_provider(http& carrier, environment env,
                                         std::function<std::int64_t()> now)
  : carrier_(carrier), env_(std::move(env)), now_(std::move(now)) {}

expected<aws_credentials> credential_provider::get() {
  if (known_ && !is_ending(*known_, now_()))
    return *known_;
  std::string missing;
  for (const auto& source : find_sources(env_)) {
    auto found = ask(source);
    if (found) {
      known_ = *found;
      return found;
    }
    missing += (missing.empty() ? "" : "; ") + found.failure().message;
  }
  if (known_ && known_->ends && *known_->ends > now_())
    return *known_; // they hold for a while yet
  return {errc::io_failed, "no credentials for the object store: " + missing};
}

expected<aws_credentials>
credential_provider::ask(const credential_source& from) {
  switch (from.from) {
    case credential_source::kind::variables:
      if (auto found = read_variables(env_))
        return *found;
      return {errc::io_failed,
              "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"};
    case credential_source::kind::identity:
      return ask_identity(from);
    case credential_source::kind::file: {
      const auto text = read_file(from.where);
      if (!text)
        return {errc::io_failed, "cannot read " + from.where};
      if (auto found = read_profile(*text, from.profile))
        return *found;
      return {errc::io_failed,
              from.where + " has no credentials of profile " + from.profile};
    }
    case credential_source::kind::container: {
      auto request = metadata_request(from.where);
      auto token = from.token;
      // The platform of the container renews the file.
      if (!from.token_file.empty())
        token = first_line(read_file(from.token_file).value_or(""));
      if (!token.empty())
        request.headers.push_back("Authorization: " + token);
      const auto answer = carrier_.perform(request);
      if (answer.status != 200)
        return unanswered(from.where, answer);
      return read_answer(answer.body);
    }
    case credential_source::kind::machine:
      return ask_machine(from.where);
  }
  return {errc::io_failed, "no such place"};
}

/// Whoever has the token is let in: nothing is signed.
expected<aws_credentials>
credential_provider::ask_identity(const credential_source& from) {
  const auto token = first_line(read_file(from.token_file).value_or(""));
  if (token.empty())
    return {errc::io_failed, "cannot read " + from.token_file};
  const auto form = identity_form(from, token);
  http_request request;
  request.method = "POST";
  request.url = from.where + '/';
  request.headers = {"Content-Type: application/x-www-form-urlencoded"};
  request.body = form;
  request.answer_bytes_max = 64 << 10;
  const auto answer = carrier_.perform(request);
  if (answer.status != 200)
    return {errc::io_failed, from.where + ": " + describe(answer)};
  return read_sts_answer(answer.body);
}

/// Version 2 of the protocol: a token first.
expected<aws_credentials>
credential_provider::ask_machine(const std::string& where) {
  auto request = metadata_request(where + "/latest/api/token");
  request.method = "PUT";
  request.headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"};
  auto answer = carrier_.perform(request);
  if (answer.status != 200)
    return unanswered(where, answer);
  const auto roles = where + "/latest/meta-data/iam/security-credentials/";
  request = metadata_request(roles);
  request.headers = {"X-aws-ec2-metadata-token: " + first_line(answer.body)};
  answer = carrier_.perform(request);
  if (answer.status != 200)
    return unanswered(where, answer);
  request.url = roles + first_line(answer.body);
  answer = carrier_.perform(request);
  if (answer.status != 200)
    return unanswered(where, answer);
  return read_answer(answer.body);
}

environment own_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
}

} // namespace hippo
