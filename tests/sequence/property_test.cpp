// What canonical forms promise, put to the test on random sequences of all
// families: they tell as much as the values do, at every step.

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/sequence/family.hpp"
#include "sequence/random_sequences.hpp"

namespace hippo {
namespace {

/// Longer than the longest way to the end of most horizons.
constexpr step_t range = 30;

/// What code is given at a step.
using given = std::pair<scalar, value_type>;

struct sample {
  nlohmann::ordered_json text;
  std::vector<given> values;
  std::vector<form> forms;
};

/// Makes some of the values whole, and writes some of these without a point.
void take_points(nlohmann::ordered_json& x, std::mt19937& random) {
  if (x.is_structured())
    for (auto& part : x)
      take_points(part, random);
  if (x == 0.37)
    x = 1.0;
  else if (x == 0.03)
    x = 10.0;
  if (x.is_number_float() && x == std::trunc(x.get<double>())
           && random() % 2 == 0)
    x = static_cast<std::int64_t>(x.get<double>());
}

std::vector<sample> samples(unsigned seed, int count, bool typed) {
  test::random_sequences random{seed, range};
  std::mt19937 points{seed};
  const auto results = random.results();
  std::vector<sample> all;
  for (int i = 0; i < count; ++i) {
    auto& x = all.emplace_back();
    x.text = random.next();
    if (typed)
      take_points(x.text, points);
    const auto made = make_sequence(x.text, range, results, typed);
    EXPECT_TRUE(made.errors.empty())
      << x.text << ": " << made.errors[0].message;
    for (step_t t = 0; t < range; ++t) {
      x.forms.push_back(made.value.form_at(t));
      x.values.emplace_back(made.value.at(t), x.forms.back().type);
    }
  }
  return all;
}

template <class T>
step_t common_prefix(const std::vector<T>& x, const std::vector<T>& y) {
  return static_cast<step_t>(
    std::mismatch(x.begin(), x.end(), y.begin()).first - x.begin());
}

std::string shown(const sample& x) {
  std::string result = x.text.dump() + "\n ";
  for (step_t t = 0; t < range; ++t)
    if (t == 0 || x.forms[t] != x.forms[t - 1])
      result += ' ' + std::to_string(t) + ": " + to_text(x.forms[t]);
  return result;
}

class CanonicalProperty : public testing::TestWithParam<unsigned> {};

void expect_forms_agree_as_values_do(const std::vector<sample>& all) {
  int equal = 0;
  int part = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto by_forms = common_prefix(all[i].forms, all[j].forms);
      const auto by_values = common_prefix(all[i].values, all[j].values);
      ASSERT_EQ(by_forms, by_values)
        << shown(all[i]) << "\n" << shown(all[j]);
      equal += by_values == range && all[i].text != all[j].text;
      part += by_values > 2 && by_values < range;
    }
  EXPECT_GT(equal, 50); // the property has been put to the test
  EXPECT_GT(part, 500);
}

TEST_P(CanonicalProperty, FormsAgreeAsLongAsValuesDo) {
  expect_forms_agree_as_values_do(samples(GetParam(), 400, false));
}

TEST_P(CanonicalProperty, FormsAgreeAsLongAsTypedValuesDo) {
  expect_forms_agree_as_values_do(samples(GetParam(), 400, true));
}

TEST_P(CanonicalProperty, APrefixDoesNotDependOnTheLastStep) {
  test::random_sequences random{GetParam(), range};
  for (int i = 0; i < 300; ++i) {
    const auto text = random.next();
    const auto longer = make_sequence(text, range).value;
    for (step_t max = 1; max < range; ++max) {
      const auto shorter = make_sequence(text, max).value;
      ASSERT_LT(shorter.pieces().back().begin, max);
      for (step_t t = 0; t < max; ++t)
        ASSERT_EQ(shorter.form_at(t), longer.form_at(t)) << text << max;
    }
  }
}

TEST_P(CanonicalProperty, APrefixDoesNotDependOnLaterResults) {
  test::random_sequences random{GetParam(), range};
  int responsive = 0;
  int changed = 0;
  for (int i = 0; i < 600; ++i) {
    const auto text = random.next();
    const auto all = random.results();
    const auto whole = make_sequence(text, range, all);
    responsive += whole.responsive;
    changed += whole.value != make_sequence(text, range).value;
    for (std::size_t n = 0; n < all.values.size(); ++n) {
      auto some = all;
      some.values.resize(n);
      const auto early = make_sequence(text, range, some);
      EXPECT_EQ(early.responsive, whole.responsive);
      // The value at step t is used on the way from state t on.
      for (step_t t = 0; t < all.values[n].at; ++t)
        ASSERT_EQ(early.value.form_at(t), whole.value.form_at(t)) << text;
    }
  }
  EXPECT_GT(changed, 10);
  EXPECT_GE(responsive, changed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CanonicalProperty, testing::Range(1u, 11u));

} // namespace
} // namespace hippo
