// Ranges of every scale, looked at as a table: whatever a scale is, its points
// are as many as asked and differ, its draws lie on it and are spread as it
// says, and decisions and values find each other.

#include "hippo/space/value_range.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using namespace hippo::test;

study_file read_decay(const std::string& range) {
  return read(with_space("  weight_decay: " + range + "\n"));
}

/// The space of one hyper-parameter without limits that matter here.
search_space space_of(const std::string& range) {
  const auto file = read_decay(range);
  EXPECT_TRUE(file.study) << range
                          << (file.errors.empty()
                                ? ""
                                : to_text(file.errors.front()));
  return file.study ? file.study->space : search_space{};
}

nlohmann::ordered_json at(const search_space& space, std::uint64_t index) {
  return space.at(index).shown["weight_decay"];
}

std::vector<double> draws(const std::string& range, std::uint64_t count) {
  const auto space = space_of(range);
  std::vector<double> result;
  for (std::uint64_t i = 0; i < count; ++i)
    result.push_back(
      space.sample(3, i).shown["weight_decay"].get<double>());
  std::sort(result.begin(), result.end());
  return result;
}

/// The greatest distance between a sorted sample and a distribution.
template <class F>
double distance(const std::vector<double>& xs, F&& below) {
  double result = 0;
  const auto n = static_cast<double>(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i) {
    // Of equal values, the last one counts for what is at or below them.
    if (i + 1 < xs.size() && xs[i + 1] == xs[i])
      continue;
    result = std::max(result, std::abs(static_cast<double>(i + 1) / n
                                       - below(xs[i])));
  }
  return result;
}

double normal_below(double x) { return std::erfc(-x / std::sqrt(2)) / 2; }

constexpr std::uint64_t many = 20'000;
/// Of Kolmogorov's distribution all but one of 10^6 lie below.
const double distance_max = 2.7 / std::sqrt(static_cast<double>(many));

TEST(Ranges, DrawsAreSpreadAsTheScaleSays) {
  EXPECT_LT(distance(draws("{normal: [10, 2]}", many),
                     [](double x) { return normal_below((x - 10) / 2); }),
            distance_max);
  EXPECT_LT(distance(draws("{log_normal: [-3, 0.5]}", many),
                     [](double x) {
                       return normal_below((std::log(x) + 3) / 0.5);
                     }),
            distance_max);
  EXPECT_LT(distance(draws("{log_int_uniform: [1, 1024]}", many),
                     [](double x) {
                       return std::log((x + 0.5) / 0.5)
                              / std::log(1024.5 / 0.5);
                     }),
            distance_max);
  EXPECT_LT(distance(draws("{normal: [10, 2], step: 0.5}", many),
                     [](double x) {
                       return normal_below((x + 0.25 - 10) / 2);
                     }),
            distance_max);
  EXPECT_LT(distance(draws("{log_normal: [3.5, 0.4], step: 8}", many),
                     [](double x) {
                       return normal_below((std::log(x + 4) - 3.5) / 0.4);
                     }),
            distance_max);
  for (const auto* grid : {"{normal: [10, 2], points: 400}",
                           "{normal: [10, 2]}"})
    EXPECT_LT(distance(draws(grid, 400),
                       [](double x) { return normal_below((x - 10) / 2); }),
              2.7 / 20)
      << grid;
}

TEST(Ranges, WholeNumbersByTheirLogarithmAreWhole) {
  std::map<std::int64_t, int> seen;
  const auto space = space_of("{log_int_uniform: [1, 8]}");
  for (std::uint64_t i = 0; i < many; ++i) {
    const auto value = space.sample(1, i).shown["weight_decay"];
    ASSERT_TRUE(value.is_number_integer());
    ++seen[value.get<std::int64_t>()];
  }
  ASSERT_EQ(seen.size(), 8u);
  for (const auto& [value, count] : seen) { // both ends have their room
    const auto x = static_cast<double>(value);
    const auto p = std::log((x + 0.5) / (x - 0.5)) / std::log(8.5 / 0.5);
    EXPECT_NEAR(count, many * p, 5 * std::sqrt(many * p * (1 - p))) << value;
  }
}

TEST(Ranges, NormalOnesEndFourDeviationsFromTheMean) {
  for (const std::string range : {"{normal: [10, 2]}",
                                  "{log_normal: [1, 0.5]}"})
    space_of(range).walk([&](const space_leaf& leaf) {
      const bool is_log = leaf.is_logarithmic();
      EXPECT_EQ(leaf.low(), is_log ? canonical(std::exp(-1)) : 2);
      EXPECT_EQ(leaf.high(), is_log ? canonical(std::exp(3)) : 18);
      EXPECT_EQ(leaf.ways(), 0u);
      return 0;
    });
}

