#include "hippo/checkpoint/object_store/credentials.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/checkpoint/object_store/answer.hpp"

namespace hippo {

namespace {

constexpr std::int64_t renew_before_seconds = 300;

/// Where what runs containers answers, and what runs virtual machines.
constexpr const char* container_host = "http://169.254.170.2";
constexpr const char* machine_host = "http://169.254.169.254";

std::string_view trimmed(std::string_view x) {
  const auto begin = x.find_first_not_of(" \t\r");
  if (begin == x.npos)
    return {};
  return x.substr(begin, x.find_last_not_of(" \t\r") - begin + 1);
}

std::string value_of(const environment& env, const std::string& name) {
  return env(name).value_or("");
}

/// Returns the first of these variables that has a value.
std::string first_value(const environment& env,
                        std::initializer_list<const char*> names) {
  std::string result;
  for (const char* name : names)
    if (result.empty())
      result = value_of(env, name);
  return result;
}

std::string without_slashes(std::string x) {
  while (x.ends_with('/'))
    x.pop_back();
  return x;
}

/// What EKS sets, and whoever else gives a pod a token of its own.
std::optional<credential_source> find_identity(const environment& env) {
  credential_source result{credential_source::kind::identity};
  result.token_file = value_of(env, "AWS_WEB_IDENTITY_TOKEN_FILE");
  result.role = value_of(env, "AWS_ROLE_ARN");
  if (result.token_file.empty() || result.role.empty())
    return std::nullopt;
  result.name = first_value(env, {"AWS_ROLE_SESSION_NAME"});
  if (result.name.empty())
    result.name = "hippo";
  result.where = without_slashes(
    first_value(env, {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}));
  if (!result.where.empty())
    return result;
  const auto region = first_value(env, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  result.where = "https://sts." + (region.empty() ? "" : region + '.')
                 + "amazonaws.com";
  return result;
}

} // namespace

std::vector<credential_source> find_sources(const environment& env) {
  using kind = credential_source::kind;
  std::vector<credential_source> result{{kind::variables}};
  if (auto identity = find_identity(env))
    result.push_back(std::move(*identity));
  auto file = value_of(env, "AWS_SHARED_CREDENTIALS_FILE");
  if (const auto home = value_of(env, "HOME"); file.empty() && !home.empty())
    file = home + "/.aws/credentials";
  if (!file.empty()) {
    const auto profile = value_of(env, "AWS_PROFILE");
    result.push_back({kind::file, file, profile.empty() ? "default" : profile});
  }
  const auto path = value_of(env, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto url = path.empty()
                     ? value_of(env, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
                     : container_host + path;
  if (!url.empty())
    result.push_back({kind::container, url, {},
                      value_of(env, "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
                      value_of(env, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")});
  if (value_of(env, "AWS_EC2_METADATA_DISABLED") == "true")
    return result;
  const auto machine
    = without_slashes(value_of(env, "AWS_EC2_METADATA_SERVICE_ENDPOINT"));
  result.push_back({kind::machine, machine.empty() ? machine_host : machine});
  return result;
}

std::optional<aws_credentials> read_variables(const environment& env) {
  aws_credentials result{value_of(env, "AWS_ACCESS_KEY_ID"),
                         value_of(env, "AWS_SECRET_ACCESS_KEY"),
                         value_of(env, "AWS_SESSION_TOKEN")};
  if (result.id.empty() || result.secret.empty())
    return std::nullopt;
  return result;
}

std::optional<aws_credentials> read_profile(const std::string& text,
                                            const std::string& profile) {
  std::map<std::string, std::string, std::less<>> values;
  bool is_wanted = false;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    const auto x = trimmed(line);
    if (x.empty() || x.front() == '#' || x.front() == ';')
      continue;
    if (x.front() == '[' && x.back() == ']') {
      is_wanted = trimmed(x.substr(1, x.size() - 2)) == profile;
      continue;
    }
    const auto equals = x.find('=');
    if (is_wanted && equals != x.npos)
      values.insert_or_assign(std::string{trimmed(x.substr(0, equals))},
                              std::string{trimmed(x.substr(equals + 1))});
  }
  aws_credentials result{values["aws_access_key_id"],
                         values["aws_secret_access_key"],
                         values["aws_session_token"]};
  if (result.id.empty() || result.secret.empty())
    return std::nullopt;
  return result;
}

expected<aws_credentials> read_answer(const std::string& json) {
  const auto x = nlohmann::json::parse(json, nullptr, false);
  const auto text = [&x](const char* name) -> std::string {
    const auto i = x.find(name);
    return i != x.end() && i->is_string() ? i->get<std::string>() : "";
  };
  aws_credentials result;
  if (x.is_object())
    result = {text("AccessKeyId"), text("SecretAccessKey"), text("Token"),
              parse_time(text("Expiration"))};
  if (result.id.empty() || result.secret.empty())
    return {errc::io_failed, "the answer holds no credentials"};
  return result;
}

expected<aws_credentials> read_sts_answer(const std::string& xml) {
  const auto text = [&xml](const char* tag) {
    const auto all = texts_of(xml, tag);
    return all.size() == 1 ? all.front() : std::string{};
  };
  aws_credentials result{text("AccessKeyId"), text("SecretAccessKey"),
                         text("SessionToken"), parse_time(text("Expiration"))};
  if (result.id.empty() || result.secret.empty() || result.session.empty())
    return {errc::io_failed, "the answer holds no credentials"};
  return result;
}

std::string identity_form(const credential_source& from,
                          const std::string& token) {
  return "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn="
         + encode_query(from.role) + "&RoleSessionName="
         + encode_query(from.name) + "&WebIdentityToken=" + encode_query(token);
}

std::optional<std::int64_t> parse_time(const std::string& text) {
  std::array<int, 6> x{};
  int length = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &x[0], &x[1],
                  &x[2], &x[3], &x[4], &x[5], &length)
        != 6
      || length == 0)
    return std::nullopt;
  using namespace std::chrono;
  const year_month_day day{year{x[0]}, month{static_cast<unsigned>(x[1])},
                           std::chrono::day{static_cast<unsigned>(x[2])}};
  const auto zone = text.find('Z', static_cast<std::size_t>(length));
  if (!day.ok() || zone == text.npos || x[3] < 0 || x[3] > 23 || x[4] < 0
      || x[4] > 59 || x[5] < 0 || x[5] > 60)
    return std::nullopt;
  return duration_cast<seconds>(sys_days{day}.time_since_epoch()
                                + hours{x[3]} + minutes{x[4]} + seconds{x[5]})
    .count();
}

bool is_ending(const aws_credentials& credentials, std::int64_t now) {
  return credentials.ends && *credentials.ends - now <= renew_before_seconds;
}

} // namespace hippo
