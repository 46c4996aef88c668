#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "hippo/base/error.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/base/number.hpp"

namespace hippo {
namespace {

TEST(Number, CanonicalJoinsWhatTwoFormulasGive) {
  EXPECT_NE(0.1 * 0.1, 0.01);
  EXPECT_EQ(canonical(0.1 * 0.1), 0.01);
  EXPECT_EQ(canonical(0.1 + 0.2), 0.3);
  EXPECT_NE(canonical(0.1), canonical(0.1 + 1e-11)); // 11 digits differ
}

TEST(Number, CanonicalIsIdempotentAndKeepsWhatIsNotFinite) {
  for (double x : {1.0 / 3, 1e-300, -2.0 / 7e5, 123456789.123456})
    EXPECT_EQ(canonical(canonical(x)), canonical(x));
  EXPECT_TRUE(std::isnan(canonical(std::nan(""))));
  EXPECT_EQ(canonical(-INFINITY), -INFINITY);
  EXPECT_FALSE(std::signbit(canonical(-0.0)));
}

TEST(Number, CanonicalIsTheTextOfTwelveDigits) {
  std::mt19937_64 random{1};
  const auto check = [](double x) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.11e", x);
    EXPECT_EQ(canonical(x), std::strtod(text.data(), nullptr)) << text.data();
  };
  for (double x : {1e12 - 1, 1e12 - 0.5, 1e12, 1e12 + 1, 9999999999995.0,
                   999999999999.5, 1e15 + 3, 9007199254740993.0})
    for (const double sign : {1.0, -1.0})
      check(sign * x);
  for (int i = 0; i < 10'000; ++i) {
    const auto bits = random();
    const auto whole = static_cast<double>(bits >> (i % 60));
    check(whole);
    check(std::ldexp(whole, -static_cast<int>(bits % 64)));
    // Decimal numbers of 1 to 15 digits.
    const auto digits = bits % static_cast<std::uint64_t>(
      std::pow(10, 1 + i % 15));
    check(std::strtod((std::to_string(digits) + "e-" + std::to_string(i % 23))
                        .c_str(), nullptr));
    check(-static_cast<double>(digits) / 1e7);
  }
}

TEST(Number, TextReadsBackExactly) {
  EXPECT_EQ(to_text(64.0), "64");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(1e-5), "1e-05");
  EXPECT_EQ(to_text(-0.0), "0");
  for (double x : {1.0 / 3, 1e300, 5e-324, 0.30000000000000004})
    EXPECT_EQ(std::strtod(to_text(x).c_str(), nullptr), x);
}

TEST(Nearest, FindsMisspellingsOnly) {
  const std::vector<std::string> known{"constant", "multistep", "cosine"};
  EXPECT_EQ(nearest("multstep", known), "multistep");
  EXPECT_EQ(nearest("cosin", known), "cosine");
  EXPECT_EQ(nearest("banana", known), "");
  EXPECT_EQ(did_you_mean("contant", known), ", did you mean 'constant'?");
}

TEST(Hash, IsTheSameOnEveryMachine) {
  // XXH3 of the empty input, from the algorithm's specification.
  EXPECT_EQ(hash_text(""), "2d06800538d394c2");
  EXPECT_NE(hash_text("a"), hash_text("b"));
}

TEST(Hash, OfPartsIsThatOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 3000; ++i)
    bytes += static_cast<char>(i * 7);
  for (const std::size_t part : {1, 7, 256, 1000, 3000}) {
    byte_hasher x;
    for (std::size_t at = 0; at < bytes.size(); at += part)
      x.add(bytes.data() + at, std::min(part, bytes.size() - at));
    EXPECT_EQ(x.digest(), hash_bytes(bytes.data(), bytes.size())) << part;
  }
  EXPECT_EQ(byte_hasher{}.digest(), hash_bytes("", 0));
}

TEST(Error, EveryCodeHasAName) {
  for (int i = 1; i <= static_cast<int>(errc::not_allowed); ++i)
    EXPECT_STRNE(to_string(static_cast<errc>(i)), "invalid_errc") << i;
}

} // namespace
} // namespace hippo