// Written down once: a change breaks every study that is replayed.
TEST(Ranges, DrawsStayTheSameForever) {
  const auto shown = [](const std::string& range, std::uint64_t draw) {
    return space_of(range).sample(7, draw).shown["weight_decay"].dump();
  };
  EXPECT_EQ(shown("{normal: [10, 2]}", 0), "9.39538206106");
  EXPECT_EQ(shown("{normal: [10, 2]}", 1), "6.99137780504");
  EXPECT_EQ(shown("{log_normal: [-3, 0.5]}", 0), "0.132736299042");
  EXPECT_EQ(shown("{log_int_uniform: [1, 1024]}", 0), "82");
  EXPECT_EQ(shown("{normal: [10, 2], step: 0.5}", 0), "9.5");
  EXPECT_EQ(shown("{log_normal: [3.5, 0.4], step: 8}", 0), "72");
}

// Points of a normal range are the middles of parts of which each is as likely.
TEST(Ranges, PointsOfANormalRange) {
  const auto three = space_of("{normal: [10, 2], points: 3}");
  EXPECT_EQ(three.size(), 3u);
  EXPECT_NEAR(at(three, 0).get<double>(), 10 - 2 * 0.967421566101701, 1e-3);
  EXPECT_EQ(at(three, 1), 10);
  EXPECT_NEAR(at(three, 2).get<double>(), 20 - at(three, 0).get<double>(),
              1e-10);
}

TEST(Ranges, PointsOfWholeNumbersByTheirLogarithm) {
  const auto values = [](const std::string& range) {
    const auto space = space_of(range);
    std::string result;
    for (std::uint64_t i = 0; i < *space.size(); ++i)
      result += at(space, i).dump() + ' ';
    return result;
  };
  EXPECT_EQ(values("{log_int_uniform: [1, 1024], points: 11}"),
            "1 2 4 8 16 32 64 128 256 512 1024 ");
  EXPECT_EQ(values("{log_int_uniform: [1, 100], points: 5}"), "1 3 10 32 100 ");
  // Not 1 1 2 3 5 9 16: as many as asked, and no two of them one.
  EXPECT_EQ(values("{log_int_uniform: [1, 16], points: 9}"),
            "1 2 3 4 5 6 8 11 16 ");
  EXPECT_EQ(values("{log_int_uniform: [3, 6], points: 50}"), "3 4 5 6 ");
}

/// Random ranges of every scale.
class random_range {
public:
  explicit random_range(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t count) { return random_() % count; }

  /// @param points 0: none
  std::string of(const scale_rule& rule, std::uint64_t points) {
    const auto number = [](double x) { return to_text(canonical(x)); };
    double first = 0, second = 0;
    if (rule.is_normal) {
      first = rule.is_logarithmic ? static_cast<double>(below(40)) / 8 - 2
                                  : static_cast<double>(below(2000)) + 1;
      second = first == 0 ? 1 : std::abs(first) / 8 + 0.05;
    } else if (rule.is_whole) {
      first = static_cast<double>(
        1 + below(std::uint64_t{1} << (1 + below(38))));
      second = first
               + static_cast<double>(
                 1 + below(std::uint64_t{1} << (1 + below(38))));
    } else {
      first = static_cast<double>(1 + below(1000)) / 1000;
      second = first * static_cast<double>(2 + below(1000));
    }
    return "{" + std::string{rule.name} + ": [" + number(first) + ", "
           + number(second) + "]"
           + (points > 0 ? ", points: " + std::to_string(points) : "") + "}";
  }

private:
  std::mt19937_64 random_;
};

