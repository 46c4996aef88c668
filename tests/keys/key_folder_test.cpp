#include "hippo/net/keys/key_folder.hpp"

#include <algorithm>

#include <sys/stat.h>

#include "hippo/net/keys/private_file.hpp"
#include "keys/keys_fixture.hpp"

namespace hippo {
namespace {

namespace fs = std::filesystem;

constexpr unix_seconds now = 1'800'000'000; // in January 2027

class KeyFolderTest : public keys_test {
public:
  [[nodiscard]] key_folder keys() const { return folder("keys", now); }

  /// Adds a name, which must work. @returns the path of its file
  [[nodiscard]] std::string add(const key_holder& holder) const {
    auto file = keys().add(holder, 10, false, now);
    EXPECT_TRUE(file) << file.failure().message;
    return file ? *file : "";
  }
};

/// Returns what an expected failed with; fails the test if it did not.
template <class T>
error failure_of(const expected<T>& x) {
  if (!x)
    return x.failure();
  ADD_FAILURE() << "worked";
  return {errc{}, "worked"};
}

mode_t mode_of(const std::string& path) {
  struct stat about {};
  EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
  return about.st_mode & 0777;
}

// -- names --------------------------------------------------------------------

TEST(KeyHolder, IsTheCommonName) {
  EXPECT_EQ(to_text(gpu1), "trainer:gpu1");
  EXPECT_EQ(*read_key_holder("trainer:gpu1"), gpu1);
  EXPECT_EQ(*read_key_holder("client:ada"), ada);
  for (const auto* bad : {"", "gpu1", ":gpu1", "trainer:", "root:gpu1",
                          "trainer:a b", "Trainer:a", "trainer:../x",
                          "client:a:b", " trainer:a"})
    EXPECT_EQ(failure_of(read_key_holder(bad)).code, errc::not_allowed) << bad;
}

TEST(KeyHolder, HasANameThatIsAFile) {
  for (const auto* fine : {"a", "gpu-1.cluster_b", "0"})
    EXPECT_FALSE(check_key_name(fine)) << fine;
  EXPECT_FALSE(check_key_name(std::string(key_name_length_max, 'x')));
  EXPECT_TRUE(check_key_name(std::string(key_name_length_max + 1, 'x')));
  for (const auto* bad : {"", ".", "..", "-a", "a/b", "a b", "é", "a\n"})
    EXPECT_TRUE(check_key_name(bad)) << bad;
}

TEST(CertificateTime, IsADay) {
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(now), "2027-01-15");
}

// -- making -------------------------------------------------------------------

TEST_F(KeyFolderTest, EverythingIsPrivate) {
  (void)add(gpu1);
  int files = 0;
  EXPECT_EQ(mode_of(path("keys")), 0700u);
  for (const auto& x : fs::recursive_directory_iterator{path("keys")}) {
    EXPECT_EQ(mode_of(x.path()), x.is_directory() ? 0700u : 0600u) << x.path();
    files += x.is_regular_file();
  }
  EXPECT_EQ(files, 8) << "three authorities, the service, gpu1";
}

TEST_F(KeyFolderTest, ACertificateSaysWhoAndUntilWhen) {
  (void)add(gpu1);
  (void)keys().add(ada, 825, false, now);
  const auto entries = *keys().list(now);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].certificate->holder,
            (key_holder{key_role::service, "hippo"}));
  EXPECT_EQ(entries[1].certificate->holder, ada);
  EXPECT_EQ(entries[2].certificate->holder, gpu1);
  for (const auto& x : entries) {
    EXPECT_EQ(x.problem, "");
    EXPECT_EQ(x.certificate->not_before, now - clock_slack_seconds);
    EXPECT_EQ(x.certificate->authority.find(
                "hippo " + std::string{to_string(x.certificate->holder.role)}
                + " authority "),
              0u);
  }
  EXPECT_EQ(entries[0].certificate->not_after,
            now + authority_days * day_seconds);
  EXPECT_EQ(entries[1].certificate->not_after, now + 825 * day_seconds);
  EXPECT_EQ(entries[2].certificate->not_after, now + 10 * day_seconds);
}

TEST_F(KeyFolderTest, ServiceCarriesItsHosts) {
  const auto made = key_folder::init(
    path("keys"), {"hippo.example.org", "10.0.0.5", "fd00::5", "localhost"},
    false, now);
  ASSERT_TRUE(made) << made.failure().message;
  const auto hosts = (*made->list(now))[0].certificate->hosts;
  for (const auto* x : {"hippo", "localhost", "127.0.0.1", "::1",
                        "hippo.example.org", "10.0.0.5", "fd00::5"})
    EXPECT_EQ(std::count(hosts.begin(), hosts.end(), x), 1) << x;
}

