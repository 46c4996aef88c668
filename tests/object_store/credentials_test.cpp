#include "hippo/checkpoint/object_store/credentials.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "hippo/checkpoint/object_store/credential_provider.hpp"
#include "object_store/scripted_http.hpp"

namespace hippo {

namespace {

using kind = credential_source::kind;

environment with(std::map<std::string, std::string> values) {
  return [values = std::move(values)](
           const std::string& name) -> std::optional<std::string> {
    const auto i = values.find(name);
    return i == values.end() ? std::nullopt : std::optional{i->second};
  };
}

TEST(CredentialSources, AreThoseOfAmazonsToolsInTheirOrder) {
  const auto found = find_sources(with({{"HOME", "/home/ada"}}));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (credential_source{kind::variables}));
  EXPECT_EQ(found[1], (credential_source{
                        kind::file, "/home/ada/.aws/credentials", "default"}));
  EXPECT_EQ(found[2],
            (credential_source{kind::machine, "http://169.254.169.254"}));
}

TEST(CredentialSources, FollowTheVariables) {
  const auto found = find_sources(
    with({{"HOME", "/home/ada"},
          {"AWS_SHARED_CREDENTIALS_FILE", "/etc/keys"},
          {"AWS_PROFILE", "gpu"},
          {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.9/c"},
          {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/run/token"},
          {"AWS_EC2_METADATA_DISABLED", "true"}}));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1], (credential_source{kind::file, "/etc/keys", "gpu"}));
  EXPECT_EQ(found[2], (credential_source{kind::container, "http://10.0.0.9/c",
                                         "", "", "/run/token"}));
  const auto relative = find_sources(
    with({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"}}));
  EXPECT_EQ(relative[1].where, "http://169.254.170.2/v2/x");
}

TEST(CredentialSources, AWebIdentityComesBeforeTheFile) {
  std::map<std::string, std::string> values{
    {"HOME", "/home/ada"},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", "/run/identity"},
    {"AWS_EC2_METADATA_DISABLED", "true"}};
  EXPECT_EQ(find_sources(with(values)).size(), 2u) << "a role is missing";
  values["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/hippo";
  const auto found = find_sources(with(values));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1],
            (credential_source{kind::identity, "https://sts.amazonaws.com", "",
                               "", "/run/identity",
                               "arn:aws:iam::1:role/hippo", "hippo"}));
  EXPECT_EQ(found[2].from, kind::file);
  values["AWS_REGION"] = "eu-central-1";
  EXPECT_EQ(find_sources(with(values))[1].where,
            "https://sts.eu-central-1.amazonaws.com");
  values["AWS_ENDPOINT_URL"] = "https://minio.lab:9000/";
  values["AWS_ROLE_SESSION_NAME"] = "night";
  EXPECT_EQ(find_sources(with(values))[1].where, "https://minio.lab:9000");
  EXPECT_EQ(find_sources(with(values))[1].name, "night");
  values["AWS_ENDPOINT_URL_STS"] = "http://sts.lab";
  EXPECT_EQ(find_sources(with(values))[1].where, "http://sts.lab");
}

TEST(Credentials, OfAProfile) {
  const std::string text = "# shared\n"
                           "[default]\r\n"
                           "aws_access_key_id = A\r\n"
                           "aws_secret_access_key=b/c+d==\r\n"
                           "[ gpu ]\n"
                           "; temporary\n"
                           "aws_access_key_id=G\n"
                           "aws_secret_access_key = s\n"
                           "aws_session_token =t=\n"
                           "[half]\naws_access_key_id=H\n";
  EXPECT_EQ(read_profile(text, "default"), (aws_credentials{"A", "b/c+d=="}));
  EXPECT_EQ(read_profile(text, "gpu"), (aws_credentials{"G", "s", "t="}));
  EXPECT_FALSE(read_profile(text, "half"));
  EXPECT_FALSE(read_profile(text, "none"));
  EXPECT_FALSE(read_profile("", "default"));
}

TEST(Credentials, OfAMetadataService) {
  const auto x = read_answer(R"({"AccessKeyId": "A", "SecretAccessKey": "s",
    "Token": "t", "Expiration": "2026-01-31T12:00:00Z", "Code": "Success"})");
  ASSERT_TRUE(x);
  EXPECT_EQ(*x, (aws_credentials{"A", "s", "t", 1769860800}));
  for (const char* text : {"", "[]", "null", "{}", R"({"AccessKeyId": "A"})",
                           R"({"AccessKeyId": 1, "SecretAccessKey": 2})"}) {
    const auto y = read_answer(text);
    ASSERT_FALSE(y) << text;
    EXPECT_EQ(y.failure().message.find('{'), std::string::npos);
  }
}

TEST(Credentials, TimesAreThoseOfTheCalendar) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_time("2024-02-29T23:59:59Z"), 1709251199);
  EXPECT_EQ(parse_time("2024-03-01T00:00:00.123Z"), 1709251200);
  for (const char* text : {"", "2023-02-29T00:00:00Z", "2024-01-01T24:00:00Z",
                           "2024-01-01", "2024-01-01T00:00:00"})
    EXPECT_FALSE(parse_time(text)) << text;
}