TEST(Ranges, PointsAreAsManyAsAskedRiseAndAreFoundAgain) {
  random_range random{1};
  for (int i = 0; i < 60; ++i)
    for (const auto& rule : scale_rules()) {
      const auto asked = 2 + random.below(i % 10 == 0 ? 3000 : 50);
      const auto text = random.of(rule, asked);
      const auto space = space_of(text);
      std::uint64_t ways = 0;
      space.walk([&](const space_leaf& leaf) {
        ways = leaf.ways();
        if (rule.is_whole)
          EXPECT_EQ(ways,
                    std::min(asked, static_cast<std::uint64_t>(
                                      leaf.high() - leaf.low() + 1)));
        else
          EXPECT_EQ(ways, asked);
        for (std::uint64_t n = 0; n < ways; n += 1 + ways / 20)
          EXPECT_EQ(leaf.nearest(at(space, n)), n) << text;
        return 0;
      });
      ASSERT_EQ(space.size(), ways);
      double last = 0;
      for (std::uint64_t n = 0; n < ways; ++n) {
        const auto value = at(space, n);
        EXPECT_EQ(value.is_number_integer(), rule.is_whole);
        ASSERT_TRUE(n == 0 || value.get<double>() > last) << text << ' ' << n;
        last = value.get<double>();
      }
    }
}

TEST(Ranges, DrawsLieOnTheRangeAndAreFoundAgain) {
  random_range random{2};
  for (int i = 0; i < 60; ++i)
    for (const auto& rule : scale_rules()) {
      if (rule.scale == range_scale::int_uniform)
        continue;
      const auto text = random.of(rule, 0);
      const auto space = space_of(text);
      EXPECT_FALSE(space.size());
      for (std::uint64_t draw = 0; draw < 8; ++draw) {
        double value = 0;
        const auto pick = search_space::decider_of(5, draw);
        const auto values = space.decide([&](const space_leaf& leaf) {
          const auto way = pick(leaf);
          value = space.decide([&](const space_leaf&) { return way; })
                    .shown["weight_decay"]
                    .get<double>();
          EXPECT_LE(leaf.low(), value) << text;
          EXPECT_GE(leaf.high(), value) << text;
          return *leaf.nearest(value);
        });
        EXPECT_NEAR(values.shown["weight_decay"].get<double>(), value,
                    1e-11 * std::abs(value))
          << text;
      }
    }
}

// What PBT does to a value.
TEST(Ranges, ScaledValuesAreMultipliedAndStayOnTheRange) {
  random_range random{3};
  for (int i = 0; i < 40; ++i)
    for (const auto& rule : scale_rules()) {
      if (rule.is_whole) // rounded
        continue;
      const auto text = random.of(rule, 0);
      const auto space = space_of(text);
      for (const auto factor : {0.8, 1.2}) {
        double before = 0, low = 0, high = 0;
        const auto pick
          = search_space::decider_of(5, static_cast<std::uint64_t>(i));
        const auto after = space.decide([&](const space_leaf& leaf) {
          const auto way = pick(leaf);
          before = space.decide([&](const space_leaf&) { return way; })
                     .shown["weight_decay"]
                     .get<double>();
          low = leaf.low();
          high = leaf.high();
          return leaf.scaled(way, factor);
        });
        EXPECT_NEAR(after.shown["weight_decay"].get<double>(),
                    std::clamp(before * factor, low, high),
                    1e-9 * std::abs(high))
          << text;
      }
    }
}

// -- steps --------------------------------------------------------------------

TEST(Ranges, AStepIsPointsThatAreSoFarApart) {
  random_range random{4};
  for (int i = 0; i < 150; ++i) {
    const bool is_whole = random.below(2) == 0;
    const auto step
      = static_cast<double>(1 + random.below(50)) / (is_whole ? 1 : 100);
    const auto steps = 1 + random.below(200);
    const auto low = is_whole
                       ? static_cast<double>(random.below(100))
                       : static_cast<double>(random.below(100)) / 10;
    const auto ends = std::string{"{"} + (is_whole ? "int_uniform" : "uniform")
                      + ": [" + to_text(canonical(low)) + ", "
                      + to_text(canonical(low + step
                                                  * static_cast<double>(steps)))
                      + "], ";
    const auto file = read_decay(ends + "step: " + to_text(canonical(step))
                                 + "}");
    ASSERT_TRUE(file.study) << ends;
    EXPECT_EQ(texts(file.warnings), std::vector<std::string>{}) << ends << step;
    const auto& stepped = file.study->space;
    const auto pointed
      = space_of(ends + "points: " + std::to_string(steps + 1) + "}");
    ASSERT_EQ(stepped.size(), steps + 1);
    for (std::uint64_t n = 0; n <= steps; ++n)
      EXPECT_EQ(at(stepped, n).dump(), at(pointed, n).dump()) << ends;
    for (std::uint64_t draw = 0; draw < 5; ++draw)
      EXPECT_EQ(stepped.sample(1, draw).shown, pointed.sample(1, draw).shown);
  }
  const auto tenths = space_of("{uniform: [0, 1], step: 0.1}");
  EXPECT_EQ(tenths.size(), 11u);
  EXPECT_EQ(at(tenths, 3).dump(), "0.3");
}