TEST_F(KeyFolderTest, HostsAreChecked) {
  for (const auto* bad : {"", "a b", "a,DNS:b", "http://a", "10.0.0.5/8"}) {
    const auto why
      = failure_of(key_folder::init(path("keys"), {bad}, false, now));
    EXPECT_EQ(why.code, errc::invalid_argument) << bad;
    EXPECT_FALSE(fs::exists(path("keys")));
  }
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= service_hosts_max; ++i)
    many.push_back("host" + std::to_string(i));
  EXPECT_EQ(failure_of(key_folder::init(path("keys"), many, false, now)).code,
            errc::invalid_argument);
}

TEST_F(KeyFolderTest, NothingIsOverwritten) {
  const auto file = add(gpu1);
  const auto service = read(path("keys/service.pem"));
  const auto key = read(file);
  EXPECT_EQ(failure_of(key_folder::init(path("keys"), {}, false, now)).code,
            errc::in_use);
  const auto twice = failure_of(keys().add(gpu1, 10, false, now));
  EXPECT_EQ(twice.code, errc::in_use);
  EXPECT_NE(twice.message.find("valid until 2027-01-25"), std::string::npos)
    << twice.message;
  for (const bool renew : {false, true})
    EXPECT_EQ(failure_of(keys().add({key_role::client, "gpu1"}, 10, renew, now))
                .code,
              errc::in_use);
  EXPECT_EQ(read(path("keys/service.pem")), service);
  EXPECT_EQ(read(file), key);
}

TEST_F(KeyFolderTest, RenewingTheServiceKeepsAllOthers) {
  const auto file = add(gpu1);
  const auto before = read(path("keys/service.pem"));
  const auto key = read(file);
  const auto again
    = key_folder::init(path("keys"), {"new.example.org"}, true, now);
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_NE(read(path("keys/service.pem")), before);
  EXPECT_EQ(read(file), key);
  const auto entries = again->list(now);
  for (const auto& x : *entries)
    EXPECT_EQ(x.problem, "") << x.path;
}

TEST_F(KeyFolderTest, RenewingANameReplacesItsKey) {
  const auto file = add(gpu1);
  const auto before = load_credentials(file, key_role::trainer, now);
  ASSERT_TRUE(keys().add(gpu1, 20, true, now));
  const auto after = load_credentials(file, key_role::trainer, now);
  ASSERT_TRUE(after) << after.failure().message;
  EXPECT_NE(after->key, before->key);
  EXPECT_EQ(after->authorities, before->authorities);
}

TEST_F(KeyFolderTest, ALostRoleGetsANewAuthority) {
  (void)add(gpu1);
  (void)add(ada);
  fs::remove(path("keys/authority/trainer.crt"));
  fs::remove(path("keys/authority/trainer.key"));
  ASSERT_TRUE(key_folder::init(path("keys"), {}, true, now));
  const auto entries = *keys().list(now);
  EXPECT_EQ(entries[1].problem, "") << "clients are as before";
  EXPECT_NE(entries[2].problem.find(
              "hippo keys add gpu1 --role trainer --renew"),
            std::string::npos)
    << entries[2].problem;
  ASSERT_TRUE(keys().add(gpu1, 10, true, now));
  EXPECT_EQ((*keys().list(now))[2].problem, "");
}

TEST_F(KeyFolderTest, AnInterruptedInitGoesOn) {
  (void)keys();
  fs::remove(path("keys/service.pem"));
  fs::remove(path("keys/authority/client.crt"));
  const auto again = key_folder::init(path("keys"), {}, false, now);
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_TRUE(again->serving(all_peers, now));
}

TEST_F(KeyFolderTest, OtherFoldersAreLeftAlone) {
  fs::create_directory(path("keys"));
  fs::permissions(path("keys"), fs::perms::owner_all);
  write(path("keys/thesis.tex"), "x");
  const auto why = failure_of(key_folder::init(path("keys"), {}, true, now));
  EXPECT_EQ(why.code, errc::invalid_argument);
  EXPECT_NE(why.message.find("thesis.tex"), std::string::npos) << why.message;
  EXPECT_EQ(std::distance(fs::directory_iterator{path("keys")}, {}), 1);
  EXPECT_EQ(failure_of(key_folder::open(path("keys"))).code,
            errc::invalid_argument);
  EXPECT_EQ(failure_of(key_folder::open(path("none"))).code,
            errc::invalid_argument);
}

