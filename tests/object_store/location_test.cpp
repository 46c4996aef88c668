#include "hippo/checkpoint/object_store/location.hpp"

#include <gtest/gtest.h>

#include "hippo/model/checkpoint_path.hpp"

namespace hippo {

namespace {

TEST(ObjectLocation, IsReadFromWhatPeopleWrite) {
  const auto x = parse_s3_url("s3://models/a/b.c/", "http://10.0.0.5:9000/",
                              "eu-central-1");
  ASSERT_TRUE(x);
  EXPECT_EQ(*x, (object_location{false, "eu-central-1", "10.0.0.5:9000",
                                 "models", "a/b.c"}));
  EXPECT_EQ(url_of(*x, key_of(*x, "k/n")),
            "http://10.0.0.5:9000/models/a/b.c/k/n");
  EXPECT_EQ(url_of(*x, ""), "http://10.0.0.5:9000/models");
}

TEST(ObjectLocation, IsAmazonsUnlessSomebodySaysOtherwise) {
  const auto x = parse_s3_url("s3://models", "", "");
  ASSERT_TRUE(x);
  EXPECT_EQ(url_of(*x, key_of(*x, "n")),
            "https://s3.us-east-1.amazonaws.com/models/n");
}

TEST(ObjectLocation, RefusesWhatTwoProgramsMightEncodeDifferently) {
  for (const char* url :
       {"", "s3:/a", "https://a/b", "s3://", "s3:///b", "s3://a//b", "s3://a/b c",
        "s3://a/../b", "s3://a/b?c", "s3://a/b%20c", "s3://a/\xc3\xa4",
        "s3://a@b/c", "s3://./b"})
    EXPECT_FALSE(parse_s3_url(url, "", "")) << url;
  for (const char* endpoint : {"10.0.0.5:9000", "ftp://a", "https://",
                               "https://a/b", "https://u:p@a", "http://a?b"})
    EXPECT_FALSE(parse_s3_url("s3://a/b", endpoint, "")) << endpoint;
  EXPECT_FALSE(parse_s3_url("s3://a/b", "", "eu central"));
  EXPECT_FALSE(parse_s3_url("s3://a/" + std::string(701, 'b'), "", ""));
  EXPECT_TRUE(parse_s3_url("s3://a/" + std::string(700, 'b'), "", ""));
}

TEST(ObjectLocation, IsTheSameAfterItHasTravelled) {
  for (const char* prefix : {"", "/a", "/a/b.c/d-e_f"})
    for (const char* endpoint :
         {"", "http://127.0.0.1:1", "https://[::1]:8443", "https://minio"}) {
      const auto x = parse_s3_url(std::string{"s3://b.k"} + prefix, endpoint,
                                  "eu-north-1");
      ASSERT_TRUE(x) << prefix << endpoint;
      const auto text = to_text(*x);
      EXPECT_TRUE(is_in_object_store(text)) << text;
      const auto y = parse_location(text);
      ASSERT_TRUE(y) << text << ": " << y.failure().message;
      EXPECT_EQ(*x, *y) << text;
    }
}

TEST(ObjectLocation, TravelsInNoOtherForm) {
  for (const char* text :
       {"", "/data/a", "s3://a/b", "s3+https://host/b", "s3+https://r@host",
        "s3+https://r@/b", "s3+https://@h/b", "s3+ftp://r@h/b",
        "s3+https://r@h/", "s3+https://r@h/b/", "s3+https://r@h/b//c",
        "s3+https://h/b@r", "s3+http://r@h/b/../c"})
    EXPECT_FALSE(parse_location(text)) << text;
}

TEST(CheckpointPath, HasTheDigestInAnObjectStoreOnly) {
  const checkpoint x{"n1-s2-l3.ckpt", 10, 0xabc};
  EXPECT_EQ(checkpoint_path("/data/k", x), "/data/k/n1-s2-l3.ckpt");
  EXPECT_EQ(checkpoint_path("s3+https://r@h/b/k", x),
            "s3+https://r@h/b/k/n1-s2-l3.ckpt.0000000000000abc");
}

} // namespace

} // namespace hippo
