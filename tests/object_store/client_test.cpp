#include "hippo/checkpoint/object_store/object_client.hpp"

#include <algorithm>
#include <future>

#include <gtest/gtest.h>

#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/object_store/object_checkpoints.hpp"
#include "hippo/checkpoint/object_store/object_remover.hpp"
#include "object_store/scripted_http.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

http_answer failure(long status, const std::string& code) {
  return {status, "", {},
          "<Error><Code>" + code
            + "</Code><Message>a &lt;b&gt; &amp;c</Message></Error>"};
}

TEST(ObjectAnswers, AreJudged) {
  const std::pair<http_answer, verdict> cases[] = {
    {{0, "reset", {}, {}}, verdict::again},
    {{200, "", {}, {}}, verdict::done},
    {{204, "", {}, {}}, verdict::done},
    {{206, "", {}, "<Error>"}, verdict::done},
    {failure(200, "InternalError"), verdict::again},
    {failure(404, "NoSuchKey"), verdict::missing},
    {{404, "", {}, {}}, verdict::missing},
    {failure(404, "NoSuchBucket"), verdict::refused},
    {failure(400, "InvalidRequest"), verdict::refused},
    {failure(400, "RequestTimeout"), verdict::again},
    {failure(400, "ExpiredToken"), verdict::renew},
    {failure(403, "SignatureDoesNotMatch"), verdict::renew},
    {{401, "", {}, {}}, verdict::renew},
    {{301, "", {}, {}}, verdict::refused},
    {{429, "", {}, {}}, verdict::again},
    {failure(503, "SlowDown"), verdict::again},
    {{500, "", {}, {}}, verdict::again},
    {{418, "", {}, {}}, verdict::refused}};
  for (const auto& [answer, expected] : cases)
    EXPECT_EQ(judge(answer), expected) << describe(answer);
}