std::string keys_until(const std::string& id, const std::string& time) {
  return R"({"AccessKeyId": ")" + id
         + R"(", "SecretAccessKey": "s", "Token": "t", "Expiration": ")" + time
         + "\"}";
}

TEST(CredentialProvider, AsksTheMachineAndAgainBeforeTheyEnd) {
  scripted_http net;
  std::int64_t now = 1769860800 - 3600; // they end in an hour
  credential_provider x{net, with({}), [&] { return now; }};
  net.answers = {ok("token\n"), ok("role\n"),
                 ok(keys_until("A", "2026-01-31T12:00:00Z"))};
  ASSERT_TRUE(x.get());
  ASSERT_EQ(net.asked.size(), 3u);
  EXPECT_EQ(net.asked[0].method, "PUT");
  EXPECT_EQ(net.asked[1].headers,
            std::vector<std::string>{"X-aws-ec2-metadata-token: token"});
  EXPECT_EQ(net.asked[2].url, "http://169.254.169.254/latest/meta-data/iam/"
                              "security-credentials/role");
  EXPECT_FALSE(net.asked[2].through_proxy);
  now += 3600 - 301;
  ASSERT_TRUE(x.get());
  EXPECT_EQ(net.asked.size(), 3u); // they are known
  now += 1;
  net.answers = {ok("token"), ok("role"),
                 ok(keys_until("B", "2026-01-31T18:00:00Z"))};
  EXPECT_EQ(x.get()->id, "B");
  x.forget();
  net.answers = {ok("token"), ok("role"),
                 ok(keys_until("C", "2026-01-31T18:00:00Z"))};
  EXPECT_EQ(x.get()->id, "C");
}

TEST(CredentialProvider, HoldsOnToWhatIsStillGood) {
  scripted_http net;
  std::int64_t now = 1769860800 - 200; // about to end
  credential_provider x{net, with({}), [&] { return now; }};
  net.answers = {ok("token"), ok("role"),
                 ok(keys_until("A", "2026-01-31T12:00:00Z"))};
  ASSERT_TRUE(x.get());
  EXPECT_EQ(x.get()->id, "A"); // nobody answers now
  now += 200;
  EXPECT_FALSE(x.get());
}

TEST(CredentialProvider, ShowsTheTokenThatTheFileHasNow) {
  const auto path = std::filesystem::temp_directory_path()
                    / ("hippo-token-" + std::to_string(::getpid()));
  std::ofstream{path} << "first\n";
  scripted_http net;
  credential_provider x{
    net,
    with({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.9/c"},
          {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path.string()},
          {"AWS_EC2_METADATA_DISABLED", "true"}}),
    [] { return 0; }};
  net.answers = {ok(keys_until("A", "2026-01-31T12:00:00Z"))};
  ASSERT_TRUE(x.get());
  EXPECT_EQ(net.asked[0].headers,
            std::vector<std::string>{"Authorization: first"});
  std::ofstream{path} << "second";
  x.forget();
  net.answers = {ok(keys_until("A", "2026-01-31T12:00:00Z"))};
  ASSERT_TRUE(x.get());
  EXPECT_EQ(net.asked[1].headers,
            std::vector<std::string>{"Authorization: second"});
  std::filesystem::remove(path);
}