TEST_F(KeyFolderTest, DaysAreBounded) {
  for (const int days : {0, -1, authority_days + 1}) {
    const auto why = failure_of(keys().add(gpu1, days, false, now));
    EXPECT_EQ(why.code, errc::invalid_argument) << days;
    EXPECT_NE(why.message.find("1 to 3650 days"), std::string::npos)
      << why.message;
  }
  EXPECT_TRUE(keys().add(gpu1, authority_days, false, now));
  EXPECT_EQ(
    failure_of(keys().add(ada, 1, false, now + authority_days * day_seconds))
      .code,
    errc::invalid_argument);
}

TEST_F(KeyFolderTest, TheServiceIsNoNameToAdd) {
  for (const key_holder& x : {key_holder{key_role::client, "service"},
                              key_holder{key_role::service, "x"},
                              key_holder{key_role::client, "../x"}})
    EXPECT_EQ(failure_of(keys().add(x, 10, true, now)).code,
              errc::invalid_argument)
      << to_text(x);
}

// -- loading ------------------------------------------------------------------

TEST_F(KeyFolderTest, AFileHasAllThatItsHolderNeeds) {
  const auto file = path("elsewhere.pem");
  fs::copy(add(gpu1), file);
  const auto loaded = load_credentials(file, key_role::trainer, now);
  ASSERT_TRUE(loaded) << loaded.failure().message;
  EXPECT_EQ(loaded->holder, gpu1);
  EXPECT_EQ(read(file), loaded->key + loaded->certificate
                          + loaded->authorities);
  EXPECT_EQ(loaded->authorities, read(path("keys/authority/service.crt")));
}

TEST_F(KeyFolderTest, AServiceTrustsTheRolesThatItAdmits) {
  const auto one = keys().serving({key_role::trainer}, now);
  ASSERT_TRUE(one) << one.failure().message;
  EXPECT_EQ(one->authorities, read(path("keys/authority/trainer.crt")));
  EXPECT_EQ(one->key + one->certificate, read(path("keys/service.pem")));
  EXPECT_EQ(keys().serving(all_peers, now)->authorities,
            read(path("keys/authority/trainer.crt"))
              + read(path("keys/authority/client.crt")));
}

TEST_F(KeyFolderTest, ServingNeedsNoKeyOfAnAuthority) {
  (void)keys();
  for (const auto role : all_key_roles)
    fs::remove(path("keys/authority/" + std::string{to_string(role)} + ".key"));
  EXPECT_TRUE(keys().serving(all_peers, now));
  EXPECT_EQ(failure_of(keys().add(gpu1, 1, false, now)).code,
            errc::invalid_argument);
}

TEST_F(KeyFolderTest, WrongRoleIsSaid) {
  const auto why
    = failure_of(load_credentials(add(ada), key_role::trainer, now));
  EXPECT_EQ(why.code, errc::not_allowed);
  EXPECT_NE(why.message.find("is the key of a client (client:ada), and this "
                             "needs one of a trainer"),
            std::string::npos)
    << why.message;
  EXPECT_EQ(failure_of(load_credentials(path("keys/service.pem"),
                                        key_role::client, now))
              .code,
            errc::invalid_argument)
    << "the service's own";
}

TEST_F(KeyFolderTest, TimesAreChecked) {
  const auto file = add(gpu1);
  const auto end = now + 10 * day_seconds;
  EXPECT_TRUE(load_credentials(file, key_role::trainer, end));
  const auto late
    = failure_of(load_credentials(file, key_role::trainer, end + 1));
  EXPECT_EQ(late.code, errc::not_allowed);
  EXPECT_NE(late.message.find("trainer:gpu1 expired on 2027-01-25; a new one: "
                              "hippo keys add gpu1 --role trainer --renew"),
            std::string::npos)
    << late.message;
  const auto begin = now - clock_slack_seconds;
  EXPECT_TRUE(load_credentials(file, key_role::trainer, begin));
  const auto early
    = failure_of(load_credentials(file, key_role::trainer, begin - 1));
  EXPECT_EQ(early.code, errc::not_allowed);
  EXPECT_NE(early.message.find("is valid from 2027-01-14 on"),
            std::string::npos)
    << early.message;
  EXPECT_EQ((*keys().list(end + 1))[1].problem.find("the certificate of "), 0u);
  const auto service
    = failure_of(keys().serving(all_peers, now + 3651 * day_seconds));
  EXPECT_EQ(service.code, errc::not_allowed);
  EXPECT_NE(service.message.find("hippo keys init --renew"), std::string::npos)
    << service.message;
}

