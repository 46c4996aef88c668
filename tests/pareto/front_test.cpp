#include "hippo/search/pareto/front.hpp"

#include <gtest/gtest.h>

#include "hippo/search/pareto/dominance.hpp"
#include "hippo/search/pareto/hypervolume.hpp"
#include "points.hpp"

namespace hippo {
namespace {

struct measured {
  trial_no trial;
  step_t step;
  outcome worth;
};

front front_of(const std::vector<measured>& x) {
  front result;
  for (const auto& m : x)
    result.add(m.trial, m.step, m.worth, m.step == 1);
  return result;
}

std::vector<measured> random_measurements(std::mt19937_64& draw) {
  std::vector<measured> result;
  const auto trials = 1 + draw() % 8;
  for (trial_no trial = 0; trial < trials; ++trial) {
    const auto steps = 1 + draw() % 4;
    for (step_t step = 1; step <= steps; ++step)
      result.push_back({trial, step,
                        {random_points(draw, 1, 2, 6).front(),
                         draw() % 4 == 0 ? 1.0 : 0.0, draw() % 9 == 0}});
  }
  return result;
}

TEST(Front, HoldsWhatNothingDominates) {
  std::mt19937_64 draw{1};
  for (int i = 0; i < 200; ++i) {
    const auto all = random_measurements(draw);
    std::vector<front_point> expected;
    for (const auto& x : all) {
      bool is_in = x.worth.is_feasible();
      for (const auto& y : all)
        is_in = is_in
                && !(y.worth.is_feasible()
                     && (dominates(y.worth.values, x.worth.values)
                         || (y.worth.values == x.worth.values
                             && std::pair{y.trial, y.step}
                                  < std::pair{x.trial, x.step})));
      if (is_in)
        expected.push_back({x.trial, x.step, x.worth.values});
    }
    ASSERT_EQ(front_of(all).points(), expected) << i;
  }
}

TEST(Front, DoesNotDependOnTheOrder) {
  std::mt19937_64 draw{2};
  for (int i = 0; i < 100; ++i) {
    auto all = random_measurements(draw);
    const auto expected = front_of(all);
    std::shuffle(all.begin(), all.end(), draw);
    const auto found = front_of(all);
    ASSERT_EQ(found.points(), expected.points());
    ASSERT_EQ(found.volume(), expected.volume());
  }
}

TEST(Front, ItsVolumeNeverFalls) {
  std::mt19937_64 draw{3};
  for (int i = 0; i < 100; ++i) {
    front x;
    double before = 0;
    for (const auto& m : random_measurements(draw)) {
      const auto points = x.points();
      const auto has_changed = x.add(m.trial, m.step, m.worth, m.step == 1);
      ASSERT_EQ(has_changed, points != x.points());
      const auto volume = x.volume().value_or(0);
      ASSERT_GE(volume, before);
      before = volume;
    }
  }
}

TEST(Front, TheReferenceIsTheWorstOfFirstMeasurements) {
  front x;
  EXPECT_FALSE(x.volume());
  x.add(0, 1, {{3, 1}}, true);
  EXPECT_EQ(x.volume(), 0);
  x.add(1, 1, {{1, 2}, 7}, true); // breaks a constraint, and is a trial
  EXPECT_EQ(x.reference(), (losses{3, 2}));
  EXPECT_EQ(x.volume(), 0); // at the edge
  x.add(0, 2, {{1, 1}}, false);
  EXPECT_EQ(x.volume(), 2);
  x.add(0, 3, {{9, 0}}, false);
  EXPECT_EQ(x.reference(), (losses{3, 2}));
  x.add(2, 1, {{0, 0}, 0, true}, true); // NaN
  EXPECT_EQ(x.reference(), (losses{3, 2}));
}

} // namespace
} // namespace hippo
