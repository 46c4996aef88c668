#include "hippo/sequence/configuration.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace hippo {
namespace {

form at(double x) {
  return form::constant(x);
}

sequence random_sequence(std::mt19937& random) {
  std::vector<piece> pieces;
  step_t begin = 0;
  for (auto n = 1 + random() % 6; n > 0; --n, begin += random() % 4) {
    auto shape = at(static_cast<double>(random() % 3));
    if (random() % 3 == 0) {
      shape.kind = form_kind::exponential;
      shape.origin = begin;
      shape.a = {1, 0.5, 0, 0};
    }
    pieces.push_back({begin, shape});
  }
  return sequence{std::move(pieces)};
}

TEST(Join, OfNothingIsOneEmptySegment) {
  const std::vector<segment> expected{{0, {}}};
  EXPECT_EQ(join({}, 5), expected);
}

TEST(Join, LeavesOutWhatBeginsAtTheEnd) {
  const std::map<std::string, sequence> xs{
    {"lr", sequence{{{0, at(1)}, {5, at(2)}}}}};
  EXPECT_EQ(join(xs, 5).size(), 1u);
  EXPECT_EQ(join(xs, 6).size(), 2u);
}

TEST(Join, IsWhatEveryStepSays) {
  std::mt19937 random{1};
  for (int round = 0; round < 3000; ++round) {
    std::map<std::string, sequence> xs;
    for (const char* name : {"batch_size", "lr", "momentum"})
      if (random() % 4 != 0)
        xs[name] = random_sequence(random);
    const step_t end = 1 + random() % 14;
    const auto joined = join(xs, end);
    ASSERT_EQ(joined.front().begin, 0u);
    std::size_t now = 0;
    for (step_t step = 0; step < end; ++step) {
      configuration expected;
      for (const auto& [name, x] : xs)
        expected[name] = x.form_at(step);
      if (now + 1 < joined.size() && joined[now + 1].begin == step) {
        ++now;
        EXPECT_NE(joined[now].config, joined[now - 1].config);
      }
      ASSERT_EQ(joined[now].config, expected) << round << " at " << step;
    }
    EXPECT_EQ(now + 1, joined.size());
  }
}

TEST(Configuration, StatesAreOneWhereAllBeforeThemIs) {
  std::mt19937 random{23};
  const step_t end = 12;
  std::vector<step_t> steps;
  for (step_t i = 1; i <= end; ++i)
    steps.push_back(i);
  for (int round = 0; round < 300; ++round) {
    const auto drawn = [&] {
      return std::map<std::string, sequence>{{"lr", random_sequence(random)}};
    };
    const auto x = drawn();
    // One that has its beginning in common with it, or none.
    const auto y = random() % 2 == 0 ? x : drawn();
    const auto of_x = states_at(join(x, end), steps);
    const auto of_y = states_at(join(y, end), steps);
    ASSERT_EQ(of_x.size(), steps.size());
    bool is_one = true;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      is_one = is_one
               && x.at("lr").form_at(steps[i] - 1)
                    == y.at("lr").form_at(steps[i] - 1);
      EXPECT_EQ(of_x[i] == of_y[i], is_one) << round << " at " << steps[i];
    }
  }
  EXPECT_EQ(states_at(join({}, end), {}), std::vector<std::uint64_t>{});
}

TEST(Configuration, WritesItself) {
  EXPECT_EQ(to_text(configuration{}), "");
  EXPECT_EQ(
    to_text(configuration{{"lr", at(0.1)}, {"optimizer", form::text("sgd")}}),
    "lr=0.1;optimizer=sgd");
}

TEST(Configuration, EqualTextsIffEqualConfigurations) {
  std::mt19937 random{3};
  const std::vector<std::string> words{"a", "b=1", "\"", ";", "a;b", "", "\\"};
  const auto pick = [&] { return words[random() % words.size()]; };
  std::map<std::string, configuration> seen;
  for (int i = 0; i < 20000; ++i) {
    configuration x;
    for (auto n = random() % 3; n > 0; --n) {
      auto& shape = x[pick()];
      shape = random() % 2 == 0 ? form::text(pick() + pick())
                                : at(static_cast<double>(random() % 2));
      shape.type = static_cast<value_type>(random() % 4);
    }
    const auto [it, is_new] = seen.emplace(to_text(x), x);
    ASSERT_EQ(it->second, x) << to_text(x);
  }
}

} // namespace
} // namespace hippo