std::string sts_answer(const std::string& id, const std::string& time) {
  return "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
         "<Credentials><AccessKeyId>"
         + id + "</AccessKeyId><SecretAccessKey>s/&amp;</SecretAccessKey>"
         + "<SessionToken>t==</SessionToken><Expiration>" + time
         + "</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
           "</AssumeRoleWithWebIdentityResponse>";
}

TEST(CredentialProvider, ShowsAWebIdentityAndTheNewOneBeforeTheyEnd) {
  const auto path = std::filesystem::temp_directory_path()
                    / ("hippo-identity-" + std::to_string(::getpid()));
  std::ofstream{path} << "first+token\n";
  scripted_http net;
  std::int64_t now = 1769860800 - 3600;
  credential_provider x{
    net,
    with({{"AWS_WEB_IDENTITY_TOKEN_FILE", path.string()},
          {"AWS_ROLE_ARN", "arn:aws:iam::1:role/hippo"},
          {"AWS_REGION", "eu-central-1"},
          {"AWS_EC2_METADATA_DISABLED", "true"}}),
    [&] { return now; }};
  net.answers = {ok(sts_answer("A", "2026-01-31T12:00:00Z"))};
  const auto got = x.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, (aws_credentials{"A", "s/&", "t==", 1769860800}));
  ASSERT_EQ(net.asked.size(), 1u);
  const auto& asked = net.asked[0];
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.url, "https://sts.eu-central-1.amazonaws.com/");
  EXPECT_EQ(net.bodies[0],
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3A"
            "aws%3Aiam%3A%3A1%3Arole%2Fhippo&RoleSessionName=hippo"
            "&WebIdentityToken=first%2Btoken");
  EXPECT_FALSE(asked.sign);
  std::ofstream{path} << "second";
  ASSERT_TRUE(x.get());
  EXPECT_EQ(net.asked.size(), 1u) << "they are known";
  now += 3600 - 300;
  net.answers = {ok(sts_answer("B", "2026-01-31T13:00:00Z"))};
  EXPECT_EQ(x.get()->id, "B");
  EXPECT_TRUE(net.bodies[1].ends_with("WebIdentityToken=second"));
  std::filesystem::remove(path);
}

TEST(CredentialProvider, SaysWhyAnIdentityIsRefusedAndNotItsToken) {
  const auto path = std::filesystem::temp_directory_path()
                    / ("hippo-refused-" + std::to_string(::getpid()));
  std::ofstream{path} << "hush";
  scripted_http net;
  credential_provider x{net,
                        with({{"AWS_WEB_IDENTITY_TOKEN_FILE", path.string()},
                              {"AWS_ROLE_ARN", "arn:aws:iam::1:role/hippo"},
                              {"AWS_EC2_METADATA_DISABLED", "true"}}),
                        [] { return 0; }};
  net.answers = {{400, "", {}, "<Error><Code>ExpiredTokenException</Code>"
                               "<Message>it ended</Message></Error>"}};
  auto why = x.get().failure().message;
  EXPECT_NE(why.find("status 400, ExpiredTokenException, it ended"),
            std::string::npos)
    << why;
  net.answers = {ok("<Credentials><AccessKeyId>A</AccessKeyId></Credentials>")};
  why = x.get().failure().message;
  EXPECT_NE(why.find("no credentials"), std::string::npos) << why;
  EXPECT_EQ(why.find("hush"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_NE(x.get().failure().message.find("cannot read " + path.string()),
            std::string::npos);
}

TEST(CredentialProvider, SaysWhereNoneAre) {
  scripted_http net;
  credential_provider x{net,
                        with({{"AWS_SHARED_CREDENTIALS_FILE", "/nowhere/keys"},
                              {"AWS_SECRET_ACCESS_KEY", "hush"}}),
                        [] { return 0; }};
  const auto why = x.get().failure();
  EXPECT_EQ(why.code, errc::io_failed);
  for (const char* part :
       {"AWS_ACCESS_KEY_ID", "/nowhere/keys", "169.254.169.254", "no route"})
    EXPECT_NE(why.message.find(part), std::string::npos) << why.message;
  EXPECT_EQ(why.message.find("hush"), std::string::npos);
}

} // namespace

} // namespace hippo
