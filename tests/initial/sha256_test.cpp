#include "hippo/model/code/sha256.hpp"

#include <cstring>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace hippo {
namespace {

// The examples of FIPS 180-4.
constexpr auto abc_digest =
  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr auto empty_digest =
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), abc_digest);
  EXPECT_EQ(sha256_of(""), empty_digest);
}

TEST(Sha256, PartsAreAsTheWhole) {
  sha256_hasher hasher;
  for (const auto* part : {"a", "", "bc"})
    hasher.add(part, std::strlen(part));
  auto moved = std::move(hasher);
  EXPECT_EQ(moved.digest(), abc_digest);
}

TEST(Sha256, FormOfADigest) {
  EXPECT_TRUE(is_sha256(abc_digest));
  EXPECT_FALSE(is_sha256(""));
  EXPECT_FALSE(is_sha256(std::string(63, 'a')));
  EXPECT_FALSE(is_sha256(std::string(65, 'a')));
  for (const auto odd : {'A', '/', 'g', '\0'}) {
    std::string text(64, 'a');
    text[63] = odd;
    EXPECT_FALSE(is_sha256(text)) << odd;
  }
}

} // namespace
} // namespace hippo