TEST_F(KeyFolderTest, WhatOthersCanReadIsRefused) {
  const auto file = add(gpu1);
  using fs::perms;
  for (const auto more : {perms::group_read, perms::others_read,
                          perms::group_write, perms::others_exec}) {
    fs::permissions(file, more, fs::perm_options::add);
    const auto why
      = failure_of(load_credentials(file, key_role::trainer, now));
    EXPECT_EQ(why.code, errc::not_allowed);
    EXPECT_NE(why.message.find("chmod 600 " + file), std::string::npos)
      << why.message;
    EXPECT_FALSE((*keys().list(now))[1].problem.empty());
    fs::permissions(file, more, fs::perm_options::remove);
  }
  fs::permissions(path("keys"), perms::group_exec, fs::perm_options::add);
  const auto why = failure_of(key_folder::open(path("keys")));
  EXPECT_EQ(why.code, errc::not_allowed);
  EXPECT_NE(why.message.find("chmod 700"), std::string::npos) << why.message;
}

TEST_F(KeyFolderTest, DamageIsSaid) {
  const auto file = add(gpu1);
  const auto whole = read(file);
  const auto load = [&](const std::string& bytes) {
    write(file, bytes);
    const auto loaded = load_credentials(file, key_role::trainer, now);
    return loaded ? "" : loaded.failure().message;
  };
  EXPECT_EQ(load("# of the cluster\n" + whole), "");
  // Every end but that of the last line, which nobody misses.
  for (std::size_t size = 0; size + 1 < whole.size(); size += 97)
    EXPECT_NE(load(whole.substr(0, size)), "") << size;
  for (std::size_t i = 0; i + 1 < whole.size(); i += 5) {
    auto damaged = whole;
    damaged[i] = '!';
    EXPECT_NE(load(damaged), "") << i;
  }
  const auto second = load(whole + whole);
  EXPECT_NE(second.find("a PRIVATE KEY too many"), std::string::npos) << second;
  const auto third = load(whole + read(path("keys/authority/client.crt")));
  EXPECT_NE(third.find("should hold 2 certificates, and holds 3"),
            std::string::npos)
    << third;
  const auto long_one = load(std::string(private_file_bytes_max + 1, 'x'));
  EXPECT_NE(long_one.find("more than 65536 bytes"), std::string::npos)
    << long_one;
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(failure_of(load_credentials(file, key_role::trainer, now)).code,
            errc::invalid_argument);
}

TEST_F(KeyFolderTest, AMixtureOfFilesIsSaid) {
  const auto other = load_credentials(add(ada), key_role::client, now);
  const auto file = add(gpu1);
  const auto own = load_credentials(file, key_role::trainer, now);
  write(file, other->key + own->certificate + own->authorities);
  const auto why = failure_of(load_credentials(file, key_role::trainer, now));
  EXPECT_EQ(why.code, errc::invalid_argument);
  EXPECT_NE(why.message.find("not of each other"), std::string::npos)
    << why.message;

  const auto service = read(path("keys/service.pem"));
  write(path("keys/service.pem"),
        other->key + service.substr(service.find("-----BEGIN CERT")));
  EXPECT_EQ(failure_of(keys().serving(all_peers, now)).code,
            errc::invalid_argument);
  (void)folder("others", now);
  fs::copy_file(path("others/service.pem"), path("keys/service.pem"),
                fs::copy_options::overwrite_existing);
  const auto foreign = failure_of(keys().serving(all_peers, now));
  EXPECT_EQ(foreign.code, errc::not_allowed);
  EXPECT_NE(foreign.message.find("is not of "), std::string::npos)
    << foreign.message;
}

TEST_F(KeyFolderTest, AListShowsWhatIsBroken) {
  // One character of the signature, which is the end of a certificate.
  const auto file = add(gpu1);
  auto bytes = read(file);
  auto& last = bytes[bytes.find("\n-----END CERT") - 8];
  last = last == 'A' ? 'B' : 'A';
  write(file, bytes);
  (void)add(ada);
  write(path("keys/ada.pem"), "x");
  const auto entries = *keys().list(now);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_FALSE(entries[1].certificate);
  EXPECT_NE(entries[1].problem.find("ada.pem"), std::string::npos);
  EXPECT_TRUE(entries[2].certificate);
  EXPECT_NE(entries[2].problem.find("is not of "), std::string::npos)
    << entries[2].problem;
}

} // namespace
} // namespace hippo
