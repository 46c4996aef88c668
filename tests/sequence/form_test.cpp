#include "hippo/sequence/form.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"

namespace hippo {
namespace {

form make(form_kind kind, step_t origin, std::array<double, 5> a) {
  form result;
  result.kind = kind;
  result.origin = origin;
  result.a = a;
  return result;
}

double number(const form& x, step_t at) {
  return std::get<double>(x.at(at));
}

TEST(Form, ConstantIsRoundedWhenMade) {
  EXPECT_EQ(number(form::constant(0.1 * 0.1), 7), 0.01);
  EXPECT_EQ(form::constant(-0.0), form::constant(0));
}

TEST(Form, ExponentialCountsFromItsOrigin) {
  const auto x = make(form_kind::exponential, 4, {0.1, 0.5, 0, 0});
  EXPECT_EQ(number(x, 4), 0.1);
  EXPECT_EQ(number(x, 5), 0.05);
  EXPECT_EQ(number(x, 7), 0.0125);
}

TEST(Form, PolynomialGoesFromEndToEndAndStays) {
  const auto line = make(form_kind::polynomial, 2, {0.1, 0.5, 4, 1});
  EXPECT_EQ(number(line, 2), 0.1);
  EXPECT_EQ(number(line, 3), 0.2);
  EXPECT_EQ(number(line, 6), 0.5);
  EXPECT_EQ(number(line, 100), 0.5);
  const auto square = make(form_kind::polynomial, 0, {1, 0, 4, 2});
  EXPECT_EQ(number(square, 1), 0.5625);
  EXPECT_EQ(number(square, 3), 0.0625);
}

TEST(Form, CosineIsHalfAWave) {
  const auto x = make(form_kind::cosine, 0, {1, 0, 3, 0});
  EXPECT_EQ(number(x, 0), 1);
  EXPECT_EQ(number(x, 1), 0.75);
  EXPECT_EQ(number(x, 2), 0.25);
  EXPECT_EQ(number(x, 3), 0);
  EXPECT_EQ(number(x, 6), 0); // where the wave would be up again
}

TEST(Form, RexFallsFastAtItsEnd) {
  const auto x = make(form_kind::rex, 5, {0.6, 0.1, 4, 0.5});
  EXPECT_EQ(number(x, 5), 0.6);
  EXPECT_EQ(number(x, 7), 0.433333333333);
  EXPECT_EQ(number(x, 9), 0.1);
  EXPECT_EQ(number(x, 90), 0.1);
}

TEST(Form, AFadingRampGoesUpOrDown) {
  const auto up = make(form_kind::fading_ramp, 1, {1, 3, 0.5, 2, 4});
  EXPECT_EQ(number(up, 3), 1);
  EXPECT_EQ(number(up, 4), 1.125);
  EXPECT_EQ(number(up, 5), 1.125);
  EXPECT_EQ(number(up, 50), 1.125);
  const auto down = make(form_kind::fading_ramp, 0, {1, 3, 0.5, 4, 2});
  EXPECT_EQ(number(down, 2), 1.5);
  EXPECT_EQ(number(down, 3), 1.125);
  EXPECT_EQ(number(down, 4), 1);
  EXPECT_FALSE(up.is_monotone());
}

TEST(Form, ASquareRootFallsFastFirst) {
  const auto x = make(form_kind::square_root, 5, {0.6, 0.1, 4});
  EXPECT_EQ(number(x, 5), 0.6);
  EXPECT_EQ(number(x, 6), 0.35);
  EXPECT_EQ(number(x, 9), 0.1);
  EXPECT_EQ(number(x, 90), 0.1);
}

TEST(Form, AnInverseRootFallsWithoutEnd) {
  const auto x = make(form_kind::inverse_root, 5, {0.6, 4});
  EXPECT_EQ(number(x, 5), 0.6);
  EXPECT_EQ(number(x, 5 + 12), 0.3);
  EXPECT_EQ(number(x, 5 + 4 * 99), 0.06);
}

TEST(Form, EndsAfterItsLength) {
  constexpr auto never = std::numeric_limits<step_t>::max();
  EXPECT_EQ(form::constant(1).end(), never);
  EXPECT_EQ(form::text("sgd").end(), never);
  EXPECT_EQ(make(form_kind::exponential, 4, {1, 0.5}).end(), never);
  EXPECT_EQ(make(form_kind::line, 4, {1, 0.5, 7}).end(), never);
  EXPECT_EQ(make(form_kind::polynomial, 4, {1, 0, 7, 2}).end(), 12u);
  EXPECT_EQ(make(form_kind::cosine, 4, {1, 0, 7}).end(), 12u);
  EXPECT_EQ(make(form_kind::rex, 4, {1, 0, 7, 0.5}).end(), 12u);
  EXPECT_EQ(make(form_kind::square_root, 4, {1, 0, 7}).end(), 12u);
  EXPECT_EQ(make(form_kind::fading_ramp, 4, {1, 0, 0.5, 7, 3}).end(), 12u);
  EXPECT_EQ(make(form_kind::fading_ramp, 4, {1, 0, 0.5, 3, 7}).end(), 12u);
  EXPECT_EQ(make(form_kind::cosine, 4, {1, 0, 1e300}).end(), never);
}

TEST(Form, TellsItsValueBeforeRounding) {
  const auto x = make(form_kind::exponential, 0, {1, 0.7});
  EXPECT_EQ(x.exact_at(30), std::pow(0.7, 30));
  EXPECT_NE(x.exact_at(30), number(x, 30));
  EXPECT_EQ(form::constant(0.25).exact_at(9), 0.25);
}

TEST(Form, TextHasItsWord) {
  EXPECT_EQ(form::text("sgd").at(3), scalar{"sgd"});
}

TEST(Form, WritesItself) {
  EXPECT_EQ(to_text(form::constant(0.1)), "0.1");
  EXPECT_EQ(to_text(form::constant(64)), "64");
  EXPECT_EQ(to_text(form::text("sgd")), "sgd");
  EXPECT_EQ(to_text(make(form_kind::exponential, 4, {0.1, 0.9, 0, 0})),
            "exp(0.1,0.9)@4");
  EXPECT_EQ(to_text(make(form_kind::polynomial, 0, {0.01, 0.1, 5, 1})),
            "poly(0.01,0.1,5,1)@0");
  EXPECT_EQ(to_text(make(form_kind::cosine, 2, {0.1, 0.001, 12, 0})),
            "cos(0.1,0.001,12)@2");
  EXPECT_EQ(to_text(make(form_kind::line, 0, {0.1, -0.01, 1})),
            "line(0.1,-0.01,1)@0");
  EXPECT_EQ(to_text(make(form_kind::rex, 3, {0.1, 0, 80, 0.5})),
            "rex(0.1,0,80,0.5)@3");
  EXPECT_EQ(to_text(make(form_kind::fading_ramp, 0, {0, 1, 0.9, 5, 10})),
            "fade(0,1,0.9,5,10)@0");
  EXPECT_EQ(to_text(make(form_kind::square_root, 4, {0.1, 0, 20})),
            "sqrt(0.1,0,20)@4");
  EXPECT_EQ(to_text(make(form_kind::inverse_root, 4, {0.1, 100})),
            "rsqrt(0.1,100)@4");
}

TEST(Form, WordsCannotBeTakenForAnythingElse) {
  for (const char* word : {"0.1", "inf", "nan", "", "-1", "a;b", "a=b",
                           "exp(0.1,0.9)@4", "a b", "1e5"})
    EXPECT_EQ(to_text(form::text(word)), '"' + std::string(word) + '"');
  EXPECT_EQ(to_text(form::text("a\"b\\c")), R"("a\"b\\c")");
  EXPECT_EQ(to_text(form::text("adam-w_2.x")), "adam-w_2.x");
}

TEST(Form, ATypeIsAPartOfIt) {
  EXPECT_EQ(to_text(form::whole(64)), "int:64");
  EXPECT_EQ(to_text(form::truth(true)), "bool:1");
  EXPECT_EQ(to_text(form::json("[64,\"a\"]")), R"(json:"[64,\"a\"]")");
  EXPECT_EQ(shown_text(form::whole(64)), "64");
  EXPECT_EQ(shown_text(form::truth(false)), "false");
  EXPECT_EQ(shown_text(form::json("[64,\"a\"]")), R"([64,"a"])");
  auto doubling = make(form_kind::exponential, 2, {3, 2});
  doubling.type = value_type::whole;
  EXPECT_EQ(to_text(doubling), "int:exp(3,2)@2");
  EXPECT_EQ(shown_text(doubling), "exp(3,2)@2");
  EXPECT_EQ(doubling.plateau_at(4), form::whole(12));
  EXPECT_FALSE(form::whole(3).agrees_with(form::constant(3), 0));
  EXPECT_TRUE(form::whole(3).agrees_with(doubling, 2));
  // Whole numbers keep all their digits, as far as each is a double.
  EXPECT_EQ(number(form::whole(9007199254740991), 1), 9007199254740991.0);
  EXPECT_EQ(number(doubling, 2 + 51), 3.0 * std::pow(2, 51));
  EXPECT_EQ(number(doubling, 2 + 52), HUGE_VAL);
  EXPECT_EQ(number(doubling, 1'000'000'000), HUGE_VAL);
}

TEST(Form, WholeNumbersAreMultipliedExactly) {
  EXPECT_EQ(whole_power(7, 3, 0), 7);
  EXPECT_EQ(whole_power(7, 3, 4), 567);
  EXPECT_EQ(whole_power(-7, 3, 4), -567);
  EXPECT_EQ(whole_power(7, 0, 1), 0);
  EXPECT_EQ(whole_power(0, 9, 1'000'000'000'000), 0);
  EXPECT_EQ(whole_power(7, 1, 1'000'000'000'000), 7);
  EXPECT_EQ(whole_power(7, -1, 1'000'000'000'001), -7);
  EXPECT_EQ(whole_power(-7, 2, 1'000'000'000'000), -HUGE_VAL);
}

TEST(Form, EqualTextsIffEqualForms) {
  std::mt19937 random{7};
  const std::vector<double> numbers{0, 1, 2, 0.1, 1.0 / 3, 1e-9, 12, -1};
  const std::vector<std::string> words{"a", "0", "1", "\"", "\\", "a,1", "",
                                       "int:", "json:", "null"};
  const auto pick = [&](const auto& xs) { return xs[random() % xs.size()]; };
  std::map<std::string, form> seen;
  for (int i = 0; i < 20000; ++i) {
    const auto kind = static_cast<form_kind>(1 + random() % 10);
    form x;
    if (kind == form_kind::constant)
      x = form::constant(pick(numbers));
    else if (kind == form_kind::text)
      x = form::text(pick(words) + pick(words));
    else if (kind == form_kind::exponential || kind == form_kind::inverse_root)
      x = make(kind, random() % 3, {pick(numbers), pick(numbers), 0, 0});
    else if (kind == form_kind::cosine || kind == form_kind::line
             || kind == form_kind::square_root)
      x = make(kind, random() % 3,
               {pick(numbers), pick(numbers), pick(numbers), 0});
    else
      x = make(kind, random() % 3,
               {pick(numbers), pick(numbers), pick(numbers), pick(numbers),
                kind == form_kind::fading_ramp ? pick(numbers) : 0});
    // Of any kind, so that no text relies on which types a kind may have.
    x.type = static_cast<value_type>(random() % 4);
    const auto [it, is_new] = seen.emplace(to_text(x), x);
    EXPECT_EQ(it->second, x) << to_text(x);
  }
}

} // namespace
} // namespace hippo