TEST(Ranges, AStepThatDoesNotDivideTheRangeEndsItEarlierWithAWarning) {
  const auto values = [](const std::string& range, const std::string& warning) {
    const auto file = read_decay(range);
    EXPECT_TRUE(file.study) << range;
    EXPECT_EQ(file.warnings.size(), 1u);
    EXPECT_EQ(file.warnings.empty() ? "" : file.warnings[0].message, warning);
    std::string result;
    for (std::uint64_t i = 0; file.study && i < *file.study->space.size(); ++i)
      result += to_text(at(file.study->space, i).get<double>()) + ' ';
    return result;
  };
  EXPECT_EQ(values("{uniform: [0, 1], step: 0.3}",
                   "is not divisible by the step of 0.3: its last value is "
                   "0.9, not 1"),
            "0 0.3 0.6 0.9 ");
  EXPECT_EQ(values("{int_uniform: [1, 10], step: 4}",
                   "is not divisible by the step of 4: its last value is 9, "
                   "not 10"),
            "1 5 9 ");
  EXPECT_EQ(values("{uniform: [1, 2], step: 5}",
                   "is not divisible by the step of 5: its last value is 1, "
                   "not 2"),
            "1 ");
}

TEST(Ranges, StepsOfANormalRangeAreMultiples) {
  const auto space = space_of("{log_normal: [3.5, 0.4], step: 8}");
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto value = space.sample(1, i).shown["weight_decay"];
    ASSERT_TRUE(value.is_number_integer()); // a whole step
    EXPECT_EQ(value.get<std::int64_t>() % 8, 0);
  }
  for (const auto x : draws("{normal: [10, 2], step: 0.1}", 200))
    EXPECT_EQ(x, canonical(std::round(x * 10) / 10));
}

TEST(Ranges, SayWhatIsWrong) {
  const auto error = [](const std::string& range) {
    const auto file = read_decay(range);
    EXPECT_EQ(file.errors.size(), 1u) << range;
    return file.errors.empty() ? ""
                               : file.errors[0].path + ": "
                                   + file.errors[0].message;
  };
  const std::string path = "space.weight_decay.";
  EXPECT_EQ(error("{log_uniform: [1, 2], step: 0.1}"),
            path + "step: is not for log_uniform: give 'points'");
  EXPECT_EQ(error("{log_int_uniform: [1, 20], step: 1}"),
            path + "step: is not for log_int_uniform: give 'points'");
  EXPECT_EQ(error("{uniform: [1, 2], step: 0.1, points: 3}"),
            path + "step: must not stand beside 'points': either says which "
                   "values there are");
  EXPECT_EQ(error("{uniform: [1, 2], step: 0}"),
            path + "step: must be a finite number above 0, found '0'");
  EXPECT_EQ(error("{uniform: [1, 2], step: much}"),
            path + "step: must be a finite number above 0, found 'much'");
  EXPECT_EQ(error("{int_uniform: [1, 20], step: 0.5}"),
            path + "step: must be a whole number of at most 12 digits, found "
                   "'0.5'");
  EXPECT_EQ(error("{uniform: [0, 1], step: 1e-9}"),
            path + "step: gives more than 1000000 values from 0 to 1");
  EXPECT_EQ(error("{normal: [1, 0]}"),
            path + "normal[1]: must be a deviation above 0, found '0'");
  EXPECT_EQ(error("{normal: [1, -1]}"),
            path + "normal[1]: must be a deviation above 0, found '-1'");
  EXPECT_EQ(error("{normal: 3}"),
            path + "normal: must be a list [mean, deviation], found '3'");
  EXPECT_EQ(error("{log_normal: [0, 200]}"),
            path + "log_normal: has values beyond what a number can be: 4 "
                   "deviations from the mean lie 0 and inf");
  EXPECT_EQ(error("{log_int_uniform: [0, 20]}"),
            path + "log_int_uniform[0]: must be above 0 on a logarithmic "
                   "range, found '0'");
  EXPECT_EQ(error("{log_int_uniform: [1.5, 20]}"),
            path + "log_int_uniform[0]: must be a whole number of at most 12 "
                   "digits, found '1.5'");
  // Both ends are checked as those of other ranges are.
  EXPECT_EQ(error("{normal: [1, 0.5]}"),
            path + "normal: must be at least 0, found -1");
}

} // namespace
} // namespace hippo
