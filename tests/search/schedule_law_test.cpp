#include "hippo/search/surrogate/schedule_law.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "search/rate_spaces.hpp"

namespace hippo {
namespace {

form curve(form_kind kind, step_t begin, double from, double to, double steps) {
  form result;
  result.kind = kind;
  result.origin = begin;
  result.a = {from, to, steps, 1};
  return result;
}

sequence step_down(double first, step_t at, double second) {
  return sequence{{{0, form::constant(first)}, {at, form::constant(second)}}};
}

const form ramp = curve(form_kind::polynomial, 0, 0, 0.1, 10);

TEST(ScheduleLaw, ReadsSumsAndFalls) {
  const auto rates = step_down(0.1, 10, 0.01);
  const auto before = read_rates(rates, 10).value();
  EXPECT_DOUBLE_EQ(before.sum, 1);
  EXPECT_TRUE(before.changes.empty()); // no step was trained with it
  const auto after = read_rates(rates, 30).value();
  EXPECT_DOUBLE_EQ(after.sum, 1.2);
  EXPECT_DOUBLE_EQ(after.top, 0.1);
  ASSERT_EQ(after.changes.size(), 1u);
  EXPECT_DOUBLE_EQ(after.changes[0].fall, 0.09);
  EXPECT_DOUBLE_EQ(after.changes[0].rate, 0.01);
  EXPECT_NEAR(after.changes[0].sum, 0.2, 1e-12);
}

TEST(ScheduleLaw, AWarmUpCountsByItsSumAlone) {
  const sequence warm{{{0, ramp}, {10, form::constant(0.1)}}};
  const auto found = read_rates(warm, 30).value();
  EXPECT_NEAR(found.sum, 0.45 + 2, 0.051);
  EXPECT_TRUE(found.changes.empty());
  const auto back = read_rates(sequence{{{0, form::constant(0.1)},
                                         {10, form::constant(0.02)},
                                         {20, form::constant(0.05)}}},
                               30)
                      .value();
  ASSERT_EQ(back.changes.size(), 2u);
  EXPECT_DOUBLE_EQ(back.changes[1].fall, -0.03);
}

TEST(ScheduleLaw, ReadsACurveAtSomeSteps) {
  const form cosine = curve(form_kind::cosine, 0, 0.1, 0.001, 9'000);
  const auto found = read_rates(sequence{cosine}, 9'000).value();
  EXPECT_LE(found.changes.size(), 64u);
  EXPECT_NEAR(found.sum, 9'000 * 0.0505, 1);
  double fallen = 0, last = found.sum;
  for (const auto& x : found.changes) {
    fallen += x.fall;
    EXPECT_LT(x.sum, last); // the later, the less is to come
    last = x.sum;
  }
  EXPECT_NEAR(fallen, 0.099, 1e-9);
  // Of a short one every step.
  EXPECT_EQ(read_rates(sequence{curve(form_kind::cosine, 0, 1, 0, 20)}, 20)
              ->changes.size(),
            20u);
}

TEST(ScheduleLaw, ReadsNumbersFrom0Alone) {
  EXPECT_FALSE(read_rates(sequence{form::text("auto")}, 10));
  EXPECT_FALSE(read_rates(sequence{form::constant(-0.1)}, 10));
  EXPECT_FALSE(read_rates(step_down(0.1, 5, -0.1), 10));
  EXPECT_TRUE(read_rates(step_down(0.1, 5, -0.1), 5)); // not yet
  EXPECT_TRUE(read_rates(step_down(0.1, 5, 0), 10));
}

TEST(ScheduleLaw, IsTheFormula) {
  schedule_law law;
  law.limit = 1;
  law.gain = 2;
  law.alpha = 0.5;
  law.drop = 3;
  law.pace = 8;
  law.rate_unit = 2;
  law.sum_unit = 5;
  // S = 4, f = 0.5, S_k / sqrt(r_k) = 0.25 / 0.25 = 1, so that G = 2 / 3.
  const rate_path path{20, 2, {{1, 0.125, 1.25}}};
  EXPECT_DOUBLE_EQ(law.loss(path), 1 + 2 / 2.0 - 3 * 0.5 * 2 / 3);
  EXPECT_TRUE(std::isfinite(law.loss({0, 0, {{1, 0, 0}}})));
}

/// Losses of some decays along the way.
std::vector<law_point> points_of(double (*loss)(const sequence&, step_t)) {
  const auto space = rate_study(decays).space;
  std::vector<law_point> result;
  for (std::uint64_t i = 7; i < 200; i += 20) {
    const auto rates = space.at(i).sequences.at("lr");
    for (step_t at = 15; at <= 240; at += 15)
      result.push_back({*read_rates(rates, at), loss(rates, at)});
  }
  return result;
}

/// The greatest error at the end of any decay.
double error_at_end(const schedule_law& law,
                    double (*loss)(const sequence&, step_t)) {
  const auto space = rate_study(decays).space;
  double result = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto rates = space.at(i).sequences.at("lr");
    result =
      std::max(result, std::abs(loss_of(law, rates, 240) - loss(rates, 240)));
  }
  return result;
}

double lawful(const sequence& rates, step_t at) {
  return loss_of(some_law(), rates, at);
}

/// Gradient descent on parabolas of curvatures 1 / 1, 1 / 2, ... with noise
/// (Zhang et al., arXiv 1907.04164).
double quadratic(const sequence& rates, step_t at) {
  std::array<double, 100> squares{};
  squares.fill(1);
  double result = 0.1;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const auto h = 1 / static_cast<double>(i + 1);
    for (step_t step = 0; step < at; ++step) {
      const auto rate = 5 * std::get<double>(rates.at(step));
      squares[i] =
        (1 - rate * h) * (1 - rate * h) * squares[i] + 0.05 * rate * rate * h;
    }
    result += h * squares[i] / 2;
  }
  return result;
}

TEST(ScheduleLaw, IsFoundAgain) {
  const auto found = fit_schedule_law(points_of(lawful));
  ASSERT_TRUE(found);
  EXPECT_LT(error_at_end(*found, lawful), 0.001);
}

TEST(ScheduleLaw, WrongLossesWeighLittle) {
  auto points = points_of(lawful);
  for (std::size_t i = 5; i < points.size(); i += 12)
    points[i].loss *= 1.2;
  const auto found = fit_schedule_law(points);
  ASSERT_TRUE(found);
  EXPECT_LT(error_at_end(*found, lawful), 0.02);
}

TEST(ScheduleLaw, PredictsAnotherLaw) {
  const auto found = fit_schedule_law(points_of(quadratic));
  ASSERT_TRUE(found);
  const auto space = rate_study(decays).space;
  std::vector<double> losses;
  double off = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto rates = space.at(i).sequences.at("lr");
    losses.push_back(quadratic(rates, 240));
    off += std::abs(loss_of(*found, rates, 240) - losses.back()) / 200;
  }
  std::ranges::sort(losses);
  double usual = 0; // of the median
  for (const auto x : losses)
    usual += std::abs(x - losses[100]) / 200;
  EXPECT_LT(off, usual);
}

TEST(ScheduleLaw, NeedsSomeLosses) {
  auto points = points_of(lawful);
  points.resize(8);
  EXPECT_TRUE(fit_schedule_law(points));
  points[3].loss = 0;
  EXPECT_FALSE(fit_schedule_law(points));
  points.resize(3);
  EXPECT_FALSE(fit_schedule_law(points));
}

TEST(ScheduleLaw, IsFiniteWhateverIsMeasured) {
  for (const auto& [low, high] : {std::pair{1e-9, 1e-9}, {1e-3, 1e12}}) {
    auto points = points_of(lawful);
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i].loss = i % 3 == 0 ? high : low;
    const auto found = fit_schedule_law(points);
    ASSERT_TRUE(found);
    for (const auto& x : points)
      EXPECT_TRUE(std::isfinite(found->loss(x.rates)));
  }
}

} // namespace
} // namespace hippo