TEST(ObjectAnswers, SayWhatIsWrongInOneLine) {
  EXPECT_EQ(describe(failure(403, "AccessDenied")),
            "status 403, AccessDenied, a <b> &c");
  EXPECT_EQ(describe({0, "reset", {}, {}}), "reset");
  EXPECT_NE(describe({301, "", {}, {}}).find("--s3-region"), std::string::npos);
  EXPECT_LT(describe(failure(500, std::string(100'000, 'x'))).size(), 2000u);
}

TEST(ObjectAnswers, OfDamagedTextHaveNothing) {
  EXPECT_EQ(texts_of("<K>a</K><K/><K>b</K>", "K"),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(texts_of("<K>a", "K").empty());
  EXPECT_TRUE(texts_of("</K><K>", "K").empty());
  EXPECT_TRUE(texts_of("", "K").empty());
  const std::string whole = "<K>a&lt;</K><K>b</K>";
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_LE(texts_of(whole.substr(0, i), "K").size(), 1u);
}

TEST(ObjectAnswers, QueriesAreEncodedAsSignaturesWantThem) {
  EXPECT_EQ(encode_query("aZ0-_.~/ +=&\xc3\xa4"),
            "aZ0-_.~%2F%20%2B%3D%26%C3%A4");
}

class ObjectClient : public ::testing::Test {
protected:
  scripted_http* net = new scripted_http; // the client's
  std::vector<std::chrono::milliseconds> pauses;
  std::map<std::string, std::string> variables{
    {"AWS_ACCESS_KEY_ID", "A"}, {"AWS_SECRET_ACCESS_KEY", "hush"}};
  object_client client{
    {false, "r", "h", "b", "p"},
    [] {
      object_client_options result;
      result.part_bytes = 4;
      return result;
    }(),
    {std::unique_ptr<http>{net},
     [this](const std::string& name) -> std::optional<std::string> {
       const auto i = variables.find(name);
       return i == variables.end() ? std::nullopt : std::optional{i->second};
     },
     [] { return 0; },
     [this](std::chrono::milliseconds x) { pauses.push_back(x); }}};
};

TEST_F(ObjectClient, SignsWhatItSendsWithItsDigest) {
  net->answers = {ok("")};
  EXPECT_FALSE(client.put("n", memory_source{"abc"}));
  ASSERT_EQ(net->asked.size(), 1u);
  const auto& x = net->asked[0];
  EXPECT_EQ(x.method, "PUT");
  EXPECT_EQ(x.url, "http://h/b/p/n");
  EXPECT_EQ(net->bodies[0], "abc");
  EXPECT_EQ(x.sign->region, "r");
  EXPECT_EQ(x.sign->id, "A");
  EXPECT_EQ(x.sign->secret, "hush");
  EXPECT_EQ(x.headers.back(),
            "x-amz-content-sha256: ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
}

TEST_F(ObjectClient, TriesAgainWhatMayPassAndWaitsLongerEachTime) {
  net->answers = {failure(503, "SlowDown"), {0, "reset", {}, {}},
                  {500, "", {}, {}}, ok("x")};
  const auto x = client.get_range("n", 0, 10);
  ASSERT_TRUE(x);
  EXPECT_EQ(**x, "x");
  ASSERT_EQ(pauses.size(), 3u);
  EXPECT_LT(pauses[0], pauses[1]);
  EXPECT_LT(pauses[1], pauses[2]);
}

TEST_F(ObjectClient, GivesUpInTheEnd) {
  const auto x = client.get_range("n", 0, 10);
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().code, errc::io_failed);
  EXPECT_EQ(x.failure().message, "cannot read p/n: tried 6 times: no route");
  EXPECT_EQ(net->asked.size(), 6u);
  std::chrono::milliseconds sum{};
  for (const auto pause : pauses)
    sum += pause;
  EXPECT_LT(sum, 30s);
}

TEST_F(ObjectClient, IsRefusedOnceWithOldCredentialsAndOnceWithNew) {
  net->answers = {failure(403, "InvalidAccessKeyId"), ok("x")};
  ASSERT_TRUE(
    client.get_range("n", 0, 10)); // somebody has renewed them meanwhile
  net->asked.clear();
  net->answers = {failure(403, "SignatureDoesNotMatch"),
                  failure(403, "SignatureDoesNotMatch"), ok("x")};
  const auto x = client.get_range("n", 0, 10);
  ASSERT_FALSE(x);
  EXPECT_EQ(net->asked.size(), 2u);
  EXPECT_NE(x.failure().message.find("SignatureDoesNotMatch"),
            std::string::npos);
  EXPECT_EQ(x.failure().message.find("hush"), std::string::npos);
  EXPECT_TRUE(pauses.empty());
}

TEST_F(ObjectClient, TakesNewCredentialsWithoutANewStart) {
  net->answers = {ok("")};
  EXPECT_FALSE(client.remove("n"));
  variables["AWS_ACCESS_KEY_ID"] = "B";
  net->answers = {failure(403, "ExpiredToken"), ok("")};
  EXPECT_FALSE(client.remove("n"));
  EXPECT_EQ(net->asked.back().sign->id, "B");
}

TEST_F(ObjectClient, AsksNobodyWithoutCredentials) {
  variables = {{"AWS_EC2_METADATA_DISABLED", "true"}};
  const auto x = client.put("n", memory_source{"abc"});
  ASSERT_TRUE(x);
  EXPECT_EQ(x->code, errc::io_failed);
  EXPECT_TRUE(net->asked.empty());
}

TEST_F(ObjectClient, ReadsAPart) {
  net->answers = {{206, "", {}, "abc"}};
  const auto part = client.get_range("n", 7, 3);
  ASSERT_TRUE(part) << part.failure().message;
  EXPECT_EQ(**part, "abc");
  ASSERT_EQ(net->asked.size(), 1u);
  const auto& headers = net->asked[0].headers;
  EXPECT_NE(std::ranges::find(headers, "range: bytes=7-9"), headers.end());
  net->answers = {{206, "", {}, "ab"}};
  EXPECT_EQ(**client.get_range("n", 7, 3), "ab") << "it ends there";
  net->answers = {{416, "", {}, "<Error/>"}};
  EXPECT_EQ(**client.get_range("n", 7, 3), "") << "it ends before";
  net->answers = {{206, "", {}, "abcd"}};
  EXPECT_EQ(client.get_range("n", 7, 3).failure().code, errc::io_failed);
  net->answers = {{404, "", {}, {}}};
  EXPECT_FALSE(client.get_range("n", 7, 3)->has_value());
}

TEST_F(ObjectClient, UploadsLargeOnesInParts) {
  const auto part = [](const char* tag) {
    return http_answer{200, "", {{"etag", tag}}, {}};
  };
  net->answers = {ok("<UploadId>u/1</UploadId>"), part("\"1\""), part("\"2\""),
                  {503, "", {}, {}}, part("\"3\""), ok("<Done/>")};
  EXPECT_FALSE(client.put("n", memory_source{"0123456789"}));
  ASSERT_EQ(net->asked.size(), 6u);
  EXPECT_EQ(net->asked[0].url, "http://h/b/p/n?uploads=");
  EXPECT_EQ(net->asked[1].url, "http://h/b/p/n?partNumber=1&uploadId=u%2F1");
  EXPECT_EQ(net->bodies[1], "0123");
  EXPECT_EQ(net->asked[4].url, "http://h/b/p/n?partNumber=3&uploadId=u%2F1");
  EXPECT_EQ(net->bodies[4], "89");
  EXPECT_EQ(net->asked[5].url, "http://h/b/p/n?uploadId=u%2F1");
}

TEST_F(ObjectClient, LeavesNoPartsBehindWhenOneFails) {
  net->answers = {ok("<UploadId>u</UploadId>"),
                  {200, "", {{"etag", "1"}}, {}}, failure(400, "Bad"), ok("")};
  const auto why = client.put("n", memory_source{"0123456789"});
  ASSERT_TRUE(why);
  EXPECT_NE(why->message.find("Bad"), std::string::npos);
  EXPECT_EQ(net->asked.back().method, "DELETE");
  EXPECT_EQ(net->asked.back().url, "http://h/b/p/n?uploadId=u");
}

TEST_F(ObjectClient, FailsIfPartsAreNotPutTogether) {
  net->answers = {ok("<UploadId>u</UploadId>"),
                  {200, "", {{"etag", "1"}}, {}},
                  {200, "", {{"etag", "2"}}, {}}};
  for (int i = 0; i < 6; ++i) // 200, and then it went wrong
    net->answers.push_back(failure(200, "InternalError"));
  EXPECT_TRUE(client.put("n", memory_source{"01234567"}));
}

TEST_F(ObjectClient, ListsPageAfterPage) {
  net->answers
    = {ok("<Contents><Key>p/k/a</Key><Size>3</Size><LastModified>1970-01-01T"
          "00:00:07Z</LastModified></Contents><NextContinuationToken>t+1"
          "</NextContinuationToken>"),
       ok("<Contents><Key>p/k/b</Key><Size>4</Size></Contents>")};
  const auto found = client.list("k/");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].key, "p/k/a");
  EXPECT_EQ((*found)[0].bytes, 3u);
  EXPECT_EQ((*found)[0].changed, 7);
  EXPECT_EQ((*found)[1].key, "p/k/b");
  EXPECT_FALSE((*found)[1].changed);
  EXPECT_EQ(net->asked[0].url, "http://h/b?list-type=2&prefix=p%2Fk%2F");
  EXPECT_EQ(net->asked[1].url,
            "http://h/b?continuation-token=t%2B1&list-type=2&prefix=p%2Fk%2F");
}

/// What lies behind the object store.
struct folder_behind final : checkpoint_store {
  int& reads;
  explicit folder_behind(int& x) : reads(x) {}
  std::optional<error> read(const checkpoint&, const byte_taker&) override {
    ++reads;
    return error{errc::bad_checkpoint, "missing there, too"};
  }
  std::optional<error> read_range(const checkpoint&, std::uint64_t,
                                  std::uint64_t, const byte_taker&) override {
    ++reads;
    return error{errc::bad_checkpoint, "missing there, too"};
  }
  expected<checkpoint> write(const std::string&, const content_source&,
                             durability) override {
    return {errc::io_failed, "nobody writes here"};
  }
  expected<std::string> find_initial(const initial_file& file) override {
    return "behind/" + file.sha256;
  }
};

class ObjectCheckpoints : public ObjectClient {
protected:
  int reads_behind = 0;
  object_checkpoints store{client, client, "key",
                           std::make_unique<folder_behind>(reads_behind)};
};

TEST_F(ObjectCheckpoints, HaveTheirDigestInTheirNames) {
  net->answers = {ok("")};
  const auto x = store.write("c.ckpt", memory_source{"abc"});
  ASSERT_TRUE(x);
  EXPECT_EQ(*x, (checkpoint{"c.ckpt", 3, hash_bytes("abc", 3)}));
  const auto url = net->asked[0].url;
  net->answers = {ok("abc")};
  EXPECT_EQ(*read_whole(store, *x), "abc");
  EXPECT_EQ(net->asked[1].url, url);
  EXPECT_EQ(url.find("http://h/b/p/key/c.ckpt."), 0u);
  net->answers = {ok("")};
  ASSERT_TRUE(store.write("c.ckpt", memory_source{"abd"}));
  EXPECT_NE(net->asked[2].url, url);
}

TEST_F(ObjectCheckpoints, OfNoNameAreRefused) {
  for (const char* name : {"", "../a", ".a", "a/b"})
    EXPECT_EQ(store.write(name, memory_source{"abc"}).failure().code,
              errc::invalid_argument);
  EXPECT_TRUE(net->asked.empty());
}

TEST_F(ObjectCheckpoints, AreReadAgainIfDamagedAndGivenUpIfStillSo) {
  const checkpoint x{"c.ckpt", 3, hash_bytes("abc", 3)};
  net->answers = {ok("abd"), ok("abc")};
  EXPECT_EQ(*read_whole(store, x), "abc");
  net->answers = {ok("ab"), ok("abd")};
  EXPECT_EQ(read_whole(store, x).failure().code, errc::bad_checkpoint);
  EXPECT_EQ(reads_behind, 0);
}

TEST_F(ObjectCheckpoints, ThatAreMissingAreLookedForBehind) {
  const checkpoint x{"c.ckpt", 3, hash_bytes("abc", 3)};
  net->answers = {{404, "", {}, {}}};
  EXPECT_EQ(read_whole(store, x).failure().code, errc::bad_checkpoint);
  EXPECT_EQ(reads_behind, 1);
}

TEST_F(ObjectCheckpoints, InitialStatesLieBehind) {
  EXPECT_EQ(*store.find_initial({"digest", 1}), "behind/digest");
}

TEST_F(ObjectCheckpoints, AreAllThatIsAskedFor) {
  EXPECT_FALSE(read_whole(store, {"code.json", 3, hash_bytes("abc", 3)}));
  EXPECT_EQ(reads_behind, 1);
  EXPECT_TRUE(net->asked.empty());
}

TEST_F(ObjectCheckpoints, OfAStoreInTroubleAreNotTakenForMissing) {
  const checkpoint x{"c.ckpt", 3, hash_bytes("abc", 3)};
  EXPECT_EQ(read_whole(store, x).failure().code, errc::io_failed);
  net->answers = {failure(404, "NoSuchBucket")};
  EXPECT_EQ(read_whole(store, x).failure().code, errc::io_failed);
  EXPECT_EQ(reads_behind, 0);
}

TEST(ObjectRemover, DeletesInOrderWithoutAnybodyWaiting) {
  std::vector<std::string> deleted;
  std::promise<void> go;
  const auto may_go = go.get_future().share();
  {
    object_remover x{[&](const std::string& name) -> std::optional<error> {
                       may_go.wait();
                       deleted.push_back(name);
                       return std::nullopt;
                     },
                     [](const std::string&) {}};
    for (const char* name : {"a", "b", "c"})
      x.remove(name);
    go.set_value();
  }
  EXPECT_EQ(deleted, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(ObjectRemover, TriesAgainAndEndsAllTheSame) {
  std::promise<void> failed;
  std::vector<std::string> complaints;
  int tries = 0;
  {
    object_remover x{[&](const std::string&) -> std::optional<error> {
                       if (++tries == 1)
                         return error{errc::io_failed, "down"};
                       if (tries == 2)
                         failed.set_value();
                       return error{errc::io_failed, "still"};
                     },
                     [&](const std::string& why) {
                       complaints.push_back(why);
                     }};
    x.remove("a");
    failed.get_future().wait();
  } // it waits for nothing
  EXPECT_GE(tries, 2);
  EXPECT_EQ(complaints.front(), "down");
}

} // namespace

} // namespace hippo
